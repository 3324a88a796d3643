"""Making a home of every kind of folder, and the folders that are refused."""

import os
import subprocess
from pathlib import Path

import pytest

from quorra.ledger.change import Applied, Refused
from quorra.ledger.create import check, endings, init
from tests.ledger.places import ORIGIN, OWNER, git, opened, repository, sound, write

OURS = {"quorra.toml": b"[vault]\n", "facts/household.md": b"# Household\n"}


def made(root: Path, roots: tuple[str, ...] = ("",)) -> object:
    return init(root, OURS, OWNER, roots, ORIGIN)


def refusal(outcome: object) -> str:
    assert isinstance(outcome, Refused), outcome
    return outcome.code


def test_an_empty_place_becomes_a_repository(tmp_path: Path):
    root = tmp_path / "new" / "home"
    outcome = made(root)
    assert isinstance(outcome, Applied)
    assert git(root, "ls-tree", "-r", "--name-only", "main").split() == sorted(OURS)[::1]
    assert git(root, "status", "--porcelain") == ""
    assert ".quorra/" in (root / ".git/info/exclude").read_text().splitlines()
    assert "user." not in git(root, "config", "--list", "--local")
    sound(root)


def test_notes_are_taken_in_as_they_are_by_their_owner(tmp_path: Path):
    root = tmp_path / "notes"
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian/app.json").write_bytes(b"{}")
    (root / "ä note.md").write_bytes(b"text\r\n")
    (root / "quorra.toml").write_bytes(b"mine")
    (root / ".gitignore").write_text("skip.md\n")
    (root / "skip.md").write_bytes(b"skipped")
    repository(root / "inner", {"i.md": b"i"})
    assert isinstance(made(root), Applied)
    assert git(root, "log", "--format=%an").split() == ["Quorra", "Mira"]
    assert git(root, "show", "-z", "--format=", "--name-only", "HEAD^").split("\0")[:-1] == ["quorra.toml", "ä note.md"]
    assert (root / "quorra.toml").read_bytes() == b"mine"
    assert git(root, "show", "--format=", "--name-only", "HEAD").split() == ["facts/household.md"]
    assert git(root, "status", "--porcelain").splitlines() == ["?? .gitignore", "?? .obsidian/", "?? inner/"]
    sound(root)


def test_a_repository_with_history_keeps_everything_of_its_own(tmp_path: Path):
    root = repository(tmp_path / "home", {"a.md": b"a\n", "b.md": b"b\n"})
    (root / "a.md").write_bytes(b"edited\n")
    (root / "b.md").write_bytes(b"staged\n")
    git(root, "add", "b.md")
    (root / "u.md").write_bytes(b"untracked\n")
    before = git(root, "status", "--porcelain")
    assert isinstance(made(root), Applied)
    assert git(root, "status", "--porcelain") == before
    assert git(root, "show", "--format=", "--name-only", "HEAD").split() == sorted(OURS)
    head = git(root, "rev-parse", "HEAD").strip()
    assert made(root) == Applied(head)


def test_what_is_staged_before_the_first_commit_stays_staged(tmp_path: Path):
    root = repository(tmp_path / "home")
    (root / "s.md").write_bytes(b"staged\n")
    git(root, "add", "s.md")
    (root / "u.md").write_bytes(b"untracked\n")
    assert isinstance(made(root), Applied)
    assert git(root, "status", "--porcelain") == "A  s.md\n"
    assert "u.md" in git(root, "ls-tree", "--name-only", "HEAD")


def test_a_filter_is_refused_and_nothing_is_left(tmp_path: Path):
    root = tmp_path / "home"
    root.mkdir()
    (root / ".gitattributes").write_text("*.png filter=lfs diff=lfs -text\n")
    (root / "n.md").write_bytes(b"n")
    assert isinstance(check(root), type(None))
    (root / "p.png").write_bytes(b"png")
    assert refusal(made(root)) == "filter"
    assert sorted(item.name for item in root.iterdir()) == [".gitattributes", "n.md", "p.png"]
    repository(root)
    assert refusal(made(root)) == "filter"


def test_a_folder_inside_another_repository_is_refused(tmp_path: Path):
    root = repository(tmp_path / "outer", {"a.md": b"a"})
    assert refusal(made(root / "inner/home")) == "nested"
    assert not (root / "inner").exists()


def test_shallow_sparse_submodules_detached_and_merging_are_refused(tmp_path: Path):
    root = repository(tmp_path / "one", {"d/a.md": b"a", "b.md": b"b"})
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{root}", shallow], check=True)
    assert refusal(made(shallow)) == "shallow"
    git(root, "sparse-checkout", "set", "d")
    assert refusal(made(root)) == "sparse"
    git(root, "sparse-checkout", "disable")
    git(root, "config", "--unset", "core.sparseCheckout", check=False)
    git(root, "switch", "-q", "--detach")
    assert refusal(made(root)) == "detached"
    git(root, "switch", "-q", "main")
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))
    assert refusal(made(root)) == "merging"
    (root / ".git/MERGE_HEAD").unlink()
    other = repository(tmp_path / "two", {"x.md": b"x"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    assert refusal(made(root)) == "submodules"


def test_a_network_file_system_is_refused(tmp_path: Path):
    line = "36 25 0:30 / {point} rw,relatime shared:1 - {kind} server:/x rw\n"
    local = line.format(point="/", kind="ext4")
    assert check(tmp_path, local) is None
    assert refusal(check(tmp_path, local + line.format(point=tmp_path.parent, kind="nfs4"))) == "network"
    assert check(tmp_path, local + line.format(point=f"{tmp_path}2", kind="nfs4")) is None
    assert (
        refusal(check(tmp_path / "a b", local + line.format(point=f"{tmp_path}/a\\040b", kind="fuse.sshfs")))
        == "network"
    )


def test_lines_are_wanted_only_where_endings_would_be_converted(tmp_path: Path):
    root = repository(tmp_path / "home")
    assert endings(root, ("vault", "facts")) == []
    git(root, "config", "core.autocrlf", "input")
    assert endings(root, ("vault", "facts")) == ["vault/** -text", "facts/** -text"]
    (root / ".gitattributes").write_text("vault/** -text\n")
    assert endings(root, ("vault", "facts")) == ["facts/** -text"]
    git(root, "config", "core.autocrlf", "false")
    (root / ".gitattributes").write_text("* text=auto\n")
    assert endings(root, ("",)) == ["* -text"]


@pytest.mark.parametrize("name", ["with space", "ünï", "quote's"])
def test_odd_folder_names(tmp_path: Path, name: str):
    assert isinstance(made(tmp_path / name), Applied)
    sound(tmp_path / name)


def test_many_who_make_one_folder_a_home_make_one(tmp_path: Path):
    root = tmp_path / "home"
    root.mkdir()
    (root / "n.md").write_bytes(b"n")
    children = []
    for _ in range(6):
        ident = os.fork()
        if ident == 0:
            os._exit(0 if isinstance(made(root), Applied) else 1)
        children.append(ident)
    assert [os.waitpid(ident, 0)[1] for ident in children] == [0] * 6
    assert git(root, "log", "--format=%an").split() == ["Quorra", "Mira"]
    sound(root)


def test_a_home_in_a_second_work_tree_commits_to_its_own_branch(tmp_path: Path):
    base = repository(tmp_path / "base", {"a.md": b"a\n"})
    root = tmp_path / "second"
    git(base, "worktree", "add", "-q", str(root), "-b", "second")
    assert isinstance(made(root), Applied)
    assert (root / ".git").is_file()
    ledger = opened(root)
    assert isinstance(write(ledger, {"a.md": b"hers\n"}), Applied)
    assert git(base, "rev-parse", "second").strip() == ledger.head()
    assert git(base, "log", "--format=%s", "main").split() == ["start"]
    assert [git(place, "status", "--porcelain") for place in (base, root)] == ["", ""]
    git(root, "symbolic-ref", "HEAD", "refs/heads/main")
    assert refusal(write(ledger, {"b.md": b"b\n"})) == "elsewhere"
    assert refusal(write(opened(base), {"b.md": b"b\n"})) == "elsewhere"
    assert git(base, "status", "--porcelain") == ""


def test_a_fresh_repository_with_sha256_names_becomes_a_home(tmp_path: Path):
    root = repository(tmp_path / "home", form="sha256")
    (root / "note.md").write_bytes(b"mine\n")
    outcome = made(root)
    assert isinstance(outcome, Applied)
    assert len(outcome.commit) == 64
    assert git(root, "log", "--format=%an").split() == ["Quorra", "Mira"]
    assert git(root, "status", "--porcelain") == ""
    sound(root)
