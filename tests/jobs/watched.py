"""A throwaway home with a real watcher on it, and hands that work in its vault."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from quorra import settings
from quorra.access.window import Window
from quorra.home import Home, create
from quorra.jobs.rounds import Round
from quorra.jobs.watch import Watcher
from quorra.vault import strays

QUIET = 0.2
EVERYTHING = Window(None)


class Watched:
    """A home whose vault is edited by hand while a watcher runs in a thread; ``told`` is what it told of."""

    def __init__(self, root: Path, notes: Mapping[str, str], *, quiet: float = QUIET, poll: float = 1.0) -> None:
        create(root, empty=True)
        self.root = root
        self.vault = root / "vault"
        for path, text in notes.items():
            self.write(path, text)
        if notes:
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "start")
        told = settings.read(root)
        self.home = Home.open(told.model_copy(update={"watch": settings.Watch(quiet=quiet, poll=poll)}))
        self.rounds: list[Round] = []
        self.said: list[str] = []
        self.start = self.head()
        self._thread: threading.Thread | None = None

    def watch(self, limit: float = 300.0) -> None:
        """Starts the watcher and waits until it hears."""
        self.watcher = Watcher(self.home, self.rounds.append, self.said.append, limit=limit)
        self._thread = threading.Thread(target=self.watcher.run, daemon=True)
        self._thread.start()
        time.sleep(0.1)

    def rest(self) -> None:
        """Stops the watcher."""
        if self._thread:
            self.watcher.stop()
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """Stops everything."""
        self.rest()
        self.home.close()

    def file(self, path: str) -> Path:
        """Gives a file of the vault; a dot folder at the top is the home's own if git's."""
        return self.root / path if path.startswith(".git/") else self.vault / path

    def write(self, path: str, text: str) -> None:
        """Writes a file as a program does."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def git(self, *words: str) -> str:
        """Runs real git as a person would."""
        who = ("-c", "user.name=Hand", "-c", "user.email=hand@localhost")
        done = subprocess.run(["git", "-C", str(self.root), *who, *words], check=True, capture_output=True)
        return done.stdout.decode()

    def head(self) -> str:
        """Gives the commit at the top."""
        return self.git("rev-parse", "HEAD").strip()

    def commits(self) -> list[tuple[str, str, list[str]]]:
        """Gives author, subject and paths of each commit since the start, the oldest first."""
        found = []
        for line in self.git("log", "--reverse", "--format=%H%x09%an%x09%s", f"{self.start}..").splitlines():
            commit, author, subject = line.split("\t")
            paths = self.git("-c", "core.quotePath=false", "show", "--format=", "--name-status", "--no-renames", commit)
            found.append((author, subject, sorted(paths.splitlines())))
        return found

    def settled(self, good: Callable[[], bool] | None = None, seconds: float = 8.0) -> None:
        """Waits until what hands did is in git, and ``good``; then for one more quiet period."""
        until = time.monotonic() + seconds
        while not (self.clean() and (good is None or good())):
            assert time.monotonic() < until, (self.git("status", "--short"), self.rounds, self.said)
            time.sleep(0.05)
        time.sleep(QUIET + 0.15)

    def clean(self) -> bool:
        """Tells whether no note differs from HEAD."""
        snapshot = self.home.texts.standing()
        copies = self.home.texts.copies(snapshot)
        return not [path for path in snapshot.dirty if path not in copies and not strays.passing(path)]

    def found(self, question: str) -> list[str]:
        """Gives the notes found by words, after a full catch-up."""
        self.home.index.catch_up()
        hits = self.home.search(question, window=EVERYTHING, mode="words", wait=30).hits
        return [hit.path for hit in hits]


def rename(old: Path, new: Path) -> None:
    """Moves a file as a program does."""
    new.parent.mkdir(parents=True, exist_ok=True)
    os.rename(old, new)
