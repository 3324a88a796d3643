"""Another history joined with this one: moved on to or merged, killed anywhere, with hands at the files meanwhile."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from quorra.ledger.change import Applied, Outcome, Refused, Stale
from quorra.ledger.ledger import Ledger
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.remotes.joint import Clash, Joint
from tests.ledger import places
from tests.ledger.places import ORIGIN, git, killed_at, opened, put, repository, sound, write

LINES = b"".join(b"line %d\n" % number for number in range(20))
OLD = {"a.md": LINES, "d/b.md": b"two\n", "d/c.md": b"three\n", "keep.md": b"kept\n"}
THEIRS: dict[str, bytes | None] = {"a.md": LINES.replace(b"line 3\n", b"theirs\n"), "d/b.md": None, "e/f.md": b"new\n"}
OURS: dict[str, bytes | None] = {"a.md": LINES.replace(b"line 15\n", b"ours\n"), "own.md": b"own\n"}
BOTH = LINES.replace(b"line 3\n", b"theirs\n").replace(b"line 15\n", b"ours\n")

STEPS = places.STEPS[1:]


def theirs(root: Path, files: dict[str, bytes | None]) -> str:
    """Commits files in a clone, as another person does, and gives the commit, which is here then too."""
    clone = root.with_name("clone")
    git(root.parent, "clone", "-q", str(root), str(clone))
    git(clone, "config", "user.name", "Tom")
    git(clone, "config", "user.email", "tom@localhost")
    put(clone, files)
    git(root, "fetch", "-q", str(clone), "main:refs/their")
    return git(root, "rev-parse", "refs/their").strip()


def joined(ledger: Ledger, tip: str) -> Joint:
    found = ledger.join(tip)
    assert isinstance(found, Joint), found
    return found


def merge(ledger: Ledger, tip: str) -> Outcome:
    return ledger.merge(joined(ledger, tip), "Merge their", ORIGIN)


def disk(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file() and ".git" not in file.parts)
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def whole(*layers: dict[str, bytes | None]) -> dict[str, bytes]:
    found: dict[str, bytes | None] = {}
    for layer in layers:
        found |= layer
    return {path: content for path, content in found.items() if content is not None}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return repository(tmp_path / "home", OLD)


@pytest.mark.parametrize(
    ("step", "times", "done", "form"), [*((*step, "sha1") for step in STEPS), ("file written", 2, True, "sha256")]
)
def test_a_kill_while_moving_on_leaves_the_old_or_the_new(tmp_path: Path, step: str, times: int, done: bool, form: str):
    home = repository(tmp_path / "home", OLD, form)
    tip = theirs(home, THEIRS)
    assert killed_at(home, lambda ledger: merge(ledger, tip), step, times) == signal.SIGKILL
    opened(home).recover()
    assert disk(home) == (whole(OLD, THEIRS) if done else whole(OLD))
    assert (git(home, "rev-parse", "HEAD").strip() == tip) == done
    assert git(home, "status", "--porcelain") == ""
    assert merge(opened(home), tip) == Applied(tip)
    assert disk(home) == whole(OLD, THEIRS)
    sound(home)


@pytest.mark.parametrize(("step", "times", "done"), STEPS)
def test_a_kill_while_merging_leaves_the_old_or_the_merge(home: Path, step: str, times: int, done: bool):
    tip = theirs(home, THEIRS)
    assert isinstance(write(opened(home), OURS), Applied)
    before = git(home, "rev-parse", "HEAD").strip()
    assert killed_at(home, lambda ledger: merge(ledger, tip), step, times) == signal.SIGKILL
    opened(home).recover()
    assert disk(home) == (whole(OLD, THEIRS, OURS, {"a.md": BOTH}) if done else whole(OLD, OURS))
    head = git(home, "rev-parse", "HEAD").strip()
    assert git(home, "log", "-1", "--format=%P").split() == [before, tip] if done else head == before
    assert git(home, "status", "--porcelain") == ""
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(OLD, THEIRS, OURS, {"a.md": BOTH})
    assert git(home, "rev-list", "--count", "--merges", "HEAD").strip() == "1"
    sound(home)


@pytest.mark.parametrize("path", ["a.md", "d/b.md", "e/f.md"])
@pytest.mark.parametrize(("step", "times", "ahead"), [(*step[:2], at % 2 == 0) for at, step in enumerate(STEPS[3:])])
def test_a_hand_edit_after_the_crash_stays_on_disk(home: Path, step: str, times: int, path: str, ahead: bool):
    tip = theirs(home, THEIRS)
    if ahead:
        write(opened(home), OURS)
    killed_at(home, lambda ledger: merge(ledger, tip), step, times)
    (home / path).parent.mkdir(exist_ok=True)
    (home / path).write_bytes(b"a hand was here\n")
    opened(home).recover()
    assert (home / path).read_bytes() == b"a hand was here\n"
    assert path in git(home, "status", "--porcelain", "-uall")
    assert "a hand" not in git(home, "log", "-p", "--all")
    sound(home)


@pytest.mark.parametrize("path", ["a.md", "d/b.md", "e/f.md"])
@pytest.mark.parametrize("step", ["files staged", "journal written"])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_hand_edit_at_the_last_moment_makes_it_stale(home: Path, path: str, step: str, ahead: bool):
    tip = theirs(home, THEIRS)
    if ahead:
        write(opened(home), OURS)
    before = git(home, "rev-parse", "HEAD")

    def steps(name: str) -> None:
        if name == step:
            (home / path).parent.mkdir(exist_ok=True)
            (home / path).write_bytes(b"a hand was here\n")

    assert isinstance(merge(opened(home, steps), tip), Stale)
    assert git(home, "rev-parse", "HEAD") == before
    assert disk(home) == whole(OLD, OURS if ahead else {}, {path: b"a hand was here\n"})
    sound(home)


def test_a_branch_that_moves_meanwhile_makes_moving_on_stale_and_a_merge_follow(home: Path):
    tip = theirs(home, THEIRS)

    def steps(name: str) -> None:
        if name == "files written":
            mine = git(home, "commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}").strip()
            git(home, "update-ref", "HEAD", mine)

    assert isinstance(merge(opened(home, steps), tip), Stale)
    assert disk(home) == whole(OLD)
    assert isinstance(merge(opened(home, steps), tip), Applied)
    assert git(home, "log", "--first-parent", "--format=%s").split("\n")[:3] == ["Merge their", "mine", "mine"]
    assert disk(home) == whole(OLD, THEIRS)
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_a_merge_says_who_made_it_and_why(home: Path):
    tip = theirs(home, THEIRS)
    write(opened(home), OURS)
    done = merge(opened(home), tip)
    assert isinstance(done, Applied)
    assert git(home, "log", "-1", "--format=%an|%cn|%s").strip() == "Quorra|Quorra|Merge their"
    assert "Quorra-Principal: owner" in git(home, "log", "-1")
    assert git(home, "merge-base", "--is-ancestor", tip, done.commit) == ""
    plain = home.with_name("plain")
    git(home.parent, "clone", "-q", str(home), str(plain))
    git(plain, "reset", "-q", "--hard", "HEAD^1")
    git(plain, "-c", "user.name=x", "-c", "user.email=x@x", "merge", "-q", "-m", "by git", tip)
    assert git(plain, "rev-parse", "HEAD^{tree}") == git(home, "rev-parse", "HEAD^{tree}")


def test_nothing_new_is_the_head_and_no_commit(home: Path):
    tip = theirs(home, THEIRS)
    assert merge(opened(home), tip) == Applied(tip)
    assert merge(opened(home), tip) == Applied(tip)
    done = write(opened(home), OURS)
    assert isinstance(done, Applied)
    assert merge(opened(home), tip) == done


def test_staged_work_elsewhere_stays_staged_and_in_the_way_refuses(home: Path):
    tip = theirs(home, THEIRS)
    (home / "keep.md").write_bytes(b"staged\n")
    git(home, "add", "keep.md")
    assert merge(opened(home), tip) == Applied(tip)
    assert git(home, "status", "--porcelain") == "M  keep.md\n"


def test_what_is_staged_in_the_way_is_refused(home: Path):
    tip = theirs(home, THEIRS)
    (home / "a.md").write_bytes(b"staged\n")
    git(home, "add", "a.md")
    refused = opened(home).join(tip)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.path) == ("staged", "a.md")


@pytest.mark.parametrize("ahead", [False, True])
def test_the_right_to_run_a_file_comes_along(home: Path, ahead: bool):
    (home / "run").write_bytes(b"#!/bin/sh\n")
    (home / "tool").write_bytes(b"#!/bin/sh\n")
    os.chmod(home / "tool", 0o755)
    put(home, {})
    theirs(home, {"new": b"x\n", "keep.md": b"more\n"})
    clone = home.with_name("clone")
    git(clone, "update-index", "--chmod=+x", "run", "new")
    git(clone, "update-index", "--chmod=-x", "tool")
    git(clone, "commit", "-q", "-m", "modes")
    git(home, "fetch", "-q", str(clone), "+main:refs/their")
    tip = git(home, "rev-parse", "refs/their").strip()
    if ahead:
        write(opened(home), OURS)
    assert isinstance(merge(opened(home), tip), Applied)
    for name, runs in (("run", True), ("new", True), ("tool", False)):
        assert bool((home / name).stat().st_mode & stat.S_IXUSR) is runs
    assert git(home, "status", "--porcelain") == ""


def test_a_mode_of_old_is_a_regular_file(home: Path):
    objects = Repository(home).objects
    old = subprocess.run(["git", "-C", str(home), "cat-file", "tree", "HEAD^{tree}"], capture_output=True, check=True)
    tree = objects.write(old.stdout + b"100664 zz.md\0" + bytes.fromhex(objects.write(b"old\n")), "tree")
    tip = git(home, "commit-tree", "-p", "HEAD", "-m", "old", tree).strip()
    assert merge(opened(home), tip) == Applied(tip)
    assert git(home, "status", "--porcelain") == ""


def test_crlf_on_disk_stays_where_git_converts(home: Path):
    git(home, "config", "core.autocrlf", "true")
    (home / "a.md").unlink()
    git(home, "checkout", "-q", "--", "a.md")
    assert b"\r\n" in (home / "a.md").read_bytes()
    tip = theirs(home, THEIRS)
    assert merge(opened(home), tip) == Applied(tip)
    assert (home / "a.md").read_bytes() == (THEIRS["a.md"] or b"").replace(b"\n", b"\r\n")
    assert git(home, "status", "--porcelain") == ""


def clashes(home: Path, ours: dict[str, bytes | None], tip: str) -> tuple[Joint, dict[str, tuple[str, str, str]]]:
    """Gives the joint and for each clash the texts of base, ours and theirs, "" for a side without the file."""
    if ours:
        write(opened(home), ours)
    found = joined(opened(home), tip)

    def text(blob: str | None) -> str:
        return git(home, "cat-file", "-p", blob) if blob else ""

    def told(clash: Clash) -> tuple[str, str, str]:
        return text(clash.base), text(clash.ours), text(clash.theirs)

    return found, {clash.path: told(clash) for clash in found.clashes}


def test_the_same_lines_changed_keep_ours_in_full(home: Path):
    changed = LINES.replace(b"line 3\n", b"ours\n").replace(b"line 10\n", b"mine\n")
    tip = theirs(home, THEIRS)
    _, found = clashes(home, {"a.md": changed}, tip)
    assert found == {"a.md": (LINES.decode(), changed.decode(), (THEIRS["a.md"] or b"").decode())}
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(OLD, THEIRS, {"a.md": changed})
    assert git(home, "status", "--porcelain") == ""


def test_an_edit_beats_a_removal_on_either_side(home: Path):
    tip = theirs(home, {"a.md": b"theirs\n", "d/b.md": None})
    _, found = clashes(home, {"a.md": None, "d/b.md": b"ours\n"}, tip)
    assert found == {"a.md": (LINES.decode(), "", "theirs\n"), "d/b.md": ("two\n", "ours\n", "")}
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(OLD, {"a.md": None, "d/b.md": b"ours\n"})


def test_the_same_new_name_on_both_sides(home: Path):
    tip = theirs(home, {"n.md": b"theirs\n", "same.md": b"same\n"})
    _, found = clashes(home, {"n.md": b"ours\n", "same.md": b"same\n"}, tip)
    assert found == {"n.md": ("", "ours\n", "theirs\n")}


def test_an_edit_follows_a_rename_of_the_other_side(home: Path):
    tip = theirs(home, THEIRS)
    write(opened(home), {"a.md": None, "moved.md": LINES})
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(OLD, THEIRS, {"a.md": None, "moved.md": THEIRS["a.md"]})


def test_what_they_add_to_a_folder_that_moved_goes_along(home: Path):
    tip = theirs(home, {"d/new.md": b"new\n"})
    write(opened(home), {"d/b.md": None, "d/c.md": None, "house/b.md": b"two\n", "house/c.md": b"three\n"})
    assert isinstance(merge(opened(home), tip), Applied)
    assert {"house/b.md", "house/c.md", "house/new.md"} <= disk(home).keys()


def test_two_renames_of_one_note_keep_both(home: Path):
    tip = theirs(home, {"a.md": None, "theirs.md": LINES + b"their end\n", "d/b.md": b"more\n"})
    changed = b"our start\n" + LINES
    _, found = clashes(home, {"a.md": None, "ours.md": changed}, tip)
    assert found == {}
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(
        OLD, {"a.md": None, "ours.md": changed, "theirs.md": LINES + b"their end\n", "d/b.md": b"more\n"}
    )


def test_two_notes_renamed_to_one_name_clash(home: Path):
    other = b"".join(b"other %d\n" % number for number in range(20))
    put(home, {"z.md": other})
    tip = theirs(home, {"a.md": None, "n.md": LINES + b"theirs\n"})
    _, found = clashes(home, {"z.md": None, "n.md": other + b"ours\n"}, tip)
    assert found == {"n.md": ("", (other + b"ours\n").decode(), (LINES + b"theirs\n").decode())}
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home) == whole(OLD, {"a.md": None, "n.md": other + b"ours\n"})


def test_a_rename_that_the_other_side_removed_stays(home: Path):
    tip = theirs(home, {"a.md": None})
    _, found = clashes(home, {"a.md": None, "n.md": LINES + b"ours\n"}, tip)
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home)["n.md"] == LINES + b"ours\n"
    assert found == {}


def test_binary_files_clash_whole(home: Path):
    put(home, {"p.png": b"\x89PNG\0base"})
    tip = theirs(home, {"p.png": b"\x89PNG\0theirs"})
    write(opened(home), {"p.png": b"\x89PNG\0ours"})
    found = joined(opened(home), tip)
    assert [clash.path for clash in found.clashes] == ["p.png"]
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home)["p.png"] == b"\x89PNG\0ours"


@pytest.mark.parametrize("path", ["l.md", "d/l.md"])
def test_a_link_is_not_taken_over(home: Path, path: str):
    clone = home.with_name("clone")
    git(home.parent, "clone", "-q", str(home), str(clone))
    (clone / path).symlink_to("/etc/passwd")
    for key in ("name", "email"):
        git(clone, "config", f"user.{key}", "tom")
    put(clone, {})
    git(home, "fetch", "-q", str(clone), "main:refs/their")
    refused = opened(home).join(git(home, "rev-parse", "refs/their").strip())
    assert isinstance(refused, Refused)
    assert (refused.code, refused.path) == ("path", path)


def test_a_link_on_one_side_that_both_changed_is_left_to_git(home: Path):
    (home / "l.md").symlink_to("here")
    put(home, {})
    clone = home.with_name("clone")
    git(home.parent, "clone", "-q", str(home), str(clone))
    for root, target in ((home, "ours"), (clone, "theirs")):
        git(root, "config", "user.name", "x")
        git(root, "config", "user.email", "x@localhost")
        (root / "l.md").unlink()
        (root / "l.md").symlink_to(target)
        (root / "a.md").unlink()
        if root == clone:
            (root / "a.md").symlink_to(target)
        else:
            (root / "a.md").write_bytes(b"ours\n")
        put(root, {})
    git(home, "fetch", "-q", str(clone), "main:refs/their")
    refused = opened(home).join(git(home, "rev-parse", "refs/their").strip())
    assert isinstance(refused, Refused)
    assert refused.code == "path"


def test_a_folder_where_a_file_is_here_is_refused_by_its_name(home: Path):
    tip = theirs(home, {"x/y.md": b"theirs\n"})
    write(opened(home), {"x": b"ours\n"})
    refused = opened(home).join(tip)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.path) == ("path", "x/y.md")


@pytest.mark.parametrize("name", [".git", "..", ".quorra", ".GIT"])
def test_a_tree_that_leads_out_is_not_taken_over(home: Path, name: str):
    objects = Repository(home).objects
    inner = objects.write(b"100644 x\0" + bytes.fromhex(objects.write(b"evil\n")), "tree")
    old = subprocess.run(["git", "-C", str(home), "cat-file", "tree", "HEAD^{tree}"], capture_output=True, check=True)
    tree = objects.write(b"40000 %s\0" % name.encode() + bytes.fromhex(inner) + old.stdout, "tree")
    refused = opened(home).join(git(home, "commit-tree", "-p", "HEAD", "-m", "evil", tree).strip())
    assert isinstance(refused, Refused)
    assert refused.code == "path"
    assert disk(home) == whole(OLD)


def test_strange_histories_share_nothing(home: Path):
    tree = git(home, "rev-parse", "HEAD^{tree}").strip()
    refused = opened(home).join(git(home, "commit-tree", "-m", "alone", tree).strip())
    assert isinstance(refused, Refused)
    assert refused.code == "unrelated"


def test_a_crossing_of_histories_leaves_no_marker(home: Path):
    tip = theirs(home, {"a.md": LINES.replace(b"line 3\n", b"theirs\n")})
    clone = home.with_name("clone")
    write(opened(home), {"a.md": LINES.replace(b"line 3\n", b"ours\n")})
    first = git(home, "rev-parse", "HEAD").strip()
    assert isinstance(merge(opened(home), tip), Applied)
    git(clone, "fetch", "-q", str(home), f"{first}:refs/our", check=False)
    git(clone, "fetch", "-q", str(home), "main:refs/ours")
    git(clone, "merge", "-q", "-s", "ours", "-m", "crossed", first)
    put(clone, {"a.md": LINES.replace(b"line 3\n", b"theirs again\n")})
    git(home, "fetch", "-q", str(clone), "+main:refs/their")
    write(opened(home), {"a.md": LINES.replace(b"line 3\n", b"ours again\n")})
    tip = git(home, "rev-parse", "refs/their").strip()
    assert isinstance(merge(opened(home), tip), Applied)
    assert disk(home)["a.md"] == LINES.replace(b"line 3\n", b"ours again\n")
    sound(home)
