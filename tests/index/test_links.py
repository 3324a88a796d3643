"""The index's links as a reorganization reads them: of the whole vault, cheaply, and never in the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from quorra.index import links
from quorra.vault.library import Library
from tests.index.place import Place

NOTES = {"a.md": "See [[b]] and [c](deep/c.md).\n", "b.md": "Nothing.\n", "deep/c.md": "---\nentities: [a]\n---\n"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, NOTES)
    place.commit()
    place.index.catch_up()
    return place


def told(place: Place) -> dict[str, list[tuple[str, str]]]:
    found = links.known(place.index.folder)
    return {path: [(link.kind, link.target) for link in held] for path, (_, held) in found.items()}


def test_all_of_them_with_kind_and_target(place: Place):
    assert told(place) == {
        "a.md": [("wiki", "b"), ("inline", "deep/c.md")],
        "b.md": [],
        "deep/c.md": [("entity", "a")],
    }


@pytest.mark.parametrize("left", [b"", b"garbage" * 4000, None])
def test_a_broken_catalogue_tells_nothing(place: Place, left: bytes | None):
    manifest = place.index.manifest()
    assert manifest is not None
    file = place.index.folder / manifest.catalogue
    whole = file.read_bytes()
    if left is None:
        file.unlink()
    else:
        file.write_bytes(left or whole[: len(whole) // 2])
    assert told(place) == {}
    graph = Library(place.texts).graph(lambda: links.known(place.index.folder), many=0)
    assert [link.target for link in graph.links["a.md"]] == ["b", "deep/c.md"]


def test_no_index_tells_nothing(tmp_path: Path):
    assert links.known(tmp_path / "none") == {}


def test_nothing_heavy_is_loaded(place: Place):
    code = (
        f"import sys; from pathlib import Path; from quorra.index import links; "
        f"assert len(links.known(Path({str(place.index.folder)!r}))) == 3; "
        "print({'lancedb', 'pyarrow', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
