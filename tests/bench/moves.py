"""One commit that moves 500 notes, against moving them by hand and ``git add -A && git commit``.

Usage: python -m tests.bench.moves [--quick]
"""

import subprocess
import sys
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin
from quorra.ledger.ledger import Ledger
from tests.bench.measure import interleaved, report
from tests.bench.repository import git, path_of, repository

BAR = 2.0
MOVED = 500


class Mover:
    """Five folders of notes that wander, each way of moving with its own."""

    def __init__(self, root: Path, first: int) -> None:
        self.root = root
        self.paths = [path_of(number) for number in range(first, first + MOVED)]
        self.turn = 0

    def pairs(self) -> list[tuple[str, str]]:
        """Gives where each note is and where it goes next."""
        self.turn += 1
        goals = [f"vault/moved-{self.turn}/{path.split('/', 2)[2]}" for path in self.paths]
        pairs = list(zip(self.paths, goals, strict=True))
        self.paths = [f"vault/moved-{self.turn}/{path.split('/', 2)[2]}" for path in self.paths]
        return pairs

    def by_hand(self) -> None:
        """Renames the files."""
        for source, goal in self.pairs():
            (self.root / goal).parent.mkdir(parents=True, exist_ok=True)
            (self.root / source).rename(self.root / goal)


def measure(files: int, rounds: int) -> bool:
    """Prints the figure; tells if it holds and git finds nothing wrong."""
    with repository(files) as root:
        ledger = Ledger(root, ("vault",), ("Bench", "bench@localhost"))
        movers = {name: Mover(root, number * MOVED) for number, name in enumerate(("quorra", "all", "paths"))}

        def quorra() -> None:
            edits = []
            for source, goal in movers["quorra"].pairs():
                content = (root / source).read_bytes()
                edits += [Edit(source, None, ledger.id_of(content)), Edit(goal, content, None)]
            outcome = ledger.commit(ChangeSet(tuple(edits), "Move", Origin("owner", "bench", "a move")))
            assert isinstance(outcome, Applied), outcome

        def add_all() -> None:
            movers["all"].by_hand()
            subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
            subprocess.run(["git", "-C", str(root), "commit", "-q", "-m", "move"], check=True)

        def add_folders() -> None:
            movers["paths"].by_hand()
            subprocess.run(["git", "-C", str(root), "add", "-A", "--", "vault"], check=True)
            subprocess.run(["git", "-C", str(root), "commit", "-q", "-a", "-m", "move"], check=True)

        works = {"quorra": quorra, "git add -A, git commit": add_all, "git add -A -- vault, git commit -a": add_folders}
        times = interleaved(works, rounds)
        clean = not git(root, "status", "--porcelain")
        git(root, "fsck", "--strict")
        ledger.close()
    print(f"git status after: {'clean' if clean else 'not clean'}")
    return report(f"a move of {MOVED} notes among {files}", times.pop("quorra"), times, BAR) and clean


def main() -> None:
    quick = "--quick" in sys.argv
    sys.exit(not measure(3_000 if quick else 10_000, 5 if quick else 15))


if __name__ == "__main__":
    main()
