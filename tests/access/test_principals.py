"""Who may be speaking, what their windows show, and which tools they may use."""

import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quorra.access.decision import Allowed, Denied, decide
from quorra.access.principals import (
    AnonymousPrincipal,
    AuthenticatedPrincipal,
    People,
    Principal,
    ReservationPrincipal,
    named,
    opened,
)
from quorra.access.window import UnknownPrincipal, Window
from tests.conftest import ROOT

ENDS = datetime(2026, 12, 24, 11, tzinfo=UTC)
GUEST = ReservationPrincipal("r1", "Lake-House", ENDS)
KNOWN = {"household", "member:mira", "guest:lake-house"}
OWNER, MIRA = AuthenticatedPrincipal("owner"), AuthenticatedPrincipal("member:mira")


@pytest.mark.parametrize("name", ["mira", "Mira", "member:mira", "member:MIRA"])
def test_a_member_has_one_id_however_they_are_named(name: str):
    assert named(name) == MIRA


def test_nobody_becomes_the_owner_by_spelling():
    assert named("owner") == OWNER
    assert [named(name).id for name in ("Owner", "member:owner", " owner")] == [
        "member:owner",
        "member:owner",
        "member: owner",
    ]


def test_each_principal_sees_its_own_window():
    before, after = ENDS - timedelta(seconds=1), ENDS
    assert opened(OWNER, KNOWN, after) == Window(None)
    assert opened(MIRA, KNOWN, after) == Window(("household", "member:mira"))
    assert opened(GUEST, KNOWN, before) == Window(("guest:lake-house",))
    assert opened(GUEST, KNOWN, after) == Window(())
    assert opened(AnonymousPrincipal(), KNOWN, before) == Window(())
    with pytest.raises(UnknownPrincipal):
        opened(AuthenticatedPrincipal("member:tom"), KNOWN, before)


def test_a_guests_window_holds_no_note_of_the_house():
    window = opened(GUEST, KNOWN, ENDS - timedelta(days=1))
    for path in ("household/bins.md", "members/mira/kite.md", "/facts/household.md", "workspaces/lake-house/a.md"):
        assert not window.sees(path)


@pytest.mark.parametrize("tier", [0, 1, 2])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize(
    ("principal", "may"),
    [
        (OWNER, lambda tier, writes: True),
        (MIRA, lambda tier, writes: not writes),
        (GUEST, lambda tier, writes: tier == 0 and not writes),
        (AnonymousPrincipal(), lambda tier, writes: False),
        (AuthenticatedPrincipal("Owner"), lambda tier, writes: False),
    ],
    ids=["owner", "member", "guest", "nobody", "not the owner"],
)
def test_what_is_not_known_to_be_allowed_is_denied(principal: Principal, may, tier, writes: bool):
    found = decide(principal, tier=tier, writes=writes)
    assert isinstance(found, Allowed if may(tier, writes) else Denied)


@pytest.mark.parametrize("tier", [3, -1, None, "0"])
def test_there_are_no_other_tiers_and_no_other_principals(tier):
    assert isinstance(decide(OWNER, tier=tier, writes=False), Denied)
    for nobody in (None, "owner", object(), AuthenticatedPrincipal(""), AuthenticatedPrincipal("reservation:r1")):
        assert isinstance(decide(nobody, tier=0, writes=False), Denied)  # type: ignore[arg-type]


def test_people_are_found_by_the_whole_address_or_the_subject():
    people = People({"mira@home.example": "mira", "sub:248": "owner", "sub:a@b": "owner"})
    assert people.by_email(" Mira@Home.Example ") == MIRA
    assert people.by_subject("248") == OWNER
    assert [people.by_email(text) for text in ("sub:248", "sub:a@b", "248", "", "home.example")] == [None] * 5
    assert people.by_subject("mira@home.example") is None


def test_a_guest_carries_nothing_that_names_the_owner():
    assert {field.name for field in fields(GUEST)} == {"reservation", "workspace", "ends"}
    assert not hasattr(GUEST, "id")


def test_a_guest_fits_nothing_that_asks_for_somebody_of_the_home(tmp_path: Path):
    code = tmp_path / "call.py"
    code.write_text(
        "from datetime import datetime\n"
        "from quorra.access.principals import AnonymousPrincipal, AuthenticatedPrincipal, ReservationPrincipal\n"
        "def own(who: AuthenticatedPrincipal) -> str:\n    return who.id\n"
        "guest = ReservationPrincipal('r', 'w', datetime.now())\n"
        "own(guest)\nown(AnonymousPrincipal())\nguest.id\nown(AuthenticatedPrincipal('owner'))\n",
        encoding="utf-8",
    )
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path),
        str(code),
    ]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    lines = [line.split(":")[1] for line in found.stdout.splitlines() if ": error:" in line]
    assert lines == ["6", "7", "8"], found.stdout + found.stderr
