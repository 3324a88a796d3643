"""Seconds to a snapshot with some hand edits lying about, against plain ``git status``.

Usage: python -m tests.bench.snapshot [--quick]
"""

import random
import subprocess
import sys

from quorra.ledger.ledger import Ledger
from tests.bench.measure import interleaved, report
from tests.bench.repository import note, path_of, repository

BAR = 1.3
EDITED = 20


def measure(files: int, rounds: int) -> bool:
    """Prints the figure for one size; tells if it holds."""
    pick = random.Random(files)
    with repository(files) as root:
        for number in pick.sample(range(files), EDITED):
            (root / path_of(number)).write_bytes(note(pick))
        (root / "vault/new.md").write_bytes(note(pick))
        ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))

        def status(*words: str) -> None:
            subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)

        def quorra() -> None:
            assert len(ledger.snapshot().dirty) == EDITED + 1

        works = {
            "quorra": quorra,
            "git status": lambda: status("--no-optional-locks", "status"),
            "git status --porcelain -uall": lambda: status("--no-optional-locks", "status", "--porcelain", "-uall"),
        }
        times = interleaved(works, rounds, warm=3)
        ledger.close()
    return report(f"snapshot of {files} files", times.pop("quorra"), times, BAR)


def main() -> None:
    quick = "--quick" in sys.argv
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 50_000)
    held = [measure(files, 15 if quick else 60) for files in sizes]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
