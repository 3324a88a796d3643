"""What the index may ask of a source of texts, shown on a home's files under git."""

from pathlib import Path

import pytest

from quorra.index.intake.source import Source
from tests.index.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, {"a.md": "One.\n", "deep/b.md": "Two.\n", "picture.png": b"\x89PNG", ".hidden/c.md": "No."})
    place.write("/facts/household.md", "- a fact\n")
    return place


def test_before_the_first_commit_everything_differs(place: Place):
    source: Source = place.texts
    snapshot = source.snapshot()
    assert snapshot.head is None
    assert {"vault/a.md", "vault/deep/b.md", "facts/household.md"} <= set(snapshot.dirty)
    assert source.behind(None, None) == 0


def test_blobs_and_disk_agree(place: Place):
    head = place.commit()
    source: Source = place.texts
    tree = source.tree(head)
    for path in ("vault/a.md", "vault/deep/b.md", "facts/household.md"):
        read = source.now(path)
        assert read is not None
        assert read[0] == tree[path]
        assert dict(source.blobs([tree[path]])) == {tree[path]: read[1]}
    assert source.now("vault/none.md") is None
    assert dict(source.snapshot().dirty) == {}


def test_changes_are_what_differs_between_two_commits(place: Place):
    old = place.commit()
    place.write("a.md", "Three.\n")
    place.remove("deep/b.md")
    new = place.commit()
    source: Source = place.texts
    assert source.changes(old, new) == {"vault/a.md": source.tree(new)["vault/a.md"], "vault/deep/b.md": None}
    assert source.changes("0" * 40, new) is None
    assert (source.behind(old, new), source.behind(None, new), source.behind(new, new)) == (1, 2, 0)


def test_only_notes_have_public_names(place: Place):
    source: Source = place.texts
    names = {path: source.public(path) for path in ("vault/deep/b.md", "facts/household.md", "vault/picture.png")}
    assert names == {
        "vault/deep/b.md": "deep/b.md",
        "facts/household.md": "/facts/household.md",
        "vault/picture.png": None,
    }
    assert source.public("vault/.hidden/c.md") is None
    assert source.public("README.md") is None
