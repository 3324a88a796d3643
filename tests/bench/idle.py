"""A catch-up with nothing changed over 9,000 notes, against walking the vault and asking for every file's state.

Usage: python -m tests.bench.idle [--quick]
"""

import os
import sys
from pathlib import Path

from quorra.index.index import Index
from tests.bench import vaults
from tests.bench.measure import interleaved, report

BAR = 5.0


def walk(folder: Path) -> int:
    """Walks with os.walk and asks by path."""
    return sum(os.stat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names)


def scan(folder: str) -> int:
    """Walks with os.scandir and asks each entry."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            total += scan(entry.path) if entry.is_dir(follow_symlinks=False) else entry.stat().st_size
    return total


def main(quick: bool) -> bool:
    """Measures both in turns."""
    with vaults.home(1000 if quick else 9000) as root:
        index = Index(root / ".quorra/index", root / ".quorra/cache", vaults.texts(root))
        index.catch_up()
        vault = root / "vault"
        works = {"quorra": index.catch_up, "walk": lambda: walk(vault), "scandir": lambda: scan(str(vault))}
        taken = interleaved(works, 15)
    return report("catch-up with nothing changed", taken.pop("quorra"), taken, BAR)


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
