"""Another version of a note, merged in: three ways, nothing lost, and the copy gone once it is."""

from datetime import datetime
from pathlib import Path

import pytest

from quorra.access.changes import merging
from quorra.home import Home, create
from quorra.ledger.change import Origin
from quorra.settings import read

NOW = datetime.fromisoformat("2026-11-30T12:00:00+00:00")
BASE = b"# Boiler\n\nPressure: 1.4 bar.\n\nServiced in May.\n\nFilter: size 2.\n"


@pytest.fixture
def home(tmp_path: Path):
    create(tmp_path, empty=True)
    opened = Home.open(read(tmp_path))
    opened.changes.write("boiler.md", BASE, Origin("owner", "cli", ""))
    yield opened
    opened.close()


def parked(home: Home, theirs: bytes, copy: str | None = None) -> str:
    kept = merging.payload(home.texts, "boiler.md", theirs, copy=copy)
    done = home.proposals.park("merge", kept, Origin("unknown", "disk", ""), NOW)
    assert done.outcome == "parked", done
    assert done.proposal
    return done.proposal


def now(home: Home, name: str = "boiler.md") -> bytes | None:
    return home.ledger.on_disk(f"vault/{name}")


def test_both_sides_are_in_the_merge(home: Home):
    home.changes.write("boiler.md", BASE.replace(b"1.4", b"1.5"), Origin("owner", "cli", ""))
    ident = parked(home, BASE.replace(b"size 2", b"size 3"))
    assert home.proposals.approve(ident, "owner", NOW).outcome == "applied"
    assert now(home) == BASE.replace(b"1.4", b"1.5").replace(b"size 2", b"size 3")


def test_the_same_line_changed_twice_stands_twice_and_no_marker_does(home: Home):
    home.changes.write("boiler.md", BASE.replace(b"1.4", b"1.5"), Origin("owner", "cli", ""))
    ident = parked(home, BASE.replace(b"1.4", b"1.6"))
    assert home.proposals.approve(ident, "owner", NOW).outcome == "applied"
    text = now(home) or b""
    assert b"1.5 bar.\nPressure: 1.6 bar." in text
    assert b"<<<<" not in text
    assert b"====" not in text


def test_the_copy_goes_with_the_merge_unless_it_has_changed_since(home: Home):
    copy = home.settings.home / "vault" / "boiler (conflicted copy 2026-07-10 070952).md"
    theirs = BASE.replace(b"size 2", b"size 3")
    copy.write_bytes(theirs)
    home.changes.write("boiler.md", BASE.replace(b"1.4", b"1.5"), Origin("owner", "cli", ""))
    first = parked(home, theirs, copy.name)
    assert home.proposals.approve(first, "owner", NOW).outcome == "applied"
    assert not copy.exists()
    again = theirs.replace(b"May", b"June")
    copy.write_bytes(again)
    second = parked(home, again, copy.name)
    copy.write_bytes(b"more")
    assert home.proposals.show(second).reason is None
    assert home.proposals.approve(second, "owner", NOW).outcome == "applied"
    assert copy.read_bytes() == b"more"


def test_a_version_that_is_in_there_already_is_no_proposal(home: Home):
    kept = merging.payload(home.texts, "boiler.md", BASE)
    done = home.proposals.park("merge", kept, Origin("unknown", "disk", ""), NOW)
    assert (done.outcome, done.code) == ("refused", "nothing")


def test_a_note_that_is_gone_comes_back_as_the_other_version(home: Home):
    theirs = BASE + b"\nMore.\n"
    ident = parked(home, theirs)
    (home.settings.home / "vault" / "boiler.md").unlink()
    home.proposals.show(ident)
    assert home.proposals.approve(ident, "owner", NOW).outcome == "applied"
    assert now(home) == theirs
