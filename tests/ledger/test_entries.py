"""Patching git's index gives what git itself would have written."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorra.ledger.change import Applied
from quorra.ledger.plumbing.entries import NODE, Entries, NotPlain
from tests.ledger.places import git, opened, repository, write

NAMES = st.text("ab-.é€ \n\"'", min_size=1, max_size=6).filter(lambda name: name.strip(".") and name[0] != ".")
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def fits(paths: set[str]) -> bool:
    return not any(other.startswith(path + "/") for path in paths for other in paths)


def rows(root: Path) -> dict[str, tuple[str, str]]:
    raw = subprocess.check_output(["git", "-C", str(root), "ls-files", "--stage", "-z"])
    found = {}
    for record in raw.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        head, _, path = record.partition("\t")
        found[path] = (head.split()[0], head.split()[1])
    return found


def cached_trees_are_right(root: Path) -> None:
    index = Entries((root / ".git/index").read_bytes())
    nodes = NODE.findall(index.trees)
    at = 0

    def walk(path: str) -> None:
        nonlocal at
        name, _, count, folders, ident = nodes[at]
        unknown = nodes[at][1]
        at += 1
        here = f"{path}/{name.decode()}".strip("/") if name else ""
        if ident:
            tree = git(root, "rev-parse", f"HEAD:{here}").strip()
            assert ident.hex() == tree
            listed = git(root, "ls-tree", "-r", "-z", "--name-only", tree).split("\0")[:-1]
            assert int(count) == len(listed)
        for _ in range(int(unknown or folders)):
            walk(here)

    if nodes:
        walk("")
        assert at == len(nodes)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sets(PATHS, min_size=1, max_size=12).filter(fits), st.sets(PATHS, max_size=6), st.data())
def test_a_patched_index_is_what_git_makes(
    tmp_path_factory: pytest.TempPathFactory, first: set[str], more: set[str], data: st.DataObject
):
    root = repository(tmp_path_factory.mktemp("index") / "home", {path: path.encode() for path in first})
    ledger = opened(root)
    index = Entries((root / ".git/index").read_bytes())
    for path, row in rows(root).items():
        assert index.row(path) == row
    gone = data.draw(st.sets(st.sampled_from(sorted(first))))
    added = {path for path in more if fits((first - gone) | {path}) and path not in first and fits(first | {path})}
    added = added if fits(added) else set()
    files: dict[str, bytes | None] = dict.fromkeys(gone)
    files |= {path: b"new " + path.encode() for path in added}
    if files:
        outcome = write(ledger, files)
        assert isinstance(outcome, Applied), outcome
    assert rows(root).keys() == (first - gone) | added
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "write-tree") == git(root, "rev-parse", "HEAD^{tree}")
    cached_trees_are_right(root)
    git(root, "fsck", "--strict")
    ledger.close()


def test_cached_trees_stay_known_where_they_were(tmp_path: Path):
    root = repository(tmp_path / "home", {f"d{n}/e/{m}.md": b"x" for n in range(4) for m in range(3)})
    ledger = opened(root)
    assert isinstance(write(ledger, {"d1/e/1.md": b"y", "d2/e/new.md": b"z", "d3/e/0.md": None}), Applied)
    cached_trees_are_right(root)
    nodes = NODE.findall(Entries((root / ".git/index").read_bytes()).trees)
    assert [bool(node[4]) for node in nodes] == [True] * 9


@pytest.mark.parametrize("raw", [b"DIRC\0\0\0\4\0\0\0\0" + bytes(20), b"junk", b"DIRC\0\0\0\2\0\0\0\1" + bytes(200)])
def test_what_is_not_plain_is_not_guessed_at(raw: bytes):
    with pytest.raises(NotPlain):
        Entries(raw)


def test_long_names_and_many_entries(tmp_path: Path):
    long = "/".join(["n" * 200] * 19) + "/" + "m" * 150
    files = {f"{n % 13}/{'x' * (n % 97)}{n}.md": b"%d" % n for n in range(800)} | {long: b"long"}
    root = repository(tmp_path / "home", {path: content for path, content in files.items() if path != long})
    assert isinstance(write(opened(root), {long: b"long"}), Applied)
    index = Entries((root / ".git/index").read_bytes())
    assert {path: index.row(path) for path in files} == rows(root)
    assert index.row("0/nothing.md") is None


def test_a_cached_tree_with_staged_work_in_it_is_not_taken_for_the_heads(tmp_path: Path):
    root = repository(tmp_path / "home", {"d/a.md": b"a", "d/b.md": b"b", "e/c.md": b"c"})
    (root / "d/staged.md").write_bytes(b"staged")
    git(root, "add", "d/staged.md")
    git(root, "write-tree")
    assert isinstance(write(opened(root), {"d/a.md": b"new"}), Applied)
    cached = git(root, "write-tree")
    git(root, "read-tree", "--empty")
    git(root, "read-tree", "HEAD")
    git(root, "add", "d/staged.md")
    assert cached == git(root, "write-tree")


def test_an_edit_as_young_as_the_old_index_stays_visible(tmp_path: Path):
    root = repository(tmp_path / "home", {"a.md": b"a1\n", "b.md": b"b1\n"})
    (root / "b.md").write_bytes(b"b2\n")
    # Git compares whole seconds: only an index that is no younger than the file makes it look inside.
    time.sleep(1.1)
    assert isinstance(write(opened(root), {"a.md": b"a2\n"}), Applied)
    assert git(root, "status", "--porcelain") == " M b.md\n"
