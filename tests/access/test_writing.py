"""Writing a note by name: which names are taken, which are not, and what a refusal says."""

import os
import unicodedata
from pathlib import Path

import pytest

from quorra.access import gate
from quorra.access.changes import writing
from quorra.access.changes.writing import BadName
from quorra.access.planned import Written
from quorra.ledger.change import Origin
from quorra.settings import Settings, Vault
from quorra.vault.library import Library
from quorra.vault.texts import Texts
from tests.ledger.places import git, opened, repository, sound

OWNER = Origin("owner", "test", "")
NOTE = b"# Attic\n\nWhat lies in the attic.\n"
COMPOSED, APART = (unicodedata.normalize(form, "garten/bäume.md") for form in ("NFC", "NFD"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "home", {"quorra.toml": b"", "household/attic.md": NOTE, COMPOSED: NOTE})


@pytest.fixture
def library(root: Path) -> Library:
    ledger = opened(root, roots=("", "facts"))
    return Library(Texts(ledger, Settings(home=root, vault=Vault(path="."))))


def wrote(library: Library, name: str, content: bytes = NOTE, expect: str | None = None) -> Written:
    return gate.carry(writing.plan(library, name, content, OWNER, expect), OWNER.principal, library.texts)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("Household/Attic", "household"),
        ("household/ATTIC", "household/attic.md"),
        ("Household/new", "household"),
        (APART, COMPOSED),
        ("unsaved/N", "unsaved/n.md"),
    ],
)
def test_a_new_note_that_doubles_another_is_refused(root: Path, library: Library, name: str, there: str):
    (root / "unsaved").mkdir()
    (root / "unsaved/n.md").write_bytes(NOTE)
    done = wrote(library, name)
    assert (done.outcome, done.code) == ("refused", "double")
    assert there in (done.reason or "")
    assert "Spell it the same way" in (done.next or "")
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"
    assert not (root / name).exists() or os.path.samefile(root / name, root / there)


@pytest.mark.parametrize("name", ["household/attic", "household/attics", "new/attic", COMPOSED, "household/attic.md"])
def test_a_note_of_its_own_name_is_written(root: Path, library: Library, name: str):
    assert wrote(library, name, NOTE + b"\nMore of it.\n").outcome == "applied"
    sound(root)


def test_a_folder_that_is_there_in_two_spellings_still_takes_notes(root: Path, library: Library):
    (root / "Household").mkdir()
    (root / "Household/cellar.md").write_bytes(NOTE)
    assert wrote(library, "Household/new").outcome == "applied"
    assert wrote(library, "household/other").outcome == "applied"
    assert wrote(library, "household/New").code == "double"


@pytest.mark.parametrize("name", ["", ".hidden", "a/.b", "a//b", "/etc/passwd", "../x", "a/../b", "a\nb", "a\0b", "a/"])
def test_what_is_no_name_is_said(library: Library, name: str):
    with pytest.raises(BadName) as told:
        wrote(library, name)
    assert told.value.next


@pytest.mark.parametrize("name", ["household/👨\u200d👩\u200d👧", "household/می\u200cخواهم"])
def test_signs_that_join_letters_belong_to_a_name(library: Library, name: str):
    assert wrote(library, name).outcome == "applied"


def test_a_name_too_long_for_a_file_is_refused(root: Path, library: Library):
    done = wrote(library, "household/" + "ü" * 300)
    assert (done.outcome, done.code) == ("refused", "path")
    assert done.next
    sound(root)


def test_a_stale_write_says_what_to_do(library: Library):
    done = wrote(library, "household/attic", expect="0" * 40)
    assert (done.outcome, bool(done.reason), bool(done.next)) == ("stale", True, True)


def test_nothing_is_read_or_written_through_a_link(root: Path, library: Library, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(b"# Secret\n\nNobody should see this text.\n")
    (root / "door").symlink_to(outside)
    (root / "pane.md").symlink_to(outside / "secret.md")
    for name in ("door/secret", "door/new", "pane"):
        assert library.texts.now(f"{name}.md") is None
        with pytest.raises(BadName, match="leads out of the vault"):
            wrote(library, name)
    assert not {"door/secret.md", "pane.md"} & library.texts.places().keys()
    assert [file.name for file in outside.iterdir()] == ["secret.md"]


def test_a_pipe_in_the_vault_stops_nobody(root: Path, library: Library):
    os.mkfifo(root / "household/pipe.md")
    (root / "household/attic.md").unlink()
    os.mkfifo(root / "household/attic.md")
    assert "household/pipe.md" not in library.texts.places()
    assert library.texts.now("household/pipe.md") is None
    assert wrote(library, "household/pipe").outcome == "refused"
    assert wrote(library, "household/attic").outcome == "refused"
    assert wrote(library, "household/fine").outcome == "applied"
