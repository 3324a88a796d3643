"""Documenting: what is new is written at once, what would overwrite is asked for, and nothing leaves its folder."""

from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.access.changes.documenting import Draft
from quorra.access.changes.writing import BadName
from quorra.access.planned import Written
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.vault.writing.compose import Fields
from tests.ledger.places import git

TEXT = b"The pump of the cellar was replaced on 2026-11-02.\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    homes.create(tmp_path / "home", empty=True)
    found = Home.open(settings.read(tmp_path / "home"))
    for name in ("household/boiler", "workspaces/rental/keys", "workspaces/other/plan"):
        found.changes.write(name, b"# There\n\nWhat stood here before.\n", Origin("owner", "test", ""))
    return found


def wrote(home: Home, path: str, title: str = "The pump", tool: str | None = "document", **more: str) -> Written:
    draft = Draft(path, Fields(title=title), TEXT, more.pop("within", ""))
    return home.changes.document(draft, Origin(more.pop("principal", "owner"), "test", "", tool=tool), **more)  # type: ignore[arg-type]


def count(home: Home) -> int:
    return int(git(home.settings.home, "rev-list", "--count", "HEAD"))


def test_a_new_note_is_applied_and_names_its_writer(home: Home):
    done = wrote(home, "household/")
    assert done.outcome == "applied"
    found = home.library.read("household/the-pump", home.window("owner", None)).note
    assert found.metadata["author"] == "Quorra"
    assert "Quorra-Tool: document" in git(home.settings.home, "log", "-1", "--format=%B")


def test_a_person_is_named_as_the_home_names_them(home: Home):
    assert wrote(home, "household/pump", tool=None).outcome == "applied"
    found = home.library.read("household/pump", home.window("owner", None)).note
    assert found.metadata["author"] == home.settings.owner.name


def test_what_a_tool_would_overwrite_waits_and_meets_other_hands(home: Home):
    before = count(home)
    file = home.settings.home / "vault/household/boiler.md"
    file.write_bytes(b"---\nkept: yes # really\n---\n# There\n\nWhat stood here before.\n")
    done = wrote(home, "household/boiler")
    assert (done.outcome, count(home)) == ("parked", before)
    assert done.proposal
    file.write_bytes(file.read_bytes().replace(b"really", b"really so"))
    assert home.proposals.show(done.proposal).planned
    assert home.proposals.approve(done.proposal, "owner", home.ledger.clock()).outcome == "applied"
    text = file.read_text()
    assert text.startswith("---\nkept: yes # really so\ntitle: The pump\nupdated: ")
    assert text.endswith("# The pump\n\n" + TEXT.decode())


def test_an_owner_overwrites_only_what_they_read(home: Home):
    before = count(home)
    refused = wrote(home, "household/boiler", tool=None)
    assert (refused.outcome, refused.code, count(home)) == ("refused", "taken", before)
    assert "household/boiler.md" in (refused.reason or "")
    assert "--expect" in (refused.next or "")
    stale = wrote(home, "household/boiler", tool=None, expect="0" * 40)
    assert (stale.outcome, count(home)) == ("stale", before)
    blob = home.library.read("household/boiler", home.window("owner", None)).blob
    assert wrote(home, "household/boiler", tool=None, expect=blob).outcome == "applied"


@pytest.mark.parametrize("tool", ["document", None])
def test_a_title_whose_name_is_taken_overwrites_nothing(home: Home, tool: str | None):
    assert wrote(home, "household/", title="Pumps").outcome == "applied"
    for title in ("Pumps", "pumps!", "Pümps"):
        done = wrote(home, "household/", title=title, tool=tool)
        assert (done.outcome, done.code) == ("refused", "taken")
        assert "household/pumps.md" in (done.reason or "")
    draft = Draft("household/", Fields(title="Pumps"), TEXT)
    assert home.changes.document(draft, Origin("owner", "test", ""), propose=True).code == "taken"


def test_a_tool_names_new_notes_in_kebab_case(home: Home):
    with pytest.raises(BadName, match="kebab-case") as told:
        wrote(home, "household/The Pump")
    assert told.value.next == "Write it as household/the-pump.md"
    assert wrote(home, "household/The Pump", tool=None).outcome == "applied"
    assert wrote(home, "household/The Pump").outcome == "parked"


@pytest.mark.parametrize(
    "name", ["../other/plan", "/etc/passwd", "a/../../x", "", "///", "door/x", "pane", "..", "a\0"]
)
def test_nothing_leaves_the_folder_that_it_is_given(home: Home, name: str):
    vault = home.settings.home / "vault"
    (vault / "workspaces/rental/door").symlink_to(vault / "workspaces/other")
    (vault / "workspaces/rental/pane.md").symlink_to(vault / "household/boiler.md")
    before = count(home)
    with pytest.raises(BadName) as told:
        wrote(home, name, within="workspaces/rental")
    assert told.value.message.endswith(".")
    assert told.value.next
    assert count(home) == before


def test_a_link_that_stays_in_the_folder_leads_to_its_place(home: Home):
    vault = home.settings.home / "vault"
    (vault / "workspaces/rental/rooms").mkdir()
    (vault / "workspaces/rental/door").symlink_to("rooms")
    assert wrote(home, "door/", within="workspaces/rental").outcome == "applied"
    assert (vault / "workspaces/rental/rooms/the-pump.md").is_file()
    assert "vault/workspaces/rental/rooms/the-pump.md" in git(home.settings.home, "ls-files")


def test_entities_are_given_as_the_paths_of_the_notes_they_name(home: Home):
    draft = Draft("pump", Fields(title="Pump", entities=("boiler", "[[keys]]", "nowhere")), TEXT)
    done = home.changes.document(draft, Origin("owner", "test", ""))
    found = home.library.read("pump", home.window("owner", None)).note
    assert found.metadata["entities"] == ["household/boiler", "workspaces/rental/keys", "nowhere"]
    assert [issue.code for issue in done.issues] == ["dangling-link"]


def test_a_refusal_counts_the_lines_of_the_text_that_was_given(home: Home):
    before = count(home)
    text = b"\nOne line.\n\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    done = home.changes.document(
        Draft("pump", Fields(title="Pump", summary="A lead."), text), Origin("owner", "test", "")
    )
    assert (done.outcome, count(home)) == ("refused", before)
    assert [(issue.code, issue.line) for issue in done.issues if issue.severity == "error"] == [("conflict-markers", 4)]


def test_who_may_not_write_learns_nothing(home: Home):
    before = count(home)
    done = wrote(home, "household/boiler", principal="member:tom")
    assert (done.outcome, done.issues, count(home)) == ("refused", (), before)
