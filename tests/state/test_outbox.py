"""Notices and preferences belong to one principal; a notice is moved on once, and only the way it goes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from quorra.state import database
from quorra.state.outbox import Outbox, State, UnknownNotice
from quorra.state.preferences import Chosen, Preferences

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
LEADS = {("queued", "sent"), ("queued", "seen"), ("queued", "failed"), ("sent", "seen"), ("sent", "failed"),
         ("failed", "queued"), ("failed", "seen")}  # fmt: skip
WAY = {"queued": (), "sent": ("sent",), "failed": ("failed",), "seen": ("seen",)}


def opened(folder: Path) -> Outbox:
    return Outbox(database.open(folder / "state.db"))


def test_a_notice_waits_for_its_own_person_only(tmp_path: Path):
    outbox = opened(tmp_path)
    mira = outbox.put("member:mira", "done", "note: household/boiler.md", NOW, session="s", run="r")
    tom = outbox.put("member:tom", "done", "note: tom/a.md", NOW)
    assert outbox.waiting("member:mira") == (mira,)
    assert (mira.state, mira.tries, mira.session, mira.run) == ("queued", 0, "s", "r")
    assert not outbox.move(mira.id, "member:tom", "queued", "seen", NOW)
    with pytest.raises(UnknownNotice):
        outbox.get(mira.id, "member:tom")
    assert opened(tmp_path).waiting("member:tom") == (tom,)


@pytest.mark.parametrize(("before", "after"), list(product(get_args(State), repeat=2)))
def test_a_notice_goes_only_where_its_state_leads(tmp_path: Path, before: State, after: State):
    outbox = opened(tmp_path)
    ident, at = outbox.put("owner", "done", "x", NOW).id, "queued"
    for step in WAY[before]:
        assert outbox.move(ident, "owner", at, step, NOW)
        at = step
    assert outbox.move(ident, "owner", before, after, NOW) is ((before, after) in LEADS)
    assert outbox.get(ident, "owner").state == (after if (before, after) in LEADS else before)


def test_of_many_who_deliver_one_does_and_tries_are_counted(tmp_path: Path):
    ident = opened(tmp_path).put("owner", "done", "x", NOW).id

    def deliver(_: int) -> bool:
        return opened(tmp_path).move(ident, "owner", "queued", "sent", NOW)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(deliver, range(16))) == 1
    outbox = opened(tmp_path)
    assert outbox.move(ident, "owner", "sent", "failed", NOW)
    assert outbox.move(ident, "owner", "failed", "queued", NOW)
    assert outbox.move(ident, "owner", "queued", "sent", NOW)
    assert outbox.get(ident, "owner").tries == 2


def test_a_choice_is_one_s_own_and_leaves_the_others_as_they_are(tmp_path: Path):
    preferences = Preferences(database.open(tmp_path / "state.db"))
    assert preferences.of("owner") == Chosen(show_thinking=True, developer_mode=False)
    assert preferences.set("owner", developer_mode=True) == Chosen(show_thinking=True, developer_mode=True)
    assert preferences.set("owner", show_thinking=False) == Chosen(show_thinking=False, developer_mode=True)
    assert Preferences(database.open(tmp_path / "state.db")).of("owner") == Chosen(False, True)
    assert preferences.of("member:mira") == Chosen()
