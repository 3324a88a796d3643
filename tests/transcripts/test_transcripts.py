"""Runs the transcripts: ``$ command`` lines in a folder of their own, ``> output`` lines expected of them.

In an expected line ``…`` stands for any text; a line ``> …`` alone for any number of lines.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def steps(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith(">"):
            found[-1][1].append(line[2:])
    return found


def pattern(lines: list[str]) -> str:
    parts = ["(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n" for line in lines]
    return "".join(parts)


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    quorra = tmp_path / "bin" / "quorra"
    quorra.parent.mkdir()
    quorra.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quorra "$@"\n')
    quorra.chmod(0o755)
    return {**os.environ, "PATH": f"{quorra.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize("file", sorted(HERE.glob("*.txt")), ids=lambda file: file.stem)
def test_the_transcript_holds(file: Path, shell: dict[str, str], tmp_path: Path):
    place = tmp_path / "place"
    place.mkdir()
    for command, expected in steps(file.read_text(encoding="utf-8")):
        words = ["bash", "-c", command]
        done = subprocess.run(words, cwd=place, env=shell, capture_output=True, text=True, timeout=120, check=False)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        if expected:
            assert re.fullmatch(pattern(expected), said), f"$ {command}\n{said}"
