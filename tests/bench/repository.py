"""Throwaway repositories of many small notes, made the same way every time."""

import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORDS = ("the", "boiler", "pressure", "garden", "shed", "receipt", "filter", "water", "annual", "service", "winter")
QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def note(pick: random.Random, lines: int = 20) -> bytes:
    """Writes a note of random sentences."""
    text = [" ".join(pick.choices(WORDS, k=12)) for _ in range(lines)]
    return ("# " + " ".join(pick.choices(WORDS, k=3)) + "\n\n" + "\n".join(text) + "\n").encode()


def path_of(number: int) -> str:
    """Names a note: a hundred to a folder, twenty folders to an area."""
    return f"vault/area-{number // 2000:02d}/folder-{number // 100:03d}/note-{number:05d}.md"


def git(root: Path, *words: str) -> str:
    """Runs git in a repository and gives its output."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
    return done.stdout


@contextmanager
def repository(files: int, seed: int = 7) -> Iterator[Path]:
    """Makes a committed repository of so many notes and removes it afterwards."""
    os.environ.update(QUIET)
    pick = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
        for key, value in (("user.name", "Bench"), ("user.email", "bench@localhost"), ("gc.auto", "0")):
            git(root, "config", key, value)
        for number in range(files):
            file = root / path_of(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(note(pick))
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "start")
        git(root, "repack", "-q", "-a", "-d")
        yield root
