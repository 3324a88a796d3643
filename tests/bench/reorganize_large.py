"""One plan that moves a tenth of a large vault, against the bare reading and writing of the files that it touches.

Whole folders and single notes move, some of them under a new name; every note
is linked to in four spellings. The bare ways know all new texts beforehand:
they parse nothing, plan nothing and keep no history.

Usage: python -m tests.bench.reorganize_large [--quick]
"""

import json
import os
import posixpath
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
import yaml

from quorra import home as homes
from quorra import settings
from quorra.access.planned import Written
from quorra.home import Home
from quorra.index.index import Index
from quorra.ledger.change import Origin
from quorra.ledger.plumbing.process import Git
from quorra.vault.reorg.operation import Operation
from tests.bench import vaults
from tests.bench.cold import QUORRA
from tests.bench.embeddings_spared import shown
from tests.bench.measure import report, seconds
from tests.bench.warm_query import Drawn

BAR = 10.0
FLOORS = ("anew", "renamed")
FOLDER = 40


def link(vault: Path, notes: int, pick: random.Random) -> None:
    """Adds to every note a relative link and a bare one to notes drawn at random."""
    for number in range(notes):
        path = vaults.name(number)
        other, third = vaults.name(pick.randrange(notes)), vaults.name(pick.randrange(notes))
        way = posixpath.relpath(other, posixpath.dirname(path))
        with open(vault / path, "a", encoding="utf-8") as file:
            file.write(f"\nSee also [this]({way}#top) and [[{posixpath.basename(third)[:-3]}|that one]].\n")


def plan(notes: int, pick: random.Random) -> list[Operation]:
    """Moves a tenth of the notes: eight in ten with their folders, the others singly, some under a new name."""
    folders = pick.sample(range(notes // FOLDER), notes // 10 // FOLDER)
    elsewhere = [posixpath.dirname(vaults.name(at * FOLDER)) for at in range(notes // FOLDER) if at not in folders]
    whole, split = folders[: len(folders) * 4 // 5], folders[len(folders) * 4 // 5 :]
    steps = [Operation("move", posixpath.dirname(vaults.name(at * FOLDER)), f"moved/part-{at}") for at in whole]
    for number in (at * FOLDER + each for at in split for each in range(FOLDER)):
        old = vaults.name(number)
        name = f"renamed-{number}.md" if number % 4 == 0 else posixpath.basename(old)
        steps.append(Operation("move", old, f"{pick.choice(elsewhere)}/{name}"))
    return steps


class Bare:
    """A vault of its own in which the same files change by plain reads and writes, there and back in turns."""

    def __init__(self, vault: Path, old: dict[str, bytes], new: dict[str, bytes], moved: dict[str, str]) -> None:
        self.vault = vault
        touched = [path for path, raw in old.items() if path in moved or new[path] != raw]
        self.ways = [(path, moved.get(path, path), old[path], new[moved.get(path, path)]) for path in touched]
        for path, raw in old.items():
            self._ready(path).write_bytes(raw)
        for _, path, _, _ in self.ways:
            self._ready(path)

    def _ready(self, path: str) -> Path:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def turn(self) -> None:
        """Makes the next turn go the other way."""
        self.ways = [(there, here, after, before) for here, there, before, after in self.ways]

    def anew(self) -> None:
        """Reads each file, writes its new text where it belongs and removes the old one."""
        for here, there, _, after in self.ways:
            (self.vault / here).read_bytes()
            (self.vault / there).write_bytes(after)
            if there != here:
                (self.vault / here).unlink()

    def renamed(self) -> None:
        """Renames what moves, then reads and writes what changes."""
        for here, there, before, after in self.ways:
            if there != here:
                os.rename(self.vault / here, self.vault / there)
            else:
                (self.vault / there).read_bytes()
            if before != after:
                (self.vault / there).write_bytes(after)


class Reorganizer:
    """A home in which one plan is carried out and taken back over and over, to the very same tree."""

    def __init__(self, root: Path, steps: list[Operation]) -> None:
        self.root, self.steps = root, steps
        self.home = Home.open(settings.read(root))
        self.home.ledger.maintain(0)
        self.file = root / "plan.yaml"
        self.file.write_text(yaml.safe_dump([asdict(step) for step in steps]), encoding="utf-8")
        self.start = self.tree()
        self.done: Written | None = None

    def tree(self) -> str:
        """Gives the id of the tree at the top."""
        return Git(self.home.settings.home).run("rev-parse", "HEAD^{tree}").decode()

    def within(self) -> None:
        """Carries the plan out in this process."""
        self.done = self.home.changes.organize(self.steps, Origin("owner", "bench", ""))

    def process(self) -> None:
        """Carries it out by the command line."""
        words = [QUORRA, "plan", str(self.file), "--home", str(self.root)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def back(self) -> bool:
        """Takes it back; tells if the tree is the one from before, and clean."""
        self.home.changes.undo("HEAD", Origin("owner", "bench", ""))
        return self.tree() == self.start and not self.home.texts.snapshot().dirty


def contents(vault: Path) -> dict[str, bytes]:
    """Reads a whole vault."""
    return {file.relative_to(vault).as_posix(): file.read_bytes() for file in vault.rglob("*") if file.is_file()}


@contextmanager
def ready(notes: int) -> Iterator[Path]:
    """Makes a home of so many linked notes, indexed and embedded, and removes it afterwards."""
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder) / "home"
        vaults.write(root / "vault", notes)
        link(root / "vault", notes, random.Random(1))
        vaults.commit(root)
        homes.create(root, vault="vault")
        (root / ".git/info/exclude").write_text("/.quorra/\n/plan.yaml\n", encoding="utf-8")
        yield root


def embedded(root: Path, reorganizer: Reorganizer) -> bool:
    """Prints how many texts the embedder was sent for the plan, and how many there are that were not there before."""
    model = Drawn(np.random.default_rng(1).standard_normal((100, 384), np.float32))
    index = Index(root / ".quorra/index", reorganizer.home.cache, reorganizer.home.texts, lambda: model)
    index.catch_up()
    first, before = index.embed(), shown(root)
    reorganizer.within()
    index.catch_up()
    sent, most = index.embed(), len(shown(root) - before)
    index.close()
    holds = first.embedded > sent.embedded <= most and not sent.pending and reorganizer.back()
    row = {"first": first.embedded, "embedded": sent.embedded, "new visible texts": most}
    print(json.dumps({"figure": "texts embedded for one plan that moves a tenth", **row, "holds": holds}))
    return holds


def measure(root: Path, reorganizer: Reorganizer, rounds: int) -> tuple[dict[str, list[float]], bool]:
    """Lets the bare ways and both of Quorra's take turns."""
    old = contents(root / "vault")
    reorganizer.within()
    new, done = contents(root / "vault"), reorganizer.done
    assert done is not None
    assert done.planned is not None, done
    moved = dict(done.planned.moved)
    same = reorganizer.back()
    bare = Bare(root.parent / "bare", old, new, moved)
    print(f"{len(moved)} notes moved, {len(bare.ways)} files touched, {len(old)} files, links {done.planned.dangling}")
    works = {"anew": bare.anew, "renamed": bare.renamed, "within": reorganizer.within, "process": reorganizer.process}
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            spent = seconds(work)
            taken[name] += [spent] * (turn > 0)
            if name in FLOORS:
                bare.turn()
            else:
                same &= reorganizer.back()
    return taken, same and contents(bare.vault) == old


def main(quick: bool) -> bool:
    """Measures both figures."""
    notes = 2_000 if quick else 10_000
    with ready(notes) as root:
        reorganizer = Reorganizer(root, plan(notes, random.Random(2)))
        spared = embedded(root, reorganizer)
        taken, same = measure(root, reorganizer, 2 if quick else 5)
        reorganizer.home.close()
    middle = {name: statistics.median(spent) for name, spent in taken.items()}
    floors = {name: middle[name] for name in FLOORS}
    print(f"every undo gave the same tree: {same}")
    figure = f"one plan moving {notes // 10} notes of {notes}"
    holds = [report(f"{figure}, {name}", middle[name], floors, BAR) for name in ("within", "process")]
    return all(holds) and spared and same


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
