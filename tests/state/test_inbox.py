"""The inbox: each item moves on once, whoever asks, and survives a restart."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quorra.state import database, inbox
from quorra.state.inbox import Inbox, Item, UnknownItem

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def opened(folder: Path) -> Inbox:
    return Inbox(database.open(folder / "state.db"))


def item(kind: str = "note") -> Item:
    moment = NOW.isoformat()
    return Item(
        inbox.ident(), kind, "A title", {"path": "a.md"}, "owner", "cli", "why", "draft_ready", moment, moment, "", None
    )


def test_an_item_comes_back_as_it_was_put_after_a_restart(tmp_path: Path):
    first, second = item(), item("reorganize")
    state = database.open(tmp_path / "state.db")
    Inbox(state).put(first)
    Inbox(state).put(second)
    state.close()
    assert opened(tmp_path).waiting() == (first, second)


def test_of_many_who_approve_at_once_one_does(tmp_path: Path):
    wanted = item()
    opened(tmp_path).put(wanted)

    def approve(_: int) -> bool:
        return opened(tmp_path).move(wanted.id, "draft_ready", "approved", NOW)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(approve, range(24))) == 1


def test_a_decided_item_waits_no_more_and_can_not_be_decided_again(tmp_path: Path):
    box, wanted = opened(tmp_path), item()
    box.put(wanted)
    assert box.move(wanted.id, "draft_ready", "declined", NOW, "not now")
    assert box.waiting() == ()
    assert not box.move(wanted.id, "draft_ready", "approved", NOW)
    assert (box.get(wanted.id).state, box.get(wanted.id).result) == ("declined", "not now")


def test_an_unknown_id_says_so(tmp_path: Path):
    with pytest.raises(UnknownItem, match="Nothing in the inbox"):
        opened(tmp_path).get("none")


def test_what_belongs_to_a_conversation_comes_back_as_it_was_put(tmp_path: Path):
    box = opened(tmp_path)
    wanted = replace(item("confirmation"), session="s1", run="r1", tool="remove", digest="d1", expires=NOW.isoformat())
    box.put(wanted)
    box.put(item())
    assert box.waiting("confirmation") == (wanted,)
    assert len(box.waiting()) == 2
    assert box.waiting("confirmation", "approved") == ()
    assert box.move(wanted.id, "draft_ready", "approved", NOW)
    assert [found.id for found in box.waiting("confirmation", "approved")] == [wanted.id]


def test_only_what_waits_as_it_was_seen_is_revised(tmp_path: Path):
    box, wanted = opened(tmp_path), replace(item("confirmation"), digest="d1", shown="d1")
    box.put(wanted)
    assert not box.revise(wanted.id, "d0", "Other", {"path": "b.md"}, "d2", NOW)
    assert box.get(wanted.id) == wanted
    assert box.revise(wanted.id, "d1", "Other", {"path": "b.md"}, "d2", NOW)
    changed = box.get(wanted.id)
    assert (changed.title, changed.payload, changed.digest, changed.shown) == ("Other", {"path": "b.md"}, "d2", "d2")
    assert box.move(wanted.id, "draft_ready", "approved", NOW)
    assert not box.revise(wanted.id, "d2", "Later", {}, "d3", NOW)
    assert box.get(wanted.id).digest == "d2"
