"""Whose a note is, however its folder is spelled, and what a window opens."""

import unicodedata
from pathlib import Path

import pytest

from quorra.access import window
from quorra.access.window import UnknownPrincipal, Window, domain
from quorra.settings import Settings
from quorra.vault.library import Library
from quorra.vault.texts import Texts
from tests.ledger.places import opened, repository

NOTE = b"# Cap\n\nWhat there is to say of the cap.\n"
APART = unicodedata.normalize("NFD", "members/zoë/cap.md")


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("members/tom/cap.md", "member:tom"),
        ("Members/Tom/cap.md", "member:tom"),
        ("MEMBERS/TOM.MD", "member:tom"),
        ("member\u017f/tom/cap.md", "member:tom"),
        (APART, "member:zoë"),
        ("Workspaces/House/cap.md", "workspace:house"),
        ("/facts/Members/Tom.md", "member:tom"),
        ("household/members/tom.md", "household"),
        ("Members.md", "household"),
        ("remembers/tom/cap.md", "household"),
    ],
)
def test_a_notes_owner_does_not_hang_on_its_spelling(path: str, owner: str):
    assert domain(path) == owner


def test_a_member_is_known_by_any_spelling():
    known = {"household", "member:tom", "member:zoë"}
    assert window.of("Tom", known) == window.of("tom", known) == Window(("household", "member:tom"))
    assert window.of(unicodedata.normalize("NFD", "Zoë"), known).domains == ("household", "member:zoë")
    assert Window().narrowed(["Member:Tom"], known) == Window(("member:tom",))
    with pytest.raises(UnknownPrincipal):
        window.of("mira", known)


def test_a_folder_that_is_taken_for_another_is_closed_and_told_of(tmp_path: Path):
    root = repository(tmp_path / "home", {"vault/Members/Tom/cap.md": NOTE, "vault/members/tom/hat.md": NOTE})
    texts = Texts(opened(root, roots=("vault", "facts")), Settings(home=root))
    library = Library(texts)
    assert {domain(path) for path in texts.owned()} == {"member:tom"}
    found = library.check([], Window())
    assert [(issue.path, issue.code) for issue in found.issues] == [("Members/Tom/cap.md", "folder-spelling")]
    assert "Members/ is taken for members/" in found.issues[0].message
    assert library.check([], Window(("household", "member:mira"))).notes == 0
