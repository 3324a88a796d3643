"""A writer killed at any step leaves an index that serves, and the next one finishes its work."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.index.place import EVERYTHING, Place, contents

VICTIM = """
import os, signal, sys
from pathlib import Path
from quorra.inference.embed.minilm import MiniLM
from tests.index.place import Place, compacted
root, verb, step, at = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
left = [at]
def steps(name):
    if name == step:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
model = MiniLM()
place = Place(root, {}, lambda: model, steps)
compacted(place.index) if verb == "compact" else getattr(place.index, verb)()
"""


def kill(place: Place, verb: str, step: str, at: int = 1) -> None:
    words = [sys.executable, "-c", VICTIM, str(place.root), verb, step, str(at)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, (step, done.stderr)


@pytest.mark.parametrize(
    ("verb", "step", "at"),
    [
        ("catch_up", "parse", 1),
        ("catch_up", "rows", 1),
        ("catch_up", "rows", 2),
        ("catch_up", "words", 1),
        ("catch_up", "catalogue", 1),
        ("catch_up", "publish", 1),
        ("embed", "vectors", 1),
        ("embed", "publish", 1),
        ("embed", "publish", 2),
        ("compact", "compact", 1),
        ("compact", "publish", 1),
    ],
)
def test_killed_at(verb: str, step: str, at: int, tmp_path: Path):
    place = Place(tmp_path, {"a.md": "A yak.", "b.md": "A zebra.", "members/mira/c.md": "A gnu."})
    place.index.catch_up()
    place.write("a.md", "An old yak and a walrus.")
    place.remove("b.md")
    place.write("members/tom/d.md", "A cow.")
    if verb != "catch_up":
        place.index.catch_up()
    kill(place, verb, step, at)
    served = place.index.search("yak", window=EVERYTHING, wait=0.0)
    assert [hit.path for hit in served.hits] == ["a.md"]
    assert place.paths("walrus") == ["a.md"]
    assert place.paths("zebra") == []
    assert place.paths("cow") == ["members/tom/d.md"]
    before = contents(place.index)
    place.index.catch_up(rebuild=True)
    after = contents(place.index)
    words = {name: [row for row in rows if type(row) is tuple or row["words"]] for name, rows in before.items()}
    plain = {name: [row for row in rows if type(row) is tuple or row["words"]] for name, rows in after.items()}
    assert _without(words) == _without(plain)


def _without(found: dict[str, list[object]]) -> dict[str, list[object]]:
    """Leaves out vectors, which a rebuild takes from the cache when there are any."""
    return {
        name: [{k: v for k, v in row.items() if k != "vector"} if isinstance(row, dict) else row for row in rows]
        for name, rows in found.items()
    }


def test_the_victim_can_end_by_itself(tmp_path: Path):
    place = Place(tmp_path, {"a.md": "A yak."})
    words = [sys.executable, "-c", VICTIM, str(place.root), "catch_up", "never", "1"]
    assert subprocess.run(words, check=False, env={**os.environ}).returncode == 0
