"""Writing notes by tool: new ones at once, over others only when asked for, arguments settled."""

from collections.abc import Callable
from typing import Any

import pytest

from quorra.access.window import Window
from tests.agent.tools.conftest import Desk
from tests.ledger.places import git

TEXT = "The pump stands behind the shed."


def wrote(desk: Desk, **given: Any) -> str:
    """Writes a note and gives its path."""
    done = desk.call("document", **{"text": TEXT, **given})
    assert done.ok, done.text
    assert done.commit
    assert done.text.startswith(f'"{done.targets[0]}": ')
    return done.targets[0]


def test_a_new_note_is_written_and_found(desk: Desk):
    path = wrote(
        desk, title="Garden pump", folder="household", tags=["water"], summary="Where the pump is.",
        entities=["[[shed]]"], type="device", reason="Tom asked for it",
    )  # fmt: skip
    assert path == "household/garden-pump.md"
    told = desk.text("household/garden-pump")
    for part in ("title: Garden pump", "tags: [water]", "entities: [household/shed]", "type: device", "author: Quorra"):
        assert part in told
    log = git(desk.home.settings.home, "log", "-1", "--format=%B")
    assert "Tom asked for it" in log
    assert "Quorra-Tool: document" in log
    assert path in [hit.path for hit in desk.call("search_knowledge_base", question="garden pump").hits]


def test_what_is_there_is_not_overwritten_but_asked_for(desk: Desk):
    before = desk.text("household/boiler")
    done = desk.call("document", path="household/boiler.md", title="The Boiler", text="The pressure is 2 bar.")
    assert (done.ok, done.commit) == (True, None)
    assert done.proposal
    assert f"waits as proposal {done.proposal} until a person approves it" in done.text
    assert desk.text("household/boiler") == before


def test_a_title_that_is_taken_says_how_to_go_on(desk: Desk):
    wrote(desk, title="Garden pump", folder="household")
    again = desk.call("document", title="Garden pump", folder="household", text="Other words.")
    assert not again.ok
    assert '"household/garden-pump.md" is there already' in again.text
    asked = desk.call("document", title="Garden pump", path="household/garden-pump.md", text="Other words.")
    assert asked.proposal


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"path": "household/garden-pump"}, "household/garden-pump.md"),
        ({"path": "garden-pump.md", "folder": "household"}, "household/garden-pump.md"),
        ({"path": "household/garden-pump.md", "folder": "members/tom"}, "household/garden-pump.md"),
        ({"path": "household/Garden Pump.md"}, "household/garden-pump.md"),
        ({"path": "vault/household/garden-pump.md"}, "household/garden-pump.md"),
        ({"path": "/household/garden-pump.md"}, "household/garden-pump.md"),
        ({"path": "[[household/garden-pump]]"}, "household/garden-pump.md"),
        ({"path": "Household/garden-pump.md"}, "household/garden-pump.md"),
        ({"path": "household/", "title": "Garden pump"}, "household/garden-pump.md"),
        ({"path": "household", "title": "Garden pump"}, "household/garden-pump.md"),
        ({"path": None, "folder": "HOUSEHOLD/", "title": "Garden pump"}, "household/garden-pump.md"),
        ({"folder": "household", "text": f"# Garden pump\n\n{TEXT}"}, "household/garden-pump.md"),
        ({"folder": "household", "text": f"---\ntitle: Garden pump\n---\n{TEXT}"}, "household/garden-pump.md"),
        ({"folder": "garden/tools", "title": "Garden pump"}, "garden/tools/garden-pump.md"),
        ({"title": "Garden pump", "folder": "null"}, "garden-pump.md"),
    ],
)
def test_where_it_goes_is_settled(desk: Desk, given: dict[str, Any], path: str):
    assert wrote(desk, **given) == path
    assert "title: Garden pump" in desk.text(path.removesuffix(".md"))


def test_without_a_folder_the_inbox_is_taken_where_there_is_one(desk: Desk, write: Callable[..., None]):
    write(desk, "inbox/first", "# First\n\nSomething.\n")
    done = desk.call("document", title="Garden pump", text=TEXT)
    assert done.targets == ("inbox/garden-pump.md",)
    assert '(No folder was given; "inbox" was taken.)' in done.text


@pytest.mark.parametrize(
    "tags", [["water", "garden"], "water, garden", '["water", "garden"]', ["#water", "garden", ""]]
)
def test_tags_are_settled(desk: Desk, tags: object):
    wrote(desk, title="Garden pump", folder="household", tags=tags, entities=None, summary=None, type="")
    assert "tags: [water, garden]" in desk.text("household/garden-pump")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"title": "Pump", "text": ""}, "text is empty"),
        ({"text": "words alone", "folder": "household"}, "Give title"),
        ({"title": "...", "folder": "household"}, "holds no letter or digit"),
        ({"title": "Pump", "path": "../out.md"}, "leads upwards"),
        ({"title": "Pump", "path": "household/.hidden/pump.md"}, "begins with a dot"),
        ({"title": "Pump", "path": "/facts/household.md"}, "begins with a slash"),
        ({"title": "Pump", "folder": "household", "entities": ["nobody"]}, 'There is no note "nobody"'),
        ({"title": "Pump", "folder": "household", "text": "<<<<<<< a\nx\n=======\ny\n>>>>>>> b"}, "merge conflict"),
    ],
)
def test_what_can_not_be_written_says_what_to_change(desk: Desk, given: dict[str, Any], told: str):
    before = git(desk.home.settings.home, "rev-parse", "HEAD")
    done = desk.call("document", **{"text": TEXT, **given})
    assert not done.ok
    assert told in done.text
    assert "quorra " not in done.text
    assert git(desk.home.settings.home, "rev-parse", "HEAD") == before
    assert git(desk.home.settings.home, "status", "--short") == ""


def test_what_the_validator_finds_comes_in_words(desk: Desk):
    done = desk.call("document", title="Pump", folder="household", text="We saw it last week. See [[nowhere]].")
    assert done.ok
    assert "warning, line" in done.text
    assert "write the date" in done.text
    assert "nowhere leads to no file" in done.text


@pytest.mark.parametrize("tool", ["document", "organize"])
def test_nobody_else_writes(desk: Desk, tool: str):
    given = {"title": "Pump", "text": TEXT, "operations": [{"op": "delete", "src": "household/shed"}]}
    before = git(desk.home.settings.home, "rev-parse", "HEAD")
    for who, window in (("member:mira", None), ("owner", Window(("member:tom",))), ("member:mira", Window(None))):
        assert not desk.call(tool, who, window, **given).ok
    assert git(desk.home.settings.home, "rev-parse", "HEAD") == before
    assert desk.home.proposals.box.every() == ()


def test_where_others_listen_the_owner_writes_what_is_in_view_and_hears_of_nothing_else(desk: Desk):
    household = Window(("household",))
    text = "It leads to [[members/tom/diary]] and [[members/tom/nothing]]."
    done = desk.call("document", "owner", household, title="Pump", folder="household", text=text)
    assert done.ok
    assert "tom" not in done.text
    refused = desk.call("document", "owner", household, path="members/tom/new.md", text=TEXT)
    assert not refused.ok
    assert "out of view" in refused.text


@pytest.mark.parametrize("path", ["/prompts/base.md", "/PROMPTS/base.md", "/evals/boiler.md", "/.quorra/audit.log"])
def test_what_counts_from_the_homes_root_is_no_path_of_a_note(desk: Desk, path: str):
    before = git(desk.home.settings.home, "rev-parse", "HEAD")
    done = desk.call("document", path=path, text=TEXT)
    assert (done.ok, done.commit, done.proposal) == (False, None, None)
    moved = desk.call("organize", operations=[{"op": "move", "src": "household/shed.md", "dst": path}])
    assert (moved.ok, moved.proposal) == (False, None)
    assert git(desk.home.settings.home, "rev-parse", "HEAD") == before
    assert wrote(desk, path="/household/tap.md") == "household/tap.md"
