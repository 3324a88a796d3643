"""Undo knows the folders that a commit made, though git does not."""

import subprocess
from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.access.planned import Written
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.vault.reorg.operation import Operation


@pytest.fixture
def home(tmp_path: Path) -> Home:
    homes.create(tmp_path / "home", empty=True)
    return Home.open(settings.read(tmp_path / "home"))


def tree(home: Home) -> set[str]:
    vault = home.settings.home / "vault"
    return {path.relative_to(vault).as_posix() + "/" * path.is_dir() for path in vault.rglob("*")}


def organize(home: Home, *operations: Operation, **how: bool) -> Written:
    return home.changes.organize(operations, Origin("owner", "test", ""), **how)


def undo(home: Home, revision: str = "HEAD") -> Written:
    return home.changes.undo(revision, Origin("owner", "test", ""))


def test_a_made_folder_is_a_commit_and_goes_and_comes_with_it(home: Home):
    head = home.ledger.head()
    done = organize(home, Operation("create_folder", "attic/left  é"))
    assert done.outcome == "applied"
    assert done.commit != head
    assert tree(home) == {"attic/", "attic/left  é/"}
    assert undo(home, done.commit or "").outcome == "applied"
    assert tree(home) == set()
    assert undo(home).outcome == "applied"
    assert tree(home) == {"attic/", "attic/left  é/"}
    assert undo(home, done.commit or "").outcome == "applied"
    assert undo(home, done.commit or "").code == "nothing"
    status = ["git", "-C", str(home.settings.home), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, check=True).stdout == b""


def test_the_exact_tree_comes_back_after_a_plan(home: Home):
    home.changes.write("shed", b"# Shed\n", Origin("owner", "test", ""))
    organize(home, Operation("create_folder", "here"))
    before = tree(home)
    steps = (
        Operation("create_folder", "attic/left"),
        Operation("create_folder", "here/inside"),
        Operation("move", "shed", "attic/boxes/shed"),
    )
    assert organize(home, *steps).outcome == "applied"
    assert tree(home) - before == {
        "attic/", "attic/left/", "attic/boxes/", "attic/boxes/shed.md", "here/inside/",
    }  # fmt: skip
    assert undo(home).outcome == "applied"
    assert tree(home) == before


def test_a_folder_that_is_used_stays(home: Home):
    done = organize(home, Operation("create_folder", "attic/left"))
    (home.settings.home / "vault/attic/note.md").write_bytes(b"mine\n")
    assert undo(home, done.commit or "").outcome == "applied"
    assert tree(home) == {"attic/", "attic/note.md"}
    again = undo(home, done.commit or "")
    assert (again.outcome, again.reason) == ("stale", "vault/attic is not empty any more.")
    assert again.next == "Move what it holds elsewhere, then undo again."


def test_a_folder_that_is_there_is_not_made_again(home: Home):
    organize(home, Operation("create_folder", "attic"))
    head = home.ledger.head()
    assert organize(home, Operation("create_folder", "attic")).code == "nothing"
    assert organize(home, Operation("create_folder", "attic"), propose=True).code == "nothing"
    assert home.ledger.head() == head


def test_a_proposed_folder_is_shown_without_the_changes_of_another(home: Home):
    home.changes.write("shed", b"# Shed\n", Origin("owner", "test", ""))
    parked = organize(home, Operation("create_folder", "attic"), propose=True)
    shown = home.proposals.show(parked.proposal or "")
    assert shown.rendering
    assert home.ledger.difference(shown.rendering) == ""
    assert home.proposals.approve(parked.proposal or "", "owner", home.ledger.clock()).outcome == "applied"
    assert tree(home) == {"shed.md", "attic/"}


def test_folders_that_a_message_names_outside_the_vault_are_left_alone(home: Home):
    root = home.settings.home
    (root / "evals/empty").mkdir()
    (root.parent / "out").mkdir()
    words = ["-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "--quiet", "--allow-empty"]
    text = "x\n\nQuorra-Folders: +../out +evals/empty +vault/../evals/empty"
    subprocess.run(["git", "-C", str(root), *words, "-m", text], check=True)
    assert undo(home).code == "nothing"
    assert (root / "evals/empty").is_dir()
    assert (root.parent / "out").is_dir()


def test_a_folder_that_can_not_be_made_leaves_nothing(home: Home):
    root, head = home.settings.home, home.ledger.head()
    (root / "vault/link").symlink_to(root.parent)
    before = tree(home)
    refused = organize(home, Operation("create_folder", "attic/left"), Operation("create_folder", "link/out"))
    assert (refused.outcome, refused.code) == ("refused", "symlink")
    assert home.ledger.head() == head
    assert tree(home) == before
