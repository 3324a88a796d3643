"""What the watcher takes in, in whose name, what it leaves alone, and what becomes of conflicted copies."""

import os
import time
from pathlib import Path

import pytest

from quorra.jobs.conflicts import AT_ONCE
from quorra.jobs.rounds import Round, Rounds
from quorra.jobs.watch import Watched as WatchedAlready
from quorra.jobs.watch import Watcher
from quorra.ledger.change import Origin
from quorra.settings import Author
from quorra.vault.reorg.operation import Operation
from tests.jobs.watched import QUIET, Watched

BASE = "# Boiler\n\nPressure: 1.4 bar.\n\nServiced in May.\n\nFilter: size 2.\n"
COPY = "home/boiler (conflicted copy 2026-07-10 070952).md"


@pytest.fixture
def place(tmp_path: Path):
    made = Watched(tmp_path, {"home/boiler.md": BASE, "home/a.md": "a\n", "members/tom/t.md": "t\n"})
    yield made
    made.close()


def once(place: Watched) -> Round:
    return Watcher(place.home).once()


def told(place: Watched, uids: dict[int, Author]) -> None:
    """Sets whose files are whose."""
    place.home.settings = place.home.settings.model_copy(update={"authors": uids})


def names(found: Round) -> dict[str, list[str]]:
    return {each.author: list(each.paths) for each in found.adopted}


def test_authors_are_told_by_uid_then_by_folder_and_else_unknown(place: Watched):
    told(place, {4001: Author(principal="tom", name="Tom", email="tom@example.org")})
    for path in ("home/a.md", "home/b.md", "members/tom/t.md", "members/mira/m.md"):
        place.write(path, "more\n")
    os.chown(place.file("home/b.md"), 4001, -1)
    assert names(once(place)) == {
        "unknown": ["home/a.md"],
        "Tom": ["home/b.md", "members/tom/t.md"],
        "mira": ["members/mira/m.md"],
    }
    log = place.git("log", "-3", "--format=%ae %s %(trailers:key=Quorra-Principal,key=Quorra-Surface,valueonly)")
    assert log.split() == [
        *("unknown@localhost", "Direct", "edit", "of", "home/a.md", "unknown", "watch"),
        *("tom@example.org", "Direct", "edit", "of", "2", "files", "member:tom", "watch"),
        *("mira@localhost", "Direct", "edit", "of", "members/mira/m.md", "member:mira", "watch"),
    ]


def test_git_sees_nothing_of_the_watcher_in_a_clone(place: Watched):
    (place.root / ".git/info/exclude").unlink()
    once(place)
    assert (place.root / ".quorra/watch.lock").exists()
    assert place.git("status", "--porcelain") == ""


def test_what_is_gone_has_no_owner_but_what_moved_has(place: Watched):
    told(place, {os.geteuid(): Author(principal="owner"), 4001: Author(principal="tom")})
    place.file("home/boiler.md").rename(place.file("home/heating.md"))
    place.file("home/a.md").unlink()
    place.file("members/tom/t.md").unlink()
    owner = place.home.settings.owner.name
    assert names(once(place)) == {
        owner: ["home/boiler.md", "home/heating.md"],
        "tom": ["members/tom/t.md"],
        "unknown": ["home/a.md"],
    }
    assert "rename" in place.git("log", "-3", "--summary", "-M", "--format=")


def test_what_is_gone_is_the_owners_where_nobody_else_is_told_of(place: Watched):
    told(place, {os.geteuid(): Author(principal="owner", name="Mira")})
    place.file("home/a.md").unlink()
    place.file("members/tom/t.md").unlink()
    assert names(once(place)) == {"Mira": ["home/a.md"], "tom": ["members/tom/t.md"]}
    told(place, {4001: Author(principal="tom")})
    place.file("home/boiler.md").unlink()
    assert names(once(place)) == {"unknown": ["home/boiler.md"]}


def test_a_hand_edit_that_a_write_meets_is_in_the_name_of_its_author_too(place: Watched):
    told(place, {})
    place.write("members/tom/t.md", "by hand\n")
    place.home.changes.write("members/tom/t.md", b"by hand\nand more\n", Origin("owner", "test", ""))
    assert [(author, subject) for author, subject, _ in place.commits()] == [
        ("tom", "Direct edit of members/tom/t.md"),
        ("Quorra", "Change members/tom/t.md"),
    ]


def test_staged_work_is_left_alone_and_told_of_once(place: Watched):
    place.watch()
    place.write("home/a.md", "staged\n")
    place.git("add", "vault/home/a.md")
    place.write("home/a.md", "staged, and more\n")
    place.write("home/b.md", "b\n")
    until = time.monotonic() + 6
    while not place.commits() and time.monotonic() < until:
        time.sleep(0.05)
    place.write("home/c.md", "c\n")
    while len(place.commits()) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert [paths for _, _, paths in place.commits()] == [["A\tvault/home/b.md"], ["A\tvault/home/c.md"]]
    assert place.git("diff", "--cached", "--name-only").split() == ["vault/home/a.md"]
    left = [(each.path, each.reason) for found in place.rounds for each in found.left]
    assert left == [("home/a.md", "it has changes staged for a commit of your own")]
    place.git("commit", "-q", "-m", "mine")
    place.settled()
    assert place.commits()[-1][2] == ["M\tvault/home/a.md"], "what was not staged follows once the staged work is in"


@pytest.mark.parametrize("state", ["merge", "detached"])
def test_a_merge_in_progress_and_a_detached_head_are_left_alone(place: Watched, state: str):
    if state == "merge":
        place.git("switch", "-q", "-c", "other")
        place.write("home/other.md", "o\n")
        place.git("add", "-A")
        place.git("commit", "-q", "-m", "other")
        place.git("switch", "-q", "main")
        place.git("merge", "--no-ff", "--no-commit", "other")
    else:
        place.git("checkout", "-q", "--detach")
    before = place.head()
    place.write("home/b.md", "b\n")
    watcher = Watcher(place.home, limit=0.5)
    found = watcher.once()
    assert not found.adopted
    assert [each.path for each in found.left] == (["home/other.md", ""] if state == "merge" else [""])
    assert state.removesuffix("ed") in found.left[-1].reason.lower()
    assert place.head() == before
    assert place.file("home/b.md").read_text() == "b\n"
    if state == "merge":
        place.git("commit", "-q", "--no-edit")
    else:
        place.git("switch", "-q", "main")
    assert list(names(once(place)).values()) == [["home/b.md"]]


def test_links_filters_and_repositories_inside_are_left_alone(place: Watched):
    place.write("../.gitattributes", "*.secret filter=crypt\n")
    place.write("home/x.secret", "x\n")
    place.file("home/a.md").unlink()
    place.file("home/a.md").symlink_to("/etc/hostname")
    place.git("init", "-q", str(place.file("inner")))
    place.write("inner/i.md", "i\n")
    place.write("home/b.md", "b\n")
    found = once(place)
    assert list(names(found).values()) == [["home/b.md"]]
    assert sorted(each.path for each in found.left) == ["home/a.md", "home/x.secret"]
    assert place.git("status", "--short", "--untracked-files=all").splitlines() == [
        *(" T vault/home/a.md", "?? .gitattributes", "?? vault/home/x.secret", "?? vault/inner/"),
    ]


def test_only_vault_and_facts_are_taken_in(place: Watched):
    for path in ("../prompts/x.md", "../evals/x.md", "../jobs/x.md", "../other/x.md", ".obsidian/x.md", "a.md~"):
        place.write(path, "x\n")
    place.write("../facts/household.md", "# Household\n\n- x\n")
    place.write("photo.jpg", "x")
    assert list(names(once(place)).values()) == [["/facts/household.md", "photo.jpg"]]


def test_a_text_that_was_just_emptied_is_not_committed_empty(place: Watched):
    place.watch()
    place.write("home/a.md", "")
    time.sleep(QUIET * 0.6)
    place.write("home/a.md", "whole again\n")
    place.settled()
    assert [paths for _, _, paths in place.commits()] == [["M\tvault/home/a.md"]]
    assert place.git("show", "HEAD:vault/home/a.md") == "whole again\n"


def test_a_storm_that_never_ends_is_taken_in_all_the_same(place: Watched):
    place.watch(limit=0.8)
    until, number = time.monotonic() + 2.0, 0
    while time.monotonic() < until:
        place.write("home/a.md", f"{number}\n")
        number += 1
        time.sleep(0.05)
    assert 1 <= len(place.commits()) <= 3
    place.settled()
    assert place.git("show", "HEAD:vault/home/a.md") == f"{number - 1}\n"


def test_the_second_watcher_of_a_home_says_so(place: Watched):
    place.watch()
    with pytest.raises(WatchedAlready, match=r"watches .* already"):
        Watcher(place.home).run()
    place.rest()
    assert once(place) == Round()


def test_a_text_that_was_just_emptied_waits_even_in_a_storm(place: Watched):
    place.write("home/a.md", "")
    place.write("home/boiler.md", "more\n")
    rounds = Rounds(place.home, 1.0, time.monotonic)
    found = rounds.look(late=True)
    assert list(names(found).values()) == [["home/boiler.md"]]
    assert found.again == 1.0
    time.sleep(1.1)
    assert list(names(rounds.look()).values()) == [["home/a.md"]]


def test_without_any_hint_a_text_is_still_left_until_it_was_quiet(place: Watched):
    rounds = Rounds(place.home, 0.5, time.monotonic)
    place.write("home/a.md", "ha")
    found = rounds.look()
    assert not found.adopted
    assert 0 < (found.again or 0) <= 0.5
    time.sleep(0.6)
    place.file("home").rename(place.file("house"))
    assert not rounds.look().adopted, "a folder that was just moved brings old files"
    time.sleep(0.6)
    assert rounds.look().adopted


@pytest.fixture
def unpolled(tmp_path: Path):
    made = Watched(tmp_path, {}, poll=60.0)
    yield made
    made.close()


def test_a_folder_that_is_new_or_was_moved_is_watched(unpolled: Watched):
    place = unpolled
    place.watch()
    place.write("new/deep/x.md", "x\n")
    place.settled()
    place.write("new/deep/x.md", "xx\n")
    place.settled(seconds=3)
    place.file("new").rename(place.file("moved"))
    place.settled(seconds=3)
    place.write("moved/deep/y.md", "y\n")
    place.settled(seconds=3)
    assert place.git("ls-files", "vault/new", "vault/moved").split() == [
        "vault/moved/deep/x.md",
        "vault/moved/deep/y.md",
    ]


def test_a_conflicted_copy_becomes_a_merge_that_is_proposed_once(place: Watched):
    place.write("home/boiler.md", BASE.replace("1.4", "1.5"))
    place.write(COPY, BASE.replace("size 2", "size 3"))
    found = once(place)
    (conflict,) = found.conflicts
    assert (conflict.path, conflict.copy) == ("home/boiler.md", COPY)
    assert conflict.proposal
    assert [each.proposal for each in once(place).conflicts] == [conflict.proposal]
    assert len(place.home.proposals.box.every()) == 1
    now = place.home.ledger.clock()
    assert place.home.proposals.approve(conflict.proposal, "owner", now).outcome == "applied"
    assert place.file("home/boiler.md").read_text() == BASE.replace("1.4", "1.5").replace("size 2", "size 3")
    assert not place.file(COPY).exists()
    assert once(place) == Round()


def test_a_declined_copy_is_not_proposed_again_until_it_changes(place: Watched):
    place.write(COPY, BASE.replace("size 2", "size 3"))
    (first,) = once(place).conflicts
    now = place.home.ledger.clock()
    place.home.proposals.decline(first.proposal or "", "no", now)
    assert [each.proposal for each in once(place).conflicts] == [None]
    place.write(COPY, BASE.replace("size 2", "size 4"))
    (second,) = once(place).conflicts
    place.write(COPY, BASE.replace("size 2", "size 5"))
    (third,) = once(place).conflicts
    states = {item.id: item.state for item in place.home.proposals.box.every()}
    assert states == {first.proposal: "declined", second.proposal: "cancelled", third.proposal: "draft_ready"}


def test_a_copy_that_says_what_its_note_says_is_proposed_for_removal_alone(place: Watched):
    place.write(COPY, BASE)
    (conflict,) = once(place).conflicts
    shown = place.home.proposals.show(conflict.proposal or "")
    assert shown.planned
    assert [(edit.path, edit.content) for edit in shown.planned.change.edits] == [(f"vault/{COPY}", None)]


def test_a_copy_without_its_note_is_a_note(place: Watched):
    place.file("home/boiler.md").rename(place.file(COPY))
    found = once(place)
    assert list(names(found).values()) == [[COPY, "home/boiler.md"]]
    assert found.conflicts == ()


def test_the_merge_of_a_copy_goes_with_it_and_follows_its_folder(place: Watched):
    place.write(COPY, "other\n")
    (first,) = once(place).conflicts
    place.file("home").rename(place.file("house"))
    (second,) = once(place).conflicts
    assert second.path == "house/boiler.md"
    place.file(second.copy).unlink()
    assert once(place) == Round()
    states = {item.id: item.state for item in place.home.proposals.box.every()}
    assert states == {first.proposal: "cancelled", second.proposal: "cancelled"}
    assert place.home.ledger.renderings() == {}


def test_a_copy_moves_with_its_note_and_is_merged_there(place: Watched):
    place.write(COPY, BASE.replace("size 2", "size 3"))
    place.write("home/boiler.md", BASE.replace("1.4", "1.5"))
    (first,) = once(place).conflicts
    changes, now = place.home.changes, place.home.ledger.clock()
    moved = changes.organize([Operation("rename", "home/boiler", "home/heating")], Origin("owner", "test", ""))
    assert moved.outcome == "applied", moved
    copy = COPY.replace("boiler", "heating")
    assert not place.file(COPY).exists()
    stale = place.home.proposals.approve(first.proposal or "", "owner", now)
    assert (stale.outcome, stale.reason) == (
        "stale",
        f"home/boiler.md, of which {COPY} is a copy, is not there any more.",
    )
    assert not place.file("home/boiler.md").exists()
    (second,) = once(place).conflicts
    assert (second.path, second.copy) == ("home/heating.md", copy)
    assert place.home.proposals.approve(second.proposal or "", "owner", now).outcome == "applied"
    assert place.file("home/heating.md").read_text() == BASE.replace("1.4", "1.5").replace("size 2", "size 3")
    assert not place.file(copy).exists()
    assert not place.home.proposals.box.waiting()


def test_the_merge_of_a_copy_goes_with_its_note(place: Watched):
    place.write(COPY, "other\n")
    (first,) = once(place).conflicts
    place.file("home/boiler.md").unlink()
    assert once(place).conflicts == ()
    states = {item.id: item.state for item in place.home.proposals.box.every()}
    assert states == {first.proposal: "cancelled"}


def test_many_copies_at_once_are_all_met(place: Watched):
    for number in range(AT_ONCE + 5):
        place.write(f"home/n{number}.md", f"{number}\n")
        place.write(f"home/n{number}_conflict-20240501-101010.md", f"{number} and more\n")
    found = once(place)
    assert len({each.proposal for each in found.conflicts}) == AT_ONCE + 5
    assert found.again is None
