"""A process killed at any named step, with and without a hand edit before the next start."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from quorra.ledger.change import Applied, ChangeSet, Edit, Refused
from tests.ledger.places import FORMS, ORIGIN, STEPS, git, killed, opened, repository, sound, write

OLD = {"a.md": b"one\n", "d/b.md": b"two\n", "d/c.md": b"three\n"}
NEW: dict[str, bytes | None] = {"a.md": b"new\n", "d/b.md": None, "e/f.md": b"fresh\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return repository(tmp_path / "home", OLD)


def disk(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file() and ".git" not in file.parts)
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def written() -> dict[str, bytes]:
    return {path: content for path, content in (OLD | NEW).items() if content is not None}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("step", "times", "done"), STEPS)
def test_a_kill_leaves_the_old_or_the_new_and_never_half(tmp_path: Path, step: str, times: int, done: bool, form: str):
    home = repository(tmp_path / "home", OLD, form)
    assert killed(home, NEW, step, times) == signal.SIGKILL
    opened(home).recover()
    assert disk(home) == (written() if done else OLD)
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "rev-list", "--count", "HEAD").strip() == ("2" if done else "1")
    assert git(home, "log", "-1", "--format=%an").strip() == ("Quorra" if done else "Seed")
    sound(home)


@pytest.mark.parametrize(("step", "times", "done"), STEPS)
def test_the_next_commit_cleans_up_by_itself(home: Path, step: str, times: int, done: bool):
    killed(home, NEW, step, times)
    assert isinstance(write(opened(home), {"z.md": b"z\n"}), Applied)
    assert disk(home) == (written() if done else OLD) | {"z.md": b"z\n"}
    assert git(home, "status", "--porcelain") == ""
    sound(home)


@pytest.mark.parametrize("path", ["a.md", "d/b.md", "e/f.md", "d/c.md"])
@pytest.mark.parametrize(("step", "times"), [step[:2] for step in STEPS[4:]])
def test_a_hand_edit_after_the_crash_stays_on_disk(home: Path, step: str, times: int, path: str):
    killed(home, NEW, step, times)
    (home / path).parent.mkdir(exist_ok=True)
    (home / path).write_bytes(b"a hand was here\n")
    opened(home).recover()
    assert (home / path).read_bytes() == b"a hand was here\n"
    assert path in git(home, "status", "--porcelain", "-uall")
    whole = [git(home, "cat-file", "-p", f"HEAD:{name}", check=False) for name in ("a.md", "d/b.md", "e/f.md")]
    assert whole in (["one\n", "two\n", ""], ["new\n", "", "fresh\n"])
    assert "a hand" not in git(home, "log", "-p")
    sound(home)


def test_a_person_who_commits_after_the_crash_is_built_upon(home: Path):
    killed(home, NEW, "journal written")
    (home / ".git/index.lock").unlink()
    (home / "d/c.md").write_bytes(b"mine\n")
    git(home, "commit", "-q", "-m", "mine", "--", "d/c.md")
    opened(home).recover()
    assert git(home, "log", "--format=%an").split() == ["Quorra", "Seed", "Seed"]
    assert disk(home) == written() | {"d/c.md": b"mine\n"}
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_a_person_who_commits_our_files_after_the_crash_is_left_alone(home: Path):
    killed(home, NEW, "files written")
    (home / ".git/index.lock").unlink()
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "all of it")
    opened(home).recover()
    assert git(home, "rev-list", "--count", "HEAD").strip() == "2"
    assert disk(home) == written()
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_another_branch_after_the_crash_is_not_committed_to(home: Path):
    killed(home, NEW, "file written", 2)
    (home / ".git/index.lock").unlink()
    git(home, "symbolic-ref", "HEAD", "refs/heads/other")
    git(home, "update-ref", "refs/heads/other", "main")
    opened(home).recover()
    assert git(home, "rev-list", "--all", "--count").strip() == "1"
    assert disk(home) == OLD
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_a_foreign_index_lock_is_waited_for_and_never_removed(home: Path):
    (home / ".git/index.lock").touch()
    outcome = write(opened(home), NEW)
    assert isinstance(outcome, Refused)
    assert outcome.code == "busy"
    assert (home / ".git/index.lock").exists()
    assert disk(home) == OLD
    (home / ".git/index.lock").unlink()
    assert isinstance(write(opened(home), NEW), Applied)


def test_only_the_lock_of_the_dead_is_swept(home: Path):
    killed(home, NEW, "index locked")
    lock = home / ".git/index.lock"
    assert lock.exists()
    lock.unlink()
    lock.write_bytes(b"")
    opened(home).recover()
    assert lock.exists()
    os.unlink(lock)
    sound(home)


def test_a_git_that_fails_in_the_middle_leaves_everything_as_it_was(home: Path):
    git(home, "update-index", "--index-version=4")

    def steps(name: str) -> None:
        if name == "files written":
            # The lock of a copy that git alone may write stands in git's way.
            (home / ".git/quorra/index-copy.lock").touch()

    outcome = write(opened(home, steps), NEW)
    assert isinstance(outcome, Refused)
    assert (outcome.code, "index-copy" in outcome.reason, bool(outcome.next)) == ("git", True, True)
    assert disk(home) == OLD
    assert git(home, "status", "--porcelain") == ""
    assert isinstance(write(opened(home), NEW), Applied)
    assert disk(home) == written()
    sound(home)


@pytest.mark.parametrize("step", ["journal written", "file written", "files written", "index written"])
def test_a_commit_that_never_reached_the_medium_is_undone(home: Path, step: str):
    killed(home, NEW, step)
    commit = json.loads((home / ".git/quorra/journal").read_text())["commit"]
    (home / ".git/objects" / commit[:2] / commit[2:]).unlink()
    assert opened(home).recover() is None
    assert disk(home) == OLD
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_what_can_not_be_recovered_is_told_and_stops_nobody_from_reading(home: Path):
    killed(home, NEW, "files written")
    journal = home / ".git/quorra/journal"
    whole = journal.read_bytes()
    for text in (b"", b"{}", whole[:40], whole.replace(b"[", b"1", 1)):
        journal.write_bytes(text)
        ledger = opened(home)
        told = ledger.recover()
        assert isinstance(told, Refused)
        assert (told.code, str(journal) in told.reason, bool(told.next)) == ("journal", True, True)
        assert write(ledger, {"z.md": b"z\n"}) == told
        assert ledger.snapshot().dirty.keys() == NEW.keys()
    journal.write_bytes(whole)
    assert opened(home).recover() is None
    assert disk(home) == written()
    sound(home)


def test_an_index_that_git_can_not_read_is_told_as_a_value(home: Path):
    killed(home, NEW, "files written")
    whole = (home / ".git/index").read_bytes()
    (home / ".git/index").write_bytes(b"nothing like an index")
    told = opened(home).recover()
    assert isinstance(told, Refused)
    assert told.code == "git"
    (home / ".git/index").write_bytes(whole)
    assert opened(home).recover() is None
    assert disk(home) in (OLD, written())
    assert git(home, "status", "--porcelain") == ""
    sound(home)


MOVES: dict[str, bytes | None] = {
    "a.md": None,
    "x/y/a.md": b"one\n",
    "d/b.md": None,
    "d/new.md": b"two\n",
    "n.md": b"n",
}


@pytest.mark.parametrize(("step", "times", "done"), STEPS)
def test_a_kill_in_a_move_leaves_the_old_or_the_new(home: Path, step: str, times: int, done: bool):
    (home / "a.md").chmod(0o600)
    assert killed(home, MOVES, step, times) == signal.SIGKILL
    opened(home).recover()
    moved = {"x/y/a.md": b"one\n", "d/new.md": b"two\n", "d/c.md": b"three\n", "n.md": b"n"}
    assert disk(home) == (moved if done else OLD)
    assert (home / ("x/y/a.md" if done else "a.md")).stat().st_mode & 0o777 == 0o600
    assert git(home, "status", "--porcelain") == ""
    sound(home)


@pytest.mark.parametrize("path", ["x/y/a.md", "a.md", "d/b.md", "d/new.md", "n.md"])
@pytest.mark.parametrize(("step", "times"), [step[:2] for step in STEPS[4:]])
def test_a_hand_edit_after_a_crash_in_a_move_stays_on_disk(home: Path, step: str, times: int, path: str):
    killed(home, MOVES, step, times)
    (home / path).parent.mkdir(exist_ok=True, parents=True)
    (home / path).write_bytes(b"a hand was here\n")
    opened(home).recover()
    assert b"a hand was here\n" in disk(home).values()
    names = git(home, "ls-tree", "-r", "--name-only", "HEAD").split()
    assert names in (["a.md", "d/b.md", "d/c.md"], ["d/c.md", "d/new.md", "n.md", "x/y/a.md"])
    assert "a hand" not in git(home, "log", "-p")
    sound(home)


def slip(home: Path, files: dict[str, bytes | None], path: str, first: bytes) -> None:
    """Kills a commit just when it has swapped out a hand edit that it has not looked at yet."""
    killed(home, files, "journal written")
    journal = json.loads((home / ".git/quorra/journal").read_text())
    ((_, _, new, temp, _),) = [touch for touch in journal["touches"] if touch[0] == path]
    aside = home / ".git/quorra/tray" / temp
    (home / path).unlink()
    if new:
        aside.rename(home / path)
    aside.write_bytes(first)


@pytest.mark.parametrize("path", ["a.md", "d/b.md"])
def test_two_hand_edits_that_meet_both_lie_in_the_open(home: Path, path: str):
    slip(home, NEW, path, b"the first hand\n")
    (home / path).write_bytes(b"the second hand\n")
    ledger = opened(home)
    assert ledger.recover() is None
    beside = path.replace(".md", " (kept edit).md")
    assert ledger.rescued == [beside]
    assert (home / beside).read_bytes() == b"the first hand\n"
    assert (home / path).read_bytes() == b"the second hand\n"
    assert set(ledger.snapshot().dirty) == {path, beside}
    assert opened(home).recover() is None
    sound(home)


def test_a_name_that_is_taken_is_not_written_over(home: Path):
    (home / "a (kept edit).md").write_bytes(b"an older one\n")
    slip(home, NEW, "a.md", b"the first hand\n")
    (home / "a.md").write_bytes(b"the second hand\n")
    ledger = opened(home)
    assert isinstance(write(ledger, {"z.md": b"z"}), Applied)
    assert ledger.rescued == ["a (kept edit 2).md"]
    assert (home / "a (kept edit).md").read_bytes() == b"an older one\n"
    assert (home / "a (kept edit 2).md").read_bytes() == b"the first hand\n"
    sound(home)


def test_an_edit_that_can_not_be_put_beside_is_told_of_at_every_start(home: Path):
    name = f"{'n' * 250}.md"
    (home / name).write_bytes(b"one\n")
    git(home, "add", name)
    git(home, "commit", "-q", "-m", "long")
    slip(home, {name: b"hers\n"}, name, b"the first hand\n")
    (home / name).write_bytes(b"the second hand\n")
    for _ in range(2):
        ledger = opened(home)
        assert ledger.recover() is None
        assert [Path(place).read_bytes() for place in ledger.rescued] == [b"the first hand\n"]
    assert (home / name).read_bytes() == b"the second hand\n"


def test_a_hand_edit_that_was_adopted_in_a_commit_that_never_stood_comes_back(home: Path):
    (home / "a.md").write_bytes(b"mine, not committed\n")
    killed(home, NEW, "file written", 3)
    (home / ".git/index.lock").unlink()
    (home / "a.md").write_bytes(b"a second hand\n")
    git(home, "symbolic-ref", "HEAD", "refs/heads/other")
    git(home, "update-ref", "refs/heads/other", "main")
    ledger = opened(home)
    assert ledger.recover() is None
    assert ledger.rescued == ["a (kept edit).md"]
    assert (home / "a (kept edit).md").read_bytes() == b"mine, not committed\n"
    assert (home / "a.md").read_bytes() == b"a second hand\n"
    sound(home)


@pytest.mark.parametrize("both", [True, False])
def test_an_exchange_in_two_steps_that_was_cut_between_them_is_ended(home: Path, both: bool):
    killed(home, {"a.md": b"new\n"}, "journal written" if both else "files written")
    ((_, _, _, temp, _),) = json.loads((home / ".git/quorra/journal").read_text())["touches"]
    aside = home / ".git/quorra/tray" / temp
    if both:
        aside.with_name(f"{temp}.side").hardlink_to(home / "a.md")
    else:
        aside.rename(aside.with_name(f"{temp}.side"))
        aside.with_name(f"{temp}.side").write_bytes(b"a hand was faster\n")
    ledger = opened(home)
    assert ledger.recover() is None
    assert (home / "a.md").read_bytes() == (b"new\n" if both else b"a hand was faster\n")
    assert ledger.rescued == []
    assert git(home, "status", "--porcelain") == ("" if both else " M a.md\n")
    sound(home)


@pytest.mark.parametrize(("step", "times", "done"), STEPS)
def test_a_start_on_a_full_disk_after_a_kill_loses_nothing(small: Path, step: str, times: int, done: bool):
    home = repository(small / "home", OLD)
    (home / "a.md").write_bytes(b"mine, not committed\n")
    killed(home, NEW, step, times)
    with suppress(OSError), open(small / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(b"\0" * 512)
    ledger = opened(home)
    told = ledger.recover()
    assert told is None or told.code == "disk"
    outcome = ledger.commit(ChangeSet((Edit("z.md", b"z\n", None),), "x", ORIGIN))
    assert isinstance(outcome, Refused)
    assert outcome.code == "disk"
    (small / "filler").unlink()
    assert opened(home).recover() is None
    before = OLD | {"a.md": b"mine, not committed\n"}
    assert disk(home) in ([written(), before] if done else [before])
    if disk(home) == written():
        assert [git(home, "show", f"HEAD~{back}:a.md") for back in (0, 1)] == ["new\n", "mine, not committed\n"]
    assert ledger.rescued == []
    sound(home)
