"""Processes killed with -9 at 200 random points of writing, catching up and publishing, readers open across them.

Every kill is aimed at a named step: one half falls just there, the other within milliseconds after it, so that each
step is met and the points between them too. The histogram counts the last step that the dead process had told.

Usage: python -m tests.bench.kill [--quick]
"""

import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.inference.protocol import Embedder
from quorra.ledger.change import Applied, ChangeSet, Edit, Origin
from quorra.ledger.ledger import Ledger
from tests.bench import vaults
from tests.bench.repository import git, repository
from tests.index.place import compacted, contents

LEAST = 5
GROUP = ("vault/group/a.md", "vault/group/b.md", "vault/c.md")
COMING = "vault/coming/and-going.md"
ORIGIN = Origin("owner", "bench", "to be killed")
Tell = Callable[[str], None]
Look = Callable[[], set[int]]


@dataclass(frozen=True)
class Part:
    """A kind of work that is killed: its named steps, an endless run of it, and what must hold afterwards.

    ``run`` tells each step's name and ``done N`` once the write N is acknowledged; ``check`` gets the number of the
    last acknowledged write and raises AssertionError. ``reader`` opens what stays open across the kills and gives the
    numbers that it sees in the group. Kills come up to ``spread`` seconds after one of the first ``turns`` of a step.
    """

    steps: tuple[str, ...]
    run: Callable[[Path, Tell], None]
    check: Callable[[Path, int], None]
    reader: Callable[[Path], AbstractContextManager[Look]]
    spread: float
    turns: int


def opened(root: Path, steps: Tell = lambda name: None) -> Ledger:
    return Ledger(root, ("vault",), ("Bench", "bench@localhost"), steps=steps)


def counter(content: bytes) -> int:
    """Gives the number that a note of the group holds."""
    return int(content.split()[0])


def written(root: Path, ledger: Ledger) -> int:
    """Commits three notes with the next number, and a fourth that comes and goes."""
    number = counter((root / GROUP[0]).read_bytes()) + 1
    edits = []
    for path in GROUP:
        old = (root / path).read_bytes()
        text = b"%d standing together %s\n" % (number, os.urandom(20).hex().encode())
        edits.append(Edit(path, text, ledger.id_of(old)))
    there = (root / COMING).read_bytes() if (root / COMING).exists() else None
    edits.append(Edit(COMING, b"%d\n" % number if there is None else None, there and ledger.id_of(there)))
    outcome = ledger.commit(ChangeSet(tuple(edits), f"Write {number}", ORIGIN))
    assert isinstance(outcome, Applied), outcome
    return number


def write(root: Path, tell: Tell) -> None:
    """Commits for ever."""
    ledger = opened(root, tell)
    ledger.recover()
    while True:
        tell(f"done {written(root, ledger)}")


def whole(root: Path, acknowledged: int) -> None:
    """Asserts that the next start finds every acknowledged write, and none by half."""
    ledger = opened(root)
    ledger.recover()
    numbers = {counter((root / path).read_bytes()) for path in GROUP}
    assert len(numbers) == 1, f"half a write: {numbers}"
    number = numbers.pop()
    assert number in (acknowledged, acknowledged + 1), f"write {acknowledged} is lost: {number}"
    assert (root / COMING).exists() == bool(number % 2)
    assert git(root, "log", "-1", "--format=%s").strip() in (f"Write {number}", "start")
    assert git(root, "status", "--porcelain") == ""
    assert not ledger.snapshot().dirty
    lines = [line for line in git(root, "fsck", "--strict").splitlines() if not line.startswith("dangling")]
    assert lines == []
    assert not list((root / ".git/quorra/shelf").glob("*"))
    assert not (root / ".git/index.lock").exists()
    ledger.close()


@contextmanager
def committed(root: Path) -> Iterator[Look]:
    """Reads the group from git."""
    ledger = opened(root)

    def look() -> set[int]:
        head = ledger.head()
        assert head is not None
        tree = ledger.tree(head)
        return {counter(text) for _, text in ledger.blobs(tree[path] for path in GROUP)}

    yield look
    ledger.close()


@cache
def _model() -> Embedder:
    from quorra.inference.embed.minilm import MiniLM

    return MiniLM()


def indexed(root: Path, steps: Tell = lambda name: None) -> Index:
    private = root / ".quorra"
    return Index(private / "index", private / "cache", vaults.texts(root), _model, steps=steps)


def follow(root: Path, tell: Tell) -> None:
    """Commits, catches up, embeds and compacts for ever; every second time it builds all anew."""
    ledger, index = opened(root), indexed(root, tell)
    ledger.recover()
    while True:
        number = written(root, ledger)
        index.catch_up(rebuild=number % 2 == 0)
        index.embed()
        compacted(index)
        tell(f"done {number}")


def seen(index: Index) -> set[int]:
    """Gives the numbers of the group that a search finds in what is published."""
    hits = index.search("standing together", mode="words", window=Window(None), wait=0.0).hits
    assert len(hits) == len(GROUP), f"{len(hits)} of the group"
    return {counter(hit.text.encode()) for hit in hits}


def serves(root: Path, acknowledged: int) -> None:
    """Asserts that the next start catches up, now and then also that it holds what a rebuild gives."""
    whole(root, acknowledged)

    def start() -> None:
        index = indexed(root)
        index.catch_up()
        assert seen(index) == {counter((root / GROUP[0]).read_bytes())}
        if acknowledged % 5 == 0:
            index.embed()
            before = contents(index)
            index.catch_up(rebuild=True)
            assert contents(index) == before

    _wait(_forked(start))


@contextmanager
def searching(root: Path) -> Iterator[Look]:
    """Searches in a process of its own, which opens the index once and looks only at what is published."""
    asked, ask = os.pipe()
    answers, answer = os.pipe()

    def serve() -> None:
        os.close(ask)
        index = indexed(root)
        while os.read(asked, 1):
            os.write(answer, json.dumps(sorted(seen(index))).encode() + b"\n")

    ident = _forked(serve)
    os.close(asked)
    os.close(answer)
    with os.fdopen(answers) as told:

        def look() -> set[int]:
            os.write(ask, b"?")
            return set(json.loads(told.readline()))

        yield look
        os.close(ask)
        _wait(ident)


def _forked(work: Callable[[], None]) -> int:
    """Runs work in a forked process, for this one must stay free of threads to fork again; gives its id."""
    ident = os.fork()
    if ident:
        return ident
    code = 1
    try:
        work()
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def _wait(ident: int) -> None:
    assert os.waitpid(ident, 0)[1] == 0


LEDGER = Part(
    (
        *("blobs written", "lock taken", "index locked", "files staged", "journal written", "file written"),
        *("files written", "index written", "branch moved", "journal removed"),
    ),
    write,
    whole,
    committed,
    1e-3,
    5,
)
INDEX = Part(
    ("parse", "rows", "words", "catalogue", "vectors", "compact", "publish"), follow, serves, searching, 0.1, 2
)
PARTS = (LEDGER, INDEX)


def victim(part: Part, root: Path, aim: str, turn: int, delay: float) -> tuple[str, int | None]:
    """Runs the work in a process and kills it at a step or soon after; gives the last step and write that it told."""
    source, sink = os.pipe()

    def work() -> None:
        os.close(source)
        met = 0

        def tell(name: str) -> None:
            nonlocal met
            os.write(sink, f"{name}\n".encode())
            met += name == aim
            if not delay and met == turn and name == aim:
                os.kill(os.getpid(), signal.SIGKILL)

        part.run(root, tell)

    ident = _forked(work)
    os.close(sink)
    lines, met = [], 0
    with os.fdopen(source) as told:
        for line in map(str.strip, told):
            lines.append(line)
            met += line == aim
            if delay and met == turn and line == aim:
                time.sleep(delay)
                os.kill(ident, signal.SIGKILL)
    assert os.waitpid(ident, 0)[1] == signal.SIGKILL, "the process ended by itself"
    done = [int(line.split()[1]) for line in lines if line.startswith("done ")]
    steps = [line for line in lines if line in part.steps]
    return steps[-1], done[-1] if done else None


def measure(part: Part, root: Path, kills: int, seed: int = 11) -> Counter[str]:
    """Kills and checks, again and again, and gives how often each step was the last."""
    pick = random.Random(seed)
    histogram: Counter[str] = Counter()
    part.check(root, 0)
    acknowledged = 0
    with part.reader(root) as look:
        for number in range(kills):
            aim = part.steps[number % len(part.steps)]
            delay = pick.uniform(1e-6, part.spread) if number // len(part.steps) % 2 else 0.0
            last, done = victim(part, root, aim, pick.randint(1, part.turns), delay)
            histogram[last] += 1
            # A write of the process before may have been finished at the start of this one.
            acknowledged = max(acknowledged, done or 0)
            assert len(look()) == 1, "half a write is seen"
            part.check(root, acknowledged)
            acknowledged = counter((root / GROUP[0]).read_bytes())
            assert look() == {acknowledged}
    return histogram


def main() -> None:
    quick = "--quick" in sys.argv
    kills = 50 if quick else 200
    histogram: Counter[str] = Counter()
    steps = [step for part in PARTS for step in part.steps]
    for part in PARTS:
        with repository(200 if part is LEDGER else 40) as root:
            (root / ".git/info/exclude").write_text("/.quorra/\n", encoding="utf-8")
            for path in GROUP:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(b"0 standing together\n")
            git(root, "add", "-A")
            git(root, "commit", "-q", "--amend", "-m", "start")
            share = kills * len(part.steps) // len(steps) + (part is LEDGER)
            histogram += measure(part, root, share)
    for step in steps:
        print(f"{histogram[step]:4d}  {step}")
    least, bar = min(histogram[step] for step in steps), 1 if quick else LEAST
    holds = histogram.total() == kills and least >= bar
    print(json.dumps({"figure": f"{kills} kills", "least in a step": least, "bar": bar, "holds": holds}))
    sys.exit(not holds)


if __name__ == "__main__":
    import duckdb  # noqa: F401  # imported once for all forks
    import onnxruntime  # noqa: F401

    from quorra.index.store import lance

    lance.lancedb()
    # This process only imports it: no thread of its runtime is there when a fork is made.
    warnings.filterwarnings("ignore", "lancedb fork support")
    main()
