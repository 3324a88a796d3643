"""Writing notes back: canonical new ones, and edits of one key."""

from datetime import date

import pytest

from quorra.vault.reading import parse
from quorra.vault.writing import serialize


def test_a_new_note_is_canonical():
    metadata = {
        "zeta": "one: two",
        "entities": ["home/boiler"],
        "tags": ["home", "a, b", "2024"],
        "updated": date(2026, 5, 12),
        "title": "The boiler, again",
        "created": "2024-10-03",
    }
    assert serialize.assemble(metadata, "\n# The boiler\n\nWords.").decode() == (
        "---\n"
        "title: The boiler, again\n"
        "created: 2024-10-03\n"
        "updated: 2026-05-12\n"
        'tags: [home, "a, b", "2024"]\n'
        "entities: [home/boiler]\n"
        'zeta: "one: two"\n'
        "---\n\n# The boiler\n\nWords.\n"
    )


def test_a_body_that_looks_like_front_matter_stays_a_body():
    content = serialize.assemble({}, "---\na: b\n---\n")
    assert parse.note("x.md", content).body == "---\na: b\n---\n"
    assert serialize.assemble({}, "plain\n") == b"plain\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("status: open", "status: done"),
        ("status:   open  # why", "status:   done  # why"),
        ("status: 'o''pen'", "status: done"),
        ("status:", "status: done"),
        ("status:\n  - a\n  - b\n# note", "status: done\n# note"),
        ("status: |\n  a\n  b", "status: done"),
        ("status: >-\n  a\n\nnext: 1", "status: done\n\nnext: 1"),
        ("'status': {a: b}", "'status': done"),
        ("other: 1", "other: 1\nstatus: done"),
        ("a: é\nstatus: ü # ö", "a: é\nstatus: done # ö"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_key_is_set_and_nothing_else(old: str, new: str, end: str):
    before, after = (
        ("\ufeff---\nz: 0x1f\n" + text + "\n---\nbody\n").replace("\n", end).encode() for text in (old, new)
    )
    assert serialize.with_field(parse.note("x.md", before), "status", "done") == after


def test_a_note_without_block_gets_one():
    assert serialize.with_field(parse.note("x.md", b"# T\r\n"), "a", [1, "b"]) == b"---\r\na: [1, b]\r\n---\r\n# T\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"---\na: b: c\n---\n",
        b"---\na: 1\na: 2\n---\n",
        b"---\na: &x 1\nb: *x\n---\n",
        b"---\nb: {c: 1}\n# \xff\n---\n",
    ],
)
def test_what_cannot_be_changed_safely_is_refused(content: bytes):
    with pytest.raises(serialize.Unwritable) as caught:
        serialize.with_field(parse.note("x.md", content), "a", 2)
    assert "x.md" in caught.value.message
