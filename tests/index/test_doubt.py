"""What an index says of itself where something failed: never more doubt than there is, and never less."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from quorra import metrics
from quorra.inference.embed.minilm import MiniLM
from tests.index.place import EVERYTHING, Place

MODEL = MiniLM()
NOTES = {"boiler.md": "# Boiler\n\nThe boiler hums.\n", "cat.md": "# Cat\n\nThe cat sleeps.\n"}


def rebuilt() -> float:
    return metrics.counts().get(("index_broken_total", ()), 0.0)


def test_a_failure_is_told_of_until_the_index_is_current(tmp_path: Path):
    failing = [False]

    def steps(name: str) -> None:
        if failing[0]:
            raise PermissionError(name)

    place = Place(tmp_path, NOTES, steps=steps)
    place.commit()
    place.search("boiler")
    failing[0] = True
    place.write("cat.md", "A zebra.")
    found = place.search("boiler")
    assert (found.behind, found.reason) == (1, "catch_up_failed")
    failing[0] = False
    place.index.catch_up()
    found = place.index.search("zebra", window=EVERYTHING, wait=0.0)
    assert (found.behind, found.reason, len(found.hits)) == (0, None, 1)


def test_a_note_that_is_edited_twice_is_one(tmp_path: Path):
    place = Place(tmp_path, NOTES)
    place.commit()
    place.write("cat.md", "A zebra.")
    place.search("zebra")
    place.write("cat.md", "A yak.")
    assert place.index.search("zebra", window=EVERYTHING, wait=0.0).behind == 1
    place.remove("cat.md")
    place.write("dog.md", "A dog.")
    assert place.index.search("zebra", window=EVERYTHING, wait=0.0).behind == 2


def test_words_are_found_while_the_vectors_are_away(tmp_path: Path):
    place = Place(tmp_path, NOTES, lambda: MODEL)
    place.index.catch_up()
    place.index.embed()
    for file in (tmp_path / ".quorra/cache").glob("vectors.db*"):
        file.unlink()
    (tmp_path / ".quorra/cache/vectors.db").mkdir()
    place.write("zebra.md", "A zebra.")
    found = place.search("zebra", mode="words")
    assert ([hit.path for hit in found.hits], found.pending, found.reason) == (["zebra.md"], 1, None)
    (tmp_path / ".quorra/cache/vectors.db").rmdir()
    assert place.index.embed().pending == 0
    assert place.paths("zebra", mode="meaning")[0] == "zebra.md"


@pytest.mark.parametrize("fault", [RecursionError, RuntimeError])
def test_a_fault_of_ours_rebuilds_nothing(tmp_path: Path, fault: type[Exception]):
    failing = [False]

    def steps(name: str) -> None:
        if failing[0]:
            raise fault(name)

    place = Place(tmp_path, NOTES, steps=steps)
    place.search("boiler")
    failing[0] = True
    place.write("cat.md", "A zebra.")
    before = rebuilt()
    with pytest.raises(fault):
        place.index.catch_up()
    assert rebuilt() == before


def test_a_catalogue_that_is_gone_is_made_again(tmp_path: Path):
    place = Place(tmp_path, NOTES)
    place.commit()
    place.search("boiler")
    for file in (tmp_path / ".quorra/index").glob("catalogue-*"):
        file.unlink()
    place.write("cat.md", "A zebra.")
    assert place.paths("zebra") == ["cat.md"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A home whose index lies on a file system of twelve megabytes."""
    index = tmp_path / ".quorra/index"
    index.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(index)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(index)], check=True)


@pytest.mark.parametrize("room", [0, 4096, 300_000])
def test_a_search_on_a_full_disk_answers_from_what_was_published(small: Path, room: int):
    place = Place(small, NOTES, lambda: MODEL)
    place.commit()
    place.search("boiler")
    filler = small / ".quorra/index/filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    os.truncate(filler, filler.stat().st_size - room)
    place.write("cat.md", "A zebra.")
    before = rebuilt()
    found = place.search("boiler")
    assert (found.hits[0].path, found.behind, found.reason) == ("boiler.md", 1, "catch_up_failed")
    with pytest.raises(OSError, match="No space left"):
        place.index.catch_up()
    assert rebuilt() == before
    filler.unlink()
    found = place.search("zebra")
    assert (found.hits[0].path, found.behind, found.reason) == ("cat.md", 0, None)
