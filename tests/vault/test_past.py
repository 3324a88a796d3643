"""What of the past somebody is shown: text that lay in their view then and has not left it since."""

from pathlib import Path

import pytest

from quorra.access.window import Window
from quorra.ledger.history import UnknownRevision
from quorra.settings import Settings
from quorra.vault import past
from quorra.vault.library import Library, NoNote
from quorra.vault.texts import Texts
from tests.ledger.places import git, opened, repository

TOM = Window(("household", "member:tom"))
PLAN = "# Plans\n\nThe surprise party is on the ninth of May.\nBalloons are ordered.\n"
OTHER = "# Plans\n\nNothing is planned.\n"
LIST = "# List\n\n- milk\n- the code of the safe is 4711\n"


class Home:
    """A repository whose notes are edited and committed by hand."""

    def __init__(self, root: Path) -> None:
        self.root = repository(root, {"vault/household/plans.md": PLAN.encode(), "vault/household/list.md": b"# List"})
        self.texts = Texts(opened(self.root, roots=("vault", "facts")), Settings(home=self.root))
        self.write("household/list.md", LIST)
        self.write("members/mira/diary.md", "# Diary\n\nThe cat is ill.\n")
        self.commit()
        git(self.root, "tag", "then")

    def write(self, name: str, text: str) -> None:
        file = self.root / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def move(self, old: str, new: str) -> None:
        file = self.root / "vault" / new
        file.parent.mkdir(parents=True, exist_ok=True)
        (self.root / "vault" / old).rename(file)

    def commit(self) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "by hand")

    def shown(self, view: Window = TOM) -> set[str]:
        """Names the files that may be seen of the tag."""
        return {name for name in past.at(self.texts, "then", view).places() if view.sees(name)}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_the_past_is_what_lay_in_the_view(home: Home):
    assert home.shown() == {"household/plans.md", "household/list.md"}
    assert home.shown(Window()) == {"household/plans.md", "household/list.md", "members/mira/diary.md"}
    assert past.at(home.texts, "then", Window()).hidden == frozenset()


@pytest.mark.parametrize("how", ["two commits", "one commit", "no commit", "edited in two commits"])
def test_a_note_that_became_private_is_hidden_behind_the_one_in_its_place(home: Home, how: str):
    home.move("household/plans.md", "members/mira/plans.md")
    if "edited" in how:
        home.write("members/mira/plans.md", "Wholly other words.")
    if "two" in how:
        home.commit()
    home.write("household/plans.md", OTHER)
    if how != "no commit":
        home.commit()
    assert home.shown() == {"household/list.md"}
    with pytest.raises(NoNote):
        Library(home.texts).read("household/plans@then", TOM)
    assert Library(home.texts).read("household/plans@then", Window()).note.text == PLAN


def test_a_note_that_was_private_then_stays_so(home: Home):
    home.move("members/mira/diary.md", "household/diary.md")
    home.commit()
    assert home.shown() == {"household/plans.md", "household/list.md"}


def test_a_note_that_was_edited_where_it_lies_is_shown(home: Home):
    home.write("household/plans.md", OTHER)
    home.commit()
    home.write("household/plans.md", "# Plans\n\nAll is new here.\n")
    assert "household/plans.md" in home.shown()
    assert Library(home.texts).read("plans", TOM, at="then").note.text == PLAN


def test_a_line_that_became_private_hides_the_note_it_stood_in(home: Home):
    home.write("household/list.md", LIST.replace("- the code of the safe is 4711\n", ""))
    home.write("members/mira/codes.md", "# List\n\n* the code of the safe is 4711\n")
    home.commit()
    assert home.shown() == {"household/plans.md"}


def test_headings_and_dates_alone_hide_nothing(home: Home):
    home.write("household/list.md", "---\nupdated: 2026-11-30\n---\n\nAll was bought.\n")
    home.write("members/mira/other.md", "---\nupdated: 2026-11-01\n---\n# List\n\n---\n")
    home.commit()
    assert "household/list.md" in home.shown()


def test_a_note_that_moved_inside_the_view_is_shown_as_long_as_all_its_lines_are_there(home: Home):
    home.move("household/plans.md", "household/old/plans.md")
    assert "household/plans.md" in home.shown()
    home.write("household/old/plans.md", PLAN + "\nCakes too.\n")
    home.commit()
    assert "household/plans.md" in home.shown()
    home.write("household/old/plans.md", OTHER)
    assert "household/plans.md" not in home.shown()


def test_a_note_that_is_gone_is_hidden_from_all_but_the_owner(home: Home):
    (home.root / "vault/household/plans.md").unlink()
    assert home.shown() == {"household/list.md"}
    assert "household/plans.md" in home.shown(Window())


def test_a_proposal_or_another_branch_is_the_owners_alone(home: Home):
    git(home.root, "checkout", "-q", "-b", "other")
    home.write("household/plans.md", OTHER)
    home.commit()
    git(home.root, "checkout", "-q", "main")
    assert past.at(home.texts, "other", Window()).commit
    with pytest.raises(UnknownRevision):
        past.at(home.texts, "other", TOM)
    git(home.root, "merge", "-q", "--ff-only", "other")
    assert past.at(home.texts, "other", TOM).commit


def test_only_the_owner_names_a_revision_by_what_its_message_says(home: Home):
    word = git(home.root, "log", "-1", "--format=%s").split()[0]
    for revision in (f":/{word}", f"HEAD^{{/{word}}}"):
        assert past.at(home.texts, revision, Window()).commit
        with pytest.raises(UnknownRevision):
            past.at(home.texts, revision, TOM)


def test_a_revision_that_is_none(home: Home):
    for revision in ("", "never", "HEAD~9", "then\n", "--all"):
        with pytest.raises(UnknownRevision):
            past.at(home.texts, revision, TOM)
