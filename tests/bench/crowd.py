"""Eight processes of 50 writes each beside four readers, on different notes and on shared ones.

Every write must be committed, Stale answered by the caller's next try, and nobody see another error.

Usage: python -m tests.bench.crowd [--quick]
"""

import json
import multiprocessing
import sys
import time
from collections import Counter
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Stale
from quorra.ledger.ledger import Ledger
from tests.bench.repository import git, repository

WRITERS, READERS = 8, 4
Met = tuple[str, Counter[str]]
ORIGIN = Origin("owner", "bench", "a line more")


def write(root: Path, number: int, writes: int, shared: bool, told: SimpleQueue[Met]) -> None:
    """Adds a line at a time, again as often as somebody else was faster."""
    ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))
    count: Counter[str] = Counter()
    for turn in range(writes):
        path = f"vault/crowd/{turn % 4 if shared else number}.md"
        while True:
            file = root / path
            old = file.read_bytes() if file.exists() else None
            line = b"%d %d\n" % (number, turn)
            edit = Edit(path, (old or b"") + line, None if old is None else ledger.id_of(old))
            outcome = ledger.commit(ChangeSet((edit,), "Add a line", ORIGIN))
            count[type(outcome).__name__] += 1
            if isinstance(outcome, Applied):
                break
            if not isinstance(outcome, Stale):
                count[repr(outcome)] += 1
                break
    ledger.close()
    told.put(("writer", count))


def read(root: Path, stop: Event, told: SimpleQueue[Met]) -> None:
    """Takes snapshots and reads every text that they name, until told to stop."""
    ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))
    count: Counter[str] = Counter()
    last = ledger.head()
    while not stop.is_set():
        snapshot = ledger.snapshot()
        assert snapshot.head is not None
        ids = {ident for ident in ledger.changes(last, snapshot.head).values() if ident}
        for _, content in ledger.blobs(ids):
            assert content.endswith(b"\n")
        last = snapshot.head
        count["snapshots"] += 1
        time.sleep(0.01)
    ledger.close()
    told.put(("reader", count))


def crowd(root: Path, writes: int, shared: bool) -> tuple[Counter[str], int]:
    """Runs writers and readers and gives what they met and how many processes failed."""
    fork = multiprocessing.get_context("fork")
    stop, told = fork.Event(), fork.SimpleQueue()
    writers = [fork.Process(target=write, args=(root, number, writes, shared, told)) for number in range(WRITERS)]
    readers = [fork.Process(target=read, args=(root, stop, told)) for _ in range(READERS)]
    for process in (*writers, *readers):
        process.start()
    met: Counter[str] = Counter()
    for process in writers:
        process.join()
    stop.set()
    for process in readers:
        process.join()
    while not told.empty():
        met.update(told.get()[1])
    return met, sum(process.exitcode != 0 for process in (*writers, *readers))


def measure(files: int, writes: int, shared: bool) -> bool:
    with repository(files) as root:
        start = time.perf_counter()
        met, failed = crowd(root, writes, shared)
        spent = time.perf_counter() - start
        made = int(git(root, "rev-list", "--count", "HEAD")) - 1
        lines = "".join(file.read_text() for file in (root / "vault/crowd").iterdir()).splitlines()
        whole = sorted(lines) == sorted(f"{a} {b}" for a in range(WRITERS) for b in range(writes))
        clean = not git(root, "status", "--porcelain")
        git(root, "fsck", "--strict")
    holds = (
        made == WRITERS * writes and whole and clean and not failed and set(met) <= {"Applied", "Stale", "snapshots"}
    )
    row = {
        "figure": f"{WRITERS} processes of {writes} writes, {READERS} readers, {'shared' if shared else 'own'} notes"
    }
    row |= {
        "commits": made,
        "met": dict(met),
        "failed": failed,
        "whole": whole,
        "clean": clean,
        "seconds": round(spent, 2),
    }
    print(json.dumps(row | {"holds": holds}))
    return holds


def main() -> None:
    quick = "--quick" in sys.argv
    held = [measure(300 if quick else 3_000, 10 if quick else 50, shared) for shared in (False, True)]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
