"""The inbox: each item moves on once, whoever asks, and survives a restart."""

from concurrent.futures import ThreadPoolExecutor
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
