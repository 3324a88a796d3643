"""Reorganizing by tool: simulated, told in words, parked, and never done when called."""

import json
from typing import Any

import pytest

from tests.agent.tools.conftest import Desk
from tests.ledger.places import git

MOVE = {"op": "move", "src": "household/shed.md", "dst": "garden/shed.md"}


def steps(desk: Desk, given: Any) -> list[tuple[str, str, str]]:
    """Organizes, and gives the operations as they were kept."""
    before = git(desk.home.settings.home, "rev-parse", "HEAD")
    done = desk.call("organize", operations=given)
    assert done.ok, done.text
    assert done.proposal
    assert git(desk.home.settings.home, "rev-parse", "HEAD") == before
    assert git(desk.home.settings.home, "status", "--short") == ""
    kept = desk.home.proposals.box.get(done.proposal).payload["operations"]
    return [(step["op"], step["src"], step["dst"]) for step in kept]


def test_what_it_would_do_is_told_and_waits(desk: Desk):
    done = desk.call("organize", operations=[MOVE], reason="It belongs there")
    assert f"waits as proposal {done.proposal} until a person approves it" in done.text
    assert '"household/shed.md" -> "garden/shed.md"' in done.text
    assert '1 link spelled anew in "garden/shed.md"' in done.text
    assert "Links that lead nowhere: 0 before, 0 after." in done.text
    assert done.proposal
    item = desk.home.proposals.box.get(done.proposal)
    assert (item.reason, item.state) == ("It belongs there", "draft_ready")


@pytest.mark.parametrize("given", [[MOVE], MOVE, json.dumps([MOVE]), json.dumps(MOVE), {"operations": [MOVE]}])
def test_one_operation_needs_no_list(desk: Desk, given: Any):
    assert steps(desk, given) == [("move", "household/shed.md", "garden/shed.md")]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"op": "rename", "src": "household/shed.md", "dst": "tool-shed"}, ("rename", "household/tool-shed")),
        ({"op": "ren", "path": "shed", "new_name": "tool-shed.md"}, ("rename", "household/tool-shed.md")),
        ({"op": "Rename", "src": "[[shed]]", "to": "household/tool-shed"}, ("rename", "household/tool-shed")),
        ({"op": "mv", "from": "Shed", "to": "members"}, ("move", "members/shed.md")),
        ({"op": "move", "src": "household/shed.md:3", "dst": "garden/"}, ("move", "garden/shed.md")),
        (
            {"operation": "move", "source": "vault/household/shed", "destination": "/garden/shed"},
            ("move", "garden/shed"),
        ),
        ({"op": "promote", "src": "shed", "dst": None}, ("promote_to_folder", "")),
    ],
)
def test_words_and_names_are_settled(desk: Desk, given: Any, taken: tuple[str, str]):
    ((op, src, dst),) = steps(desk, given)
    assert src.removesuffix(".md") == "household/shed"
    assert (op, dst) == taken


def test_a_step_may_be_about_what_an_earlier_one_made(desk: Desk):
    given = [
        {"op": "mkdir", "path": "garden"},
        {"op": "move", "src": "shed", "dst": "garden"},
        {"op": "rename", "src": "garden/shed.md", "dst": "tool-shed.md"},
        {"op": "move", "src": "household", "dst": "home"},
    ]
    assert steps(desk, given) == [
        ("create_folder", "garden", ""),
        ("move", "household/shed.md", "garden/shed.md"),
        ("rename", "garden/shed.md", "garden/tool-shed.md"),
        ("move", "household", "home"),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "there is no operation"),
        ("tidy up", "is no operation"),
        ([{"op": "burn", "src": "shed"}], 'there is no op "burn"'),
        ([{"op": "move", "src": "shed"}], "move needs src and dst"),
        ([{"op": "delete"}], "delete needs src"),
        ([{"op": "move", "src": "houshold/shd.md", "dst": "a/b"}], 'Near it by name: "household/shed.md"'),
        ([{"op": "move", "src": "quinquereme", "dst": "a/b"}], 'The folders are: "household"'),
        ([{"op": "move", "src": "diary", "dst": "a/b"}], "Give the whole path of one"),
        ([{"op": "delete", "src": "shed"}], "only a dead or empty note"),
        ([{"op": "move", "src": "shed", "dst": "household/boiler.md"}], "household/boiler.md is there"),
        ([{"op": "move", "src": "shed", "dst": "../out.md"}], "no path in the vault"),
    ],
)
def test_what_can_not_be_done_says_what_to_change(desk: Desk, given: Any, told: str):
    done = desk.call("organize", operations=given)
    assert (done.ok, done.proposal) == (False, None)
    assert told in done.text
    assert desk.home.proposals.box.every() == ()
