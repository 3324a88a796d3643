"""Processes killed with -9 at 200 random points, a reader open across all of them.

Every kill is aimed at a named step and falls within a millisecond of it, so that each step is met and the points
between them too. The histogram counts the last step that the dead process had told.

Usage: python -m tests.bench.kill [--quick]
"""

import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin
from quorra.ledger.ledger import Ledger
from tests.bench.repository import git, repository

LEAST = 5
GROUP = ("vault/group/a.md", "vault/group/b.md", "vault/c.md")
COMING = "vault/coming/and-going.md"
ORIGIN = Origin("owner", "bench", "to be killed")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """A kind of work that is killed: its named steps, an endless run of it, and what must hold afterwards.

    ``run`` tells each step's name and ``done N`` once the write N is acknowledged; ``check`` gets the number of the
    last acknowledged write and raises AssertionError.
    """

    steps: tuple[str, ...]
    run: Callable[[Path, Tell], None]
    check: Callable[[Path, int], None]


def opened(root: Path, steps: Tell = lambda name: None) -> Ledger:
    return Ledger(root, ("vault",), ("Bench", "bench@localhost"), steps=steps)


def counter(content: bytes) -> int:
    """Gives the number that a note of the group holds."""
    return int(content.split()[0])


def write(root: Path, tell: Tell) -> None:
    """Commits for ever: three notes with the same number, and a fourth that comes and goes."""
    ledger = opened(root, tell)
    ledger.recover()
    number = counter((root / GROUP[0]).read_bytes())
    while True:
        number += 1
        edits = []
        for path in GROUP:
            old = (root / path).read_bytes()
            edits.append(Edit(path, b"%d %s\n" % (number, os.urandom(20).hex().encode()), ledger.id_of(old)))
        there = (root / COMING).read_bytes() if (root / COMING).exists() else None
        edits.append(Edit(COMING, b"%d\n" % number if there is None else None, there and ledger.id_of(there)))
        outcome = ledger.commit(ChangeSet(tuple(edits), f"Write {number}", ORIGIN))
        assert isinstance(outcome, Applied), outcome
        tell(f"done {number}")


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
    assert not list((root / ".git/quorra/tray").glob("*"))
    assert not (root / ".git/index.lock").exists()
    ledger.close()


LEDGER = Part(
    (
        *("blobs written", "lock taken", "index locked", "files staged", "journal written", "file written"),
        *("files written", "index written", "branch moved", "journal removed"),
    ),
    write,
    whole,
)
# Other rooms add their own steps here: one Part each.
PARTS = (LEDGER,)


def victim(part: Part, root: Path, aim: str, turn: int, delay: float) -> tuple[str, int | None]:
    """Runs the work in a process that dies near a step; gives the last step and write that it told."""
    source, sink = os.pipe()
    ident = os.fork()
    if ident == 0:
        os.close(source)
        _die_near(part, root, sink, aim, turn, delay)
    os.close(sink)
    with os.fdopen(source, "r") as told:
        lines = told.read().splitlines()
    assert os.waitpid(ident, 0)[1] == signal.SIGKILL, "the process ended by itself"
    done = [int(line.split()[1]) for line in lines if line.startswith("done ")]
    steps = [line for line in lines if line in part.steps]
    return steps[-1], done[-1] if done else None


def _die_near(part: Part, root: Path, sink: int, aim: str, turn: int, delay: float) -> None:
    met = 0
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    def tell(name: str) -> None:
        nonlocal met
        os.write(sink, f"{name}\n".encode())
        met += name == aim
        if met == turn and name == aim:
            if delay:
                signal.setitimer(signal.ITIMER_REAL, delay)
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        part.run(root, tell)
    finally:
        os._exit(1)


def measure(part: Part, root: Path, kills: int, seed: int = 11) -> Counter[str]:
    """Kills and checks, again and again, and gives how often each step was the last."""
    pick = random.Random(seed)
    histogram: Counter[str] = Counter()
    reader = opened(root)
    acknowledged = 0
    for number in range(kills):
        aim = part.steps[number % len(part.steps)]
        delay = pick.choice((0.0, pick.uniform(1e-6, 1e-3)))
        last, done = victim(part, root, aim, pick.randrange(1, 6), delay)
        histogram[last] += 1
        # A write of the process before may have been finished at the start of this one.
        acknowledged = max(acknowledged, done or 0)
        part.check(root, acknowledged)
        acknowledged = counter((root / GROUP[0]).read_bytes())
        head = reader.head()
        assert head is not None
        texts = dict(reader.blobs(reader.tree(head)[path] for path in GROUP))
        assert {counter(text) for text in texts.values()} == {acknowledged}
    reader.close()
    return histogram


def main() -> None:
    quick = "--quick" in sys.argv
    kills = 50 if quick else 200
    held = []
    for part in PARTS:
        with repository(200) as root:
            for path in GROUP:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(b"0 nothing yet\n")
            git(root, "add", "-A")
            git(root, "commit", "-q", "--amend", "-m", "start")
            histogram = measure(part, root, kills)
        for step in part.steps:
            print(f"{histogram[step]:4d}  {step}")
        least, bar = min(histogram[step] for step in part.steps), 1 if quick else LEAST
        holds = sum(histogram.values()) == kills and least >= bar
        held.append(holds)
        print(json.dumps({"figure": f"{kills} kills", "least in a step": least, "bar": bar, "holds": holds}))
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
