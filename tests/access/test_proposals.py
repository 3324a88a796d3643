"""Proposals after a process that died: refs and rows follow each other again, and nothing is done twice."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.ledger.change import Origin

OLD, NEW = b"# Attic\n\nEmpty.\n", b"# Attic\n\nFull.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    homes.create(tmp_path / "home", empty=True)
    return tmp_path / "home"


def opened(root: Path) -> Home:
    return Home.open(settings.read(root))


def parked(home: Home) -> str:
    home.changes.write("attic", OLD, Origin("owner", "test", ""))
    done = home.changes.write("attic", NEW, Origin("owner", "test", ""), propose=True)
    assert done.proposal
    return done.proposal


def approved(home: Home, ident: str, ago: timedelta) -> datetime:
    """Leaves an item as a process leaves it that died while it approved it."""
    now = home.ledger.clock()
    assert home.proposals.box.move(ident, "draft_ready", "approved", now - ago)
    return now


def test_what_was_approved_and_not_done_waits_again(root: Path):
    home = opened(root)
    ident = parked(home)
    approved(home, ident, timedelta(minutes=2))
    home.close()
    again = opened(root)
    assert again.proposals.box.get(ident).state == "draft_ready"
    assert (root / "vault/attic.md").read_bytes() == OLD
    assert again.proposals.approve(ident, "owner", again.ledger.clock()).outcome == "applied"
    assert (root / "vault/attic.md").read_bytes() == NEW


def test_what_was_done_is_known_by_its_commit(root: Path):
    home = opened(root)
    ident = parked(home)
    planned = home.proposals.show(ident).planned
    assert planned
    now = approved(home, ident, timedelta(minutes=2))
    origin = replace(planned.change.origin, proposal=ident)
    done = home.ledger.commit(replace(planned.change, origin=origin))
    home.close()
    again = opened(root)
    item = again.proposals.box.get(ident)
    assert (item.state, item.result) == ("applied", getattr(done, "commit", None))
    assert again.ledger.renderings() == {}
    assert again.proposals.approve(ident, "owner", now).code == "decided"


def test_what_a_living_process_may_be_doing_is_left_to_it(root: Path):
    home = opened(root)
    ident = parked(home)
    approved(home, ident, timedelta(seconds=5))
    home.close()
    again = opened(root).proposals
    assert again.box.get(ident).state == "approved"
    done = again.approve(ident, "owner", again.ledger.clock())
    assert (done.code, "just now" in (done.reason or ""), ident in (done.next or "")) == ("decided", True, True)


def test_refs_and_rows_follow_each_other(root: Path):
    home = opened(root)
    ident = parked(home)
    planned = home.proposals.show(ident).planned
    assert planned
    home.ledger.render("stray", planned.change)
    home.ledger.withdraw(ident)
    home.close()
    assert set(opened(root).proposals.ledger.renderings()) == {ident}


def begun(home: Home, action: str, ident: str, ago: timedelta) -> None:
    """Leaves the audit as a process leaves it that died before it had noted how an answer ended."""
    moment = home.ledger.clock() - ago
    home.audit.record(moment, principal="owner", by="k1", action=action, tool="review", tier=2, target=ident)


def acts(home: Home) -> list[tuple[str, str, bool | None]]:
    return [(act.action, act.by, act.ok) for act in home.audit.entries()]


@pytest.mark.parametrize("how", ["done", "not begun", "declined"])
def test_an_answer_that_was_cut_off_gets_its_end_in_the_audit(root: Path, how: str):
    home, late = opened(root), timedelta(minutes=2)
    ident = parked(home)
    begun(home, "decline" if how == "declined" else "approve", ident, late)
    if how == "done":
        assert home.proposals.approve(ident, "owner", home.ledger.clock()).good
    elif how == "declined":
        assert home.proposals.decline(ident, "", home.ledger.clock()).good
    else:
        approved(home, ident, late)
    home.close()
    again, wanted = opened(root), ("failed", "k1", False) if how == "not begun" else ("done", "k1", True)
    assert again.proposals.get(ident)
    assert acts(again)[1:] == [wanted]
    again.close()
    assert opened(root).proposals.get(ident)
    assert len(acts(opened(root))) == 2


def test_an_answer_that_a_living_process_may_be_giving_is_left_to_it(root: Path):
    home = opened(root)
    ident = parked(home)
    begun(home, "approve", ident, timedelta(seconds=5))
    home.close()
    again = opened(root)
    assert again.proposals.get(ident)
    assert acts(again) == [("approve", "k1", None)]
