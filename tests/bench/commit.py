"""One edited note to a commit in a long-lived process, at three sizes of repository."""

import random
import subprocess
import sys
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin
from quorra.ledger.ledger import Ledger
from tests.bench.measure import interleaved, report
from tests.bench.repository import git, note, path_of, repository

BARS = {1_000: 0.7, 10_000: 0.5, 50_000: 0.3}
ORIGIN = Origin("owner", "bench", "one edited note")


def measure(files: int, rounds: int) -> bool:
    """Prints the figure for one size; tells if it holds."""
    pick = random.Random(files)
    with repository(files) as root:
        ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))

        def quorra() -> None:
            path = path_of(pick.randrange(files))
            old = ledger.id_of((root / path).read_bytes())
            outcome = ledger.commit(ChangeSet((Edit(path, note(pick), old),), "Edit a note", ORIGIN))
            assert isinstance(outcome, Applied), outcome

        def edited() -> str:
            path = path_of(pick.randrange(files))
            (root / path).write_bytes(note(pick))
            return path

        def two_commands() -> None:
            path = edited()
            subprocess.run(["git", "-C", str(root), "add", "--", path], check=True)
            subprocess.run(["git", "-C", str(root), "commit", "-q", "-m", "edit", "--", path], check=True)

        def one_shell() -> None:
            words = ["sh", "-c", 'git add -- "$1" && git commit -q -m edit -- "$1"', "sh", edited()]
            subprocess.run(words, cwd=root, check=True)

        works = {"quorra": quorra, "git add, git commit": two_commands, "sh -c 'git add && git commit'": one_shell}
        times = interleaved(works, rounds, warm=3)
        clean = _clean(root)
        ledger.close()
    return report(f"commit at {files} files", times.pop("quorra"), times, BARS[files]) and clean


def _clean(root: Path) -> bool:
    status = git(root, "status", "--porcelain")
    git(root, "fsck", "--strict")
    print(f"git status after: {status or 'clean'}")
    return not status


def main() -> None:
    quick = "--quick" in sys.argv
    held = [measure(files, 15 if quick else 60) for files in ((1_000, 10_000) if quick else BARS)]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
