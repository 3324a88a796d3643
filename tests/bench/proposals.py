"""Fifty proposals on one note, approved in random order, each twice, while a hand edits the note.

Usage: python -m tests.bench.proposals [--quick]
"""

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.ledger.change import Origin

PROPOSALS, LINES, HANDS, BAR = 50, 200, 12, 0.9
HEAD = "# List\n\n"


def main(quick: bool) -> bool:
    """Runs a few orders, each in a home of its own."""
    good = True
    for seed in range(2 if quick else 5):
        with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
            good &= measured(Path(folder), random.Random(seed))
    return good


def measured(root: Path, pick: random.Random) -> bool:
    """Proposes, edits by hand in between, approves; tells if all is as it has to be."""
    homes.create(root, empty=True)
    home = Home.open(settings.read(root))
    lines = [f"Line {number} says {number * 7}.\n" for number in range(LINES)]
    home.changes.write("list", (HEAD + "".join(lines)).encode(), Origin("owner", "bench", ""))
    mine = {_parked(home, lines, number): number for number in pick.sample(range(LINES), PROPOSALS)}
    order = [*mine, *mine]
    pick.shuffle(order)
    hands = dict(zip(pick.sample(range(len(order)), HANDS), pick.sample(range(LINES), HANDS), strict=True))
    file, met, applied, excused = root / "vault/list.md", Counter[str](), set(), set()
    for turn, ident in enumerate(order):
        if turn in hands:
            _edited(file, hands[turn])
            excused |= {hands[turn]}
        done = home.proposals.approve(ident, "owner", home.ledger.clock())
        met[done.outcome] += 1
        applied |= {ident} if done.outcome == "applied" else set()
    text = file.read_text(encoding="utf-8")
    once = met["applied"] == len(applied) and all(text.count(_new(mine[ident])) <= 1 for ident in applied)
    kept = text.count("(by hand)") == HANDS
    fair = all(mine[ident] in excused for ident in mine if ident not in applied)
    home.close()
    holds = once and kept and fair and len(applied) >= BAR * PROPOSALS
    row = {"figure": "fifty proposals on one note", "applied": len(applied), "met": dict(met), "hands intact": kept}
    print(json.dumps({**row, "stale only on own lines": fair, "each once": once, "bar": BAR, "holds": holds}))
    return holds


def _parked(home: Home, lines: list[str], number: int) -> str:
    changed = "".join([*lines[:number], f"{_new(number)}\n", *lines[number + 1 :]])
    done = home.changes.write("list", (HEAD + changed).encode(), Origin("owner", "bench", ""), propose=True)
    assert done.proposal, done
    return done.proposal


def _new(number: int) -> str:
    return f"Line {number} now says {number}."


def _edited(file: Path, number: int) -> None:
    """Marks a line of the list as a hand in an editor would."""
    lines = file.read_text(encoding="utf-8").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith(f"Line {number} "))
    lines[at] += " (by hand)"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
