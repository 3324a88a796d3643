"""A note that is written, changed and moved at the command line, searched by the very next command, each a process.

Every search may wait half a second for the catch-up. The figure is the share
that found the note as it is now; a search that came too early has to say so,
and one that was wrong without saying so counts as false. The floor is the
same search of an index that has nothing to catch up with.

Usage: python -m tests.bench.authored [--quick]
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench import vaults
from tests.bench.measure import seconds

QUORRA = str(Path(sys.executable).parent / "quorra")
BAR = 0.98


class Place:
    """A home of some thousand notes, spoken to by commands."""

    def __init__(self, root: Path, notes: int) -> None:
        self.root = root
        pick, parts = random.Random(3), vaults.sections()
        for number in range(notes):
            file = root / "vault" / vaults.name(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(vaults.note(pick, number, notes, parts), encoding="utf-8")
        self.run("init", str(root), "--empty")
        self.run("sync", "--for", "0")
        self.taken: list[float] = []
        self.idle: list[float] = []
        self.found = self.early = self.false = 0

    def run(self, *words: str, text: str = "") -> dict[str, Any]:
        command = [QUORRA, *words, "--home", str(self.root), "--json"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def look(self, word: str, path: str | None) -> None:
        """Searches for a word that is in one note alone, or in none any more."""
        said: dict[str, Any] = {}
        self.taken.append(seconds(lambda: said.update(self.run("search", "--mode", "words", word))))
        good = [hit["path"] for hit in said["hits"]] == ([path] if path else [])
        self.found += good
        self.early += not good and said["behind"] > 0
        self.false += not good and said["behind"] == 0

    def turn(self, number: int) -> None:
        """Writes a note, writes it anew and moves it, each followed by a search."""
        first, second = f"walrus{number}x", f"narwhal{number}x"
        path = self.run("note", "authored/", "--title", f"Of seas {number}", text=f"Here is {first}.\n")["path"]
        self.look(first, path)
        self.run("note", path, text=f"# Of seas {number}\n\nHere is {second}.\n")
        self.look(second, path)
        self.look(first, None)
        self.run("move", path, f"moved/seas-{number}")
        self.look(second, f"moved/seas-{number}.md")
        self.idle.append(seconds(lambda: self.run("search", "--mode", "words", second)))


def main() -> None:
    quick = "--quick" in sys.argv
    holds = True
    for notes in (200,) if quick else (200, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), notes)
            for number in range(4 if quick else 25):
                place.turn(number)
        looks = len(place.taken)
        good = place.found / looks >= BAR and not place.false
        holds &= good
        row = {
            "figure": f"found by the next command, {notes} notes",
            "quorra": round(place.found / looks, 3),
            "bar": BAR,
        }
        row |= {"searches": looks, "early": place.early, "false": place.false, "seconds": round(median(place.taken), 3)}
        print(json.dumps({**row, "floors": {"nothing to catch up": round(median(place.idle), 3)}, "holds": good}))
    sys.exit(not holds)


if __name__ == "__main__":
    main()
