"""Eight processes that commit at 10,000 files: none lost, and their rate in sum against one process's alone.

Usage: python -m tests.bench.committers [--quick]
"""

import json
import multiprocessing
import random
import sys
import time
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin
from quorra.ledger.ledger import Ledger
from tests.bench.repository import git, note, path_of, repository

PROCESSES = 8
LEAST = 0.5


def work(root: Path, number: int, commits: int, seed: int, ready: object, go: object) -> None:
    """Edits notes of its own, a commit each."""
    ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))
    pick = random.Random(f"{seed} {number}")
    ready.release()  # type: ignore[attr-defined]
    go.wait()  # type: ignore[attr-defined]
    for _ in range(commits):
        path = path_of(pick.randrange(100) * 100 + number)
        old = ledger.id_of((root / path).read_bytes())
        change = ChangeSet((Edit(path, note(pick), old),), f"Edit by {number}", Origin("owner", "bench", "an edit"))
        outcome = ledger.commit(change)
        assert isinstance(outcome, Applied), outcome
    ledger.close()


def rate(root: Path, processes: int, commits: int, seed: int) -> float:
    """Gives commits a second from the moment that all processes are ready."""
    fork = multiprocessing.get_context("fork")
    ready, go = fork.Semaphore(0), fork.Event()
    crowd = [fork.Process(target=work, args=(root, number, commits, seed, ready, go)) for number in range(processes)]
    for process in crowd:
        process.start()
    for _ in crowd:
        ready.acquire()
    start = time.perf_counter()
    go.set()
    for process in crowd:
        process.join()
    spent = time.perf_counter() - start
    assert all(process.exitcode == 0 for process in crowd), "a process failed"
    return processes * commits / spent


def main() -> None:
    quick = "--quick" in sys.argv
    each, files = (10, 10_000) if quick else (50, 10_000)
    with repository(files) as root:
        alone = [rate(root, 1, each * 2, 1)]
        together = rate(root, PROCESSES, each, 2)
        alone.append(rate(root, 1, each * 2, 3))
        made = int(git(root, "rev-list", "--count", "HEAD")) - 1
        clean = not git(root, "status", "--porcelain")
        git(root, "fsck", "--strict")
    wanted = 4 * each + PROCESSES * each
    single = sum(alone) / 2
    holds = made == wanted and clean and together >= LEAST * single
    row = {"figure": f"{PROCESSES} committing processes at {files} files", "quorra": together, "unit": "commits/s"}
    row |= {"one process": single, "ratio": round(together / single, 3), "bar": LEAST, "lost": wanted - made}
    print(json.dumps(row | {"clean": clean, "holds": holds}))
    sys.exit(not holds)


if __name__ == "__main__":
    main()
