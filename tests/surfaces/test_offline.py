"""Everything happens on the owner's machine: asking and indexing work where there is no network at all (Q-001)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTE = "---\ntitle: Boiler\n---\n# Boiler\n\nThe pressure of the boiler is 1.5 bar when it is cold.\n"
APART = ["unshare", "--map-root-user", "--net"]
WATCHED = """
import sys

def look(event, given):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise SystemExit(f"the network was used: {event}")

sys.addaudithook(look)
from quorra.surfaces.cli.main import main
sys.exit(main())
"""


def said(command: list[str], *words: str, text: str | None = None) -> dict[str, Any]:
    line = [*command, *words, "--json"]
    done = subprocess.run(line, input=text, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    return dict(json.loads(done.stdout))


def live(command: list[str], home: str) -> str:
    """Makes a home, writes a note, embeds it, and asks about it."""
    said(command, "init", home, "--empty")
    said(command, "note", "boiler", "--home", home, text=NOTE)
    assert said(command, "sync", "--home", home)["pending"] == 0
    answer = said(command, "ask", "What is the pressure of the boiler?", "--home", home)
    assert answer["outcome"] == "quoted"
    return str(answer["answer"])


@pytest.mark.skipif(
    subprocess.run([*APART, "true"], capture_output=True, check=False).returncode != 0,
    reason="no network namespace may be made here",
)
def test_without_a_network_it_answers(tmp_path: Path):
    assert "1.5 bar" in live([*APART, sys.executable, "-m", "quorra"], str(tmp_path / "home"))


def test_it_opens_no_connection(tmp_path: Path):
    assert "1.5 bar" in live([sys.executable, "-c", WATCHED], str(tmp_path / "home"))
