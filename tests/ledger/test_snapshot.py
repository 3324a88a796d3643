"""Snapshots and the reading side, compared with what is on disk and what git says."""

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from quorra.errors import QuorraError
from quorra.ledger.change import Applied, Hand
from quorra.ledger.history import UnknownRevision
from quorra.ledger.ledger import Ledger
from quorra.ledger.plumbing.process import GitFailed
from tests.ledger.places import ORIGIN, OWNER, git, opened, repository, write

FILES = {"v/a.md": b"one\n", "v/d/b.md": b"two\n", "v/d/c.md": b"three\n", "other/o.md": b"o\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return repository(tmp_path / "home", FILES)


@pytest.fixture
def ledger(home: Path) -> Ledger:
    return opened(home, roots=("v",))


def test_staged_unstaged_gone_new_and_undone_edits_are_told_by_what_is_on_disk(home: Path, ledger: Ledger):
    (home / "v/a.md").write_bytes(b"staged\n")
    git(home, "add", "v/a.md")
    (home / "v/a.md").write_bytes(b"and edited\n")
    (home / "v/d/b.md").write_bytes(b"staged\n")
    git(home, "add", "v/d/b.md")
    (home / "v/d/b.md").write_bytes(b"two\n")
    git(home, "rm", "-q", "--cached", "v/d/c.md")
    (home / "v/new.md").write_bytes(b"new\n")
    (home / "v/d/sub").mkdir()
    (home / 'v/d/sub/ü "x"\n.md').write_bytes(b"odd\n")
    (home / "other/o.md").write_bytes(b"outside the roots\n")
    before = git(home, "ls-files", "--stage", "--debug"), os.stat(home / ".git/index").st_mtime_ns
    assert ledger.snapshot().dirty == {
        "v/a.md": ledger.id_of(b"and edited\n"),
        "v/new.md": ledger.id_of(b"new\n"),
        'v/d/sub/ü "x"\n.md': ledger.id_of(b"odd\n"),
    }
    (home / "v/d/c.md").unlink()
    assert ledger.snapshot().dirty["v/d/c.md"] is None
    assert (git(home, "ls-files", "--stage", "--debug"), os.stat(home / ".git/index").st_mtime_ns) == before


def test_hidden_files_links_and_inner_repositories_are_left_out(home: Path, ledger: Ledger, tmp_path: Path):
    for path in ("v/.obsidian/app.json", "v/.hidden.md", "v/.trash/x.md"):
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_bytes(b"x")
    (home / "v/link.md").symlink_to(tmp_path)
    (home / "v/d/b.md").unlink()
    (home / "v/d/b.md").symlink_to("c.md")
    repository(home / "v/inner", {"i.md": b"i"})
    assert ledger.snapshot().dirty == {"v/d/b.md": None}
    git(home, "add", "-A", ":!v/inner")
    git(home, "commit", "-q", "-m", "odd things")
    assert sorted(ledger.tree("HEAD")) == ["v/a.md", "v/d/c.md"]
    assert ledger.snapshot().dirty == {}


def test_before_the_first_commit_everything_is_dirty(tmp_path: Path):
    root = repository(tmp_path / "home")
    (root / "n.md").write_bytes(b"n\n")
    ledger = opened(root)
    snapshot = ledger.snapshot()
    assert (snapshot.head, snapshot.dirty) == (None, {"n.md": ledger.id_of(b"n\n")})
    assert (ledger.head(), ledger.log()) == (None, [])


def test_a_conflict_is_dirty_with_its_markers(home: Path, ledger: Ledger):
    git(home, "switch", "-q", "-c", "phone")
    (home / "v/a.md").write_bytes(b"phone\n")
    git(home, "commit", "-q", "-a", "-m", "phone")
    git(home, "switch", "-q", "main")
    (home / "v/a.md").write_bytes(b"desk\n")
    git(home, "commit", "-q", "-a", "-m", "desk")
    git(home, "merge", "phone", check=False)
    marked = (home / "v/a.md").read_bytes()
    assert b"<<<<<<<" in marked
    assert ledger.snapshot().dirty == {"v/a.md": ledger.id_of(marked)}
    (home / "v/a.md").write_bytes(b"desk\n")
    assert ledger.snapshot().dirty == {}


def test_an_edit_is_seen_however_often_one_looks(home: Path, ledger: Ledger):
    for number in range(50):
        (home / "v/a.md").write_bytes(b"%02d\n" % number)
        assert ledger.snapshot().dirty == {"v/a.md": ledger.id_of(b"%02d\n" % number)}


def test_a_snapshot_is_true_while_others_commit(home: Path, ledger: Ledger):
    (home / "v/hand.md").write_bytes(b"by hand\n")
    hand = ledger.id_of(b"by hand\n")
    stop = threading.Event()

    def writer() -> None:
        other = opened(home)
        number = 0
        while not stop.is_set():
            number += 1
            assert isinstance(
                write(other, {"v/a.md": b"%d\n" % number, f"v/n{number % 5}.md": b"%d" % number}), Applied
            )

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        for _ in range(40):
            snapshot = ledger.snapshot()
            assert snapshot.head is not None
            assert snapshot.dirty["v/hand.md"] == hand
            text = dict(ledger.tree(snapshot.head)) | snapshot.dirty
            assert text["v/d/b.md"] == ledger.id_of(b"two\n")
            assert set(snapshot.dirty) <= {"v/hand.md", "v/a.md", *(f"v/n{n}.md" for n in range(5))}
    finally:
        stop.set()
        thread.join()
    assert ledger.snapshot().dirty == {"v/hand.md": hand}


def test_trees_changes_and_blobs(home: Path, ledger: Ledger):
    first = ledger.resolve("HEAD")
    everything = opened(home)
    write(everything, {"v/a.md": b"new\n", "v/d/b.md": None, "v/e.md": b"e\n", "other/o.md": b"p\n"})
    head = ledger.head()
    assert head is not None
    assert ledger.changes(first, head) == {
        "v/a.md": ledger.id_of(b"new\n"),
        "v/d/b.md": None,
        "v/e.md": ledger.id_of(b"e\n"),
    }
    assert ledger.changes(first, first) == {}
    assert ledger.changes(head, first)["v/d/b.md"] == ledger.id_of(b"two\n")
    assert set(everything.tree("HEAD~1")) == set(FILES)
    ids = [ledger.id_of(content) for content in FILES.values()] * 700
    assert [content for _, content in ledger.blobs(ids)] == list(FILES.values()) * 700
    assert ledger.blob(ledger.id_of(b"e\n")) == b"e\n"
    with pytest.raises(GitFailed):
        ledger.blob("0" * 40)
    assert ledger.blob(ledger.id_of(b"e\n")) == b"e\n"


@pytest.mark.parametrize(
    "rev", ["", "nope", "HEAD~9", "HEAD:v/a.md", "a\nHEAD", "HEAD\0x", "-h", "--all", "HEAD^{tree}", ":/never said"]
)
def test_an_unknown_revision_is_said(ledger: Ledger, rev: str):
    with pytest.raises(UnknownRevision):
        ledger.resolve(rev)


def test_revisions_resolve_as_git_resolves_them(home: Path, ledger: Ledger):
    head = git(home, "rev-parse", "HEAD").strip()
    git(home, "tag", "-a", "-m", "t", "tagged")
    for rev in ("HEAD", "main", head, head[:8], "tagged", "@", "HEAD@{0}", ":/start", "HEAD^{/start}"):
        assert ledger.resolve(rev) == head


def test_the_log_follows_a_note_through_its_move(home: Path, ledger: Ledger):
    content = b"".join(b"line %d\n" % number for number in range(20))
    write(ledger, {"v/long.md": content}, "Write it")
    write(ledger, {"v/long.md": None, "v/d/moved.md": content}, "Move it")
    write(ledger, {"v/a.md": b"x"}, "Another note")
    entries = ledger.log("v/d/moved.md")
    assert [entry.subject for entry in entries] == ["Move it", "Write it"]
    assert {entry.author for entry in entries} == {"Quorra"}
    assert entries[0].trailers == {
        "Quorra-Principal": "owner",
        "Quorra-Surface": "test",
        "Quorra-Reason": "to see what happens",
        "Quorra-Session": "s-1",
        "Quorra-Tool": "note",
    }
    assert [entry.subject for entry in ledger.log(limit=2)] == ["Another note", "Move it"]
    assert entries[0].when == git(home, "log", "-1", "--format=%aI", entries[0].commit).strip()


def test_adoption_is_the_persons_own_commit(home: Path, ledger: Ledger):
    (home / "v/a.md").write_bytes(b"mine\n")
    (home / "v/d/b.md").unlink()
    (home / "v/new.md").write_bytes(b"new\n")
    outcome = ledger.adopt(["v/a.md", "v/d/b.md", "v/new.md", "v/d/c.md", "v/never.md"], ORIGIN)
    assert isinstance(outcome, Applied)
    assert git(home, "show", "--format=", "--name-only", "HEAD").split() == ["v/a.md", "v/d/b.md", "v/new.md"]
    assert git(home, "log", "-1", "--format=%an <%ae> %cn") == f"{OWNER[0]} <{OWNER[1]}> Quorra\n"
    assert ledger.snapshot().dirty == {}
    assert git(home, "status", "--porcelain") == ""
    assert ledger.adopt(["v/a.md"], ORIGIN) == Applied(outcome.commit)


def test_adoption_names_each_author_and_passes_over_what_changed_again(home: Path, ledger: Ledger):
    texts = {"v/a.md": b"whole\n", "v/new.md": b"new\n", "v/half.md": b"ha"}
    for path, text in texts.items():
        (home / path).write_bytes(text)
    (home / "v/d/b.md").unlink()
    mira, tom = ("Mira", "mira@localhost"), ("Tom", "tom@localhost")
    hands = {
        "v/a.md": Hand("member:mira", mira, "a.md", ledger.id_of(b"whole\n")),
        "v/d/b.md": Hand("member:tom", tom, "d/b.md", None),
        "v/new.md": Hand("member:mira", mira, "new.md"),
        "v/half.md": Hand("member:tom", tom, "half.md", ledger.id_of(b"h")),
    }
    assert isinstance(ledger.adopt(list(hands), replace(ORIGIN, hands=hands)), Applied)
    assert git(home, "log", "-2", "--format=%an <%ae> %s").splitlines() == [
        "Tom <tom@localhost> Direct edit of d/b.md",
        "Mira <mira@localhost> Direct edit of 2 files",
    ]
    assert [entry.trailers["Quorra-Principal"] for entry in ledger.log(limit=2)] == ["member:tom", "member:mira"]
    assert git(home, "status", "--porcelain") == "?? v/half.md\n"


def test_a_file_that_moved_is_one_file(home: Path, ledger: Ledger):
    (home / "v/d/b.md").rename(home / "v/moved.md")
    assert isinstance(ledger.adopt(["v/d/b.md", "v/moved.md"], ORIGIN), Applied)
    assert git(home, "log", "-1", "--format=%s") == "Direct edit of v/moved.md\n"
    (home / "v/moved.md").rename(home / "v/again.md")
    (home / "v/twin.md").write_bytes((home / "v/again.md").read_bytes())
    (home / "v/a.md").write_bytes(b"mine\n")
    assert isinstance(ledger.adopt(["v/moved.md", "v/again.md", "v/twin.md", "v/a.md"], ORIGIN), Applied)
    assert git(home, "log", "-1", "--format=%s") == "Direct edit of 3 files\n"


def test_a_folder_that_is_no_repository_root_is_said(home: Path, tmp_path: Path):
    for place in (tmp_path, home / "v"):
        with pytest.raises(QuorraError):
            Ledger(place, ("",), OWNER)


def test_an_index_from_elsewhere_is_refused(home: Path):
    code = "from pathlib import Path; from quorra.ledger.ledger import Ledger; Ledger(Path('.'), ('',), ('a', 'b'))"
    env = {**os.environ, "GIT_INDEX_FILE": "/nowhere/index", "PYTHONPATH": os.getcwd()}
    words = [os.sys.executable, "-c", code]  # type: ignore[attr-defined]
    done = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, check=False)
    assert "GIT_INDEX_FILE" in done.stderr


def test_a_kept_process_that_dies_is_started_again(home: Path, ledger: Ledger):
    assert ledger.head() is not None
    for pipe in (ledger._repo.reader, ledger._repo.differ, ledger._repo.refs):
        pipe.streams()
        assert pipe._process is not None
        pipe._process.kill()
    assert isinstance(write(ledger, {"v/a.md": b"again\n"}), Applied)
    assert ledger.changes("HEAD~1", "HEAD") == {"v/a.md": ledger.id_of(b"again\n")}
