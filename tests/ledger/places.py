"""Throwaway repositories and the ledgers on them, for tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from quorra.ledger.change import ChangeSet, Edit, Origin, Outcome
from quorra.ledger.ledger import Ledger

ORIGIN = Origin("owner", "test", "to see what happens", "s-1", "note")
OWNER = ("Mira", "mira@localhost")
STEPS = [
    ("blobs written", 1, False),
    ("lock taken", 1, False),
    ("index locked", 1, False),
    ("files staged", 1, False),
    ("journal written", 1, True),
    ("file written", 1, True),
    ("file written", 2, True),
    ("file written", 3, True),
    ("files written", 1, True),
    ("index written", 1, True),
    ("branch moved", 1, True),
    ("journal removed", 1, True),
]  # each with how often it comes, and whether a later process finishes the commit
FORMS = ("sha1", "sha256")


def git(root: Path, *words: str, check: bool = True) -> str:
    """Runs real git and gives what it prints."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def repository(root: Path, files: dict[str, bytes] | None = None, form: str = "sha1") -> Path:
    """Makes a repository, with a first commit where there are files."""
    root.mkdir(exist_ok=True)
    git(root, "init", "-q", "-b", "main", f"--object-format={form}")
    git(root, "config", "user.name", "Seed")
    git(root, "config", "user.email", "seed@localhost")
    for path, content in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    if files:
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "start")
    return root


def opened(root: Path, steps: Callable[[str], None] = lambda name: None, roots: tuple[str, ...] = ("",)) -> Ledger:
    return Ledger(root, roots, OWNER, steps=steps)


def change(ledger: Ledger, files: dict[str, bytes | None], subject: str = "Change") -> ChangeSet:
    """Plans to write files over whatever is on disk now."""
    edits = []
    for path, content in files.items():
        file = ledger.root / path
        expect = ledger.id_of(file.read_bytes()) if file.is_file() else None
        edits.append(Edit(path, content, expect))
    return ChangeSet(tuple(edits), subject, ORIGIN)


def write(ledger: Ledger, files: dict[str, bytes | None], subject: str = "Change") -> Outcome:
    return ledger.commit(change(ledger, files, subject))


def put(root: Path, files: Mapping[str, str | bytes | None], subject: str = "theirs") -> None:
    """Commits files with plain git, as another hand does."""
    for path, content in files.items():
        file = root / path
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", subject)


def sound(root: Path) -> None:
    """Asserts that git finds nothing wrong and that nothing of ours was left over."""
    bad = [line for line in git(root, "fsck", "--strict").splitlines() if not line.startswith("dangling")]
    assert bad == []
    assert list((root / ".git/quorra/tray").glob("*")) == []
    left = {file.name for file in (root / ".git/quorra").glob("*")}
    assert left <= {"lock", "pull", "tray", "young"}
    assert not (root / ".git/index.lock").exists()


def killed(root: Path, files: dict[str, bytes | None], step: str, times: int = 1) -> int:
    """Commits in a process of its own that is killed when it reaches a step; gives its exit code."""
    return killed_at(root, lambda ledger: write(ledger, files), step, times)


def killed_at(root: Path, work: Callable[[Ledger], object], step: str, times: int = 1) -> int:
    """Works in a process of its own that is killed when it reaches a step; gives its exit code."""
    return dying(lambda steps: work(opened(root, steps)), step, times)


def dying(work: Callable[[Callable[[str], None]], object], step: str, times: int) -> int:
    """Works in a process of its own, which gets a hearer of steps that kills it at one; gives its exit code."""
    ident = os.fork()
    if ident == 0:
        seen = 0

        def steps(name: str) -> None:
            nonlocal seen
            seen += name == step
            if seen == times:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            work(steps)
        finally:
            sys.stdout.flush()
            os._exit(0)
    return os.waitpid(ident, 0)[1]
