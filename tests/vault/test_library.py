"""A home's notes as a whole: what of the past a reader who may not see everything is shown."""

from pathlib import Path

import pytest

from quorra.access.window import Window
from quorra.settings import Settings
from quorra.vault.library import Library, NoNote
from quorra.vault.texts import Texts
from tests.ledger.places import git, opened, repository

MIRA = Window(("household", "member:mira"))
NOTE = b"# A note\n\nWhat there is to say of it.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = repository(tmp_path / "home", {"vault/household/boiler.md": NOTE})
    save(root, "Tom's diary", {"members/tom/diary.md": NOTE})
    save(root, "Both at once", {"household/boiler.md": NOTE + b"\n1.5 bar.\n", "members/tom/diary.md": NOTE * 2})
    save(root, "The boiler again", {"household/boiler.md": NOTE + b"\n1.6 bar.\n"})
    git(root, "commit", "-q", "--allow-empty", "-m", "About the surprise")
    return root


@pytest.fixture
def library(root: Path) -> Library:
    return Library(Texts(opened(root, roots=("vault", "facts")), Settings(home=root)))


def save(root: Path, subject: str, files: dict[str, bytes | None]) -> None:
    for path, content in files.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", subject)


def subjects(library: Library, name: str | None, view: Window, limit: int = 20) -> list[str]:
    return [entry.subject for entry in library.log(name, limit, view)]


@pytest.mark.parametrize(
    "name",
    [
        "members/tom/diary.md",
        "./members/tom/diary.md",
        "household/../members/tom/diary.md",
        "members//tom/diary.md",
        "/vault/members/tom/diary.md",
        "/../home/vault/members/tom/diary.md",
        "household/gone",
    ],
)
def test_another_members_past_has_no_name(library: Library, name: str):
    for ask in (lambda: library.log(name, 20, MIRA), lambda: library.read(f"{name}@HEAD", MIRA)):
        with pytest.raises(NoNote):
            ask()


@pytest.mark.parametrize("name", ["household/../household/boiler.md", "./household/boiler", "household//boiler.md"])
def test_a_winding_name_is_none_for_anybody(library: Library, name: str):
    for ask in (
        lambda: library.log(name, 20, Window()),
        lambda: library.read(name, Window()),
        lambda: library.read(f"{name}@HEAD", Window()),
        lambda: library.links(name, Window()),
        lambda: library.check([name], Window()),
    ):
        with pytest.raises(NoNote):
            ask()


def test_a_commit_shows_only_where_all_that_it_touched_may_be_seen(library: Library):
    assert subjects(library, "household/boiler", MIRA) == ["The boiler again", "start"]
    assert subjects(library, None, MIRA) == ["The boiler again", "start"]
    assert subjects(library, None, MIRA, limit=1) == ["The boiler again"]
    assert subjects(library, "household/boiler", Window()) == ["The boiler again", "Both at once", "start"]
    assert subjects(library, None, Window())[0] == "About the surprise"


def test_a_note_out_of_a_members_folder_does_not_bring_its_past_along(root: Path, library: Library):
    git(root, "mv", "vault/members/tom/diary.md", "vault/household/diary.md")
    git(root, "commit", "-q", "-m", "Tom shows it")
    save(root, "Now everybody's", {"household/diary.md": NOTE})
    assert subjects(library, "household/diary", MIRA) == ["Now everybody's"]


def test_a_merge_counts_with_what_it_brought_from_either_side(root: Path, library: Library):
    git(root, "switch", "-q", "-c", "toms")
    save(root, "Tom alone", {"members/tom/other.md": NOTE})
    git(root, "switch", "-q", "main")
    save(root, "The attic", {"household/attic.md": NOTE})
    git(root, "merge", "-q", "-m", "Take in what Tom planned", "toms")
    assert subjects(library, None, MIRA, limit=2) == ["The attic", "The boiler again"]


def test_the_owner_may_ask_for_a_note_that_is_gone(root: Path, library: Library):
    save(root, "Away with it", {"household/boiler.md": None})
    for name in ("household/boiler", "household/boiler.md"):
        assert subjects(library, name, Window(), limit=1) == ["Away with it"]
    with pytest.raises(NoNote):
        library.log("household/boiler", 20, MIRA)
