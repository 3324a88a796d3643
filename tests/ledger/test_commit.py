"""What a commit does and refuses, re-read with real git."""

import os
import re
import resource
from pathlib import Path

import pytest

from quorra.ledger import change as change_module
from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Refused, Stale
from tests.ledger.places import FORMS, ORIGIN, change, git, opened, repository, sound, write


@pytest.fixture(params=FORMS)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repository(tmp_path / "home", {"a.md": b"one\n", "deep/down/b.md": b"two\n"}, request.param)


def refusal(outcome: object) -> str:
    assert isinstance(outcome, Refused), outcome
    return outcome.code


def test_a_write_is_on_disk_in_the_index_and_on_the_branch(home: Path):
    outcome = write(opened(home), {"a.md": b"new\n", "c/d.md": b"fresh\n"}, "Two notes")
    assert isinstance(outcome, Applied)
    assert outcome.commit == git(home, "rev-parse", "main").strip()
    assert (home / "c/d.md").read_bytes() == b"fresh\n"
    assert git(home, "show", "HEAD:a.md") == "new\n"
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "write-tree").strip() == git(home, "rev-parse", "HEAD^{tree}").strip()
    sound(home)


def test_unchanged_content_makes_no_commit(home: Path):
    head = git(home, "rev-parse", "HEAD").strip()
    assert write(opened(home), {"a.md": b"one\n"}) == Applied(head)
    assert git(home, "rev-parse", "HEAD").strip() == head


def test_trailers_tell_the_origin_and_nothing_can_forge_one(home: Path):
    lie = "x\n\nQuorra-Principal: forged\r\nQuorra-Tool: forged\u2028Quorra-Session: forged\0"
    origin = Origin(f"tom{lie}", f"cli{lie}", lie, None, f"note{lie}")
    ledger = opened(home)
    note = b"Quorra-Principal: forged\n"
    outcome = ledger.commit(ChangeSet((Edit("n.md", note, None),), f"Say{lie}", origin))
    assert isinstance(outcome, Applied)
    message = git(home, "log", "-1", "--format=%B").splitlines()
    assert [line.split(":")[0] for line in message if line.startswith("Quorra-")] == [
        f"Quorra-{key}" for key in ("Principal", "Surface", "Reason", "Tool")
    ]
    entry = ledger.log(limit=1)[0]
    assert entry.trailers["Quorra-Principal"].startswith("tom")
    assert entry.subject.startswith("Sayx Quorra-Principal: forged")
    assert entry.commit == outcome.commit
    assert git(home, "log", "-1", "--format=%(trailers:key=Quorra-Session)").strip() == ""


@pytest.mark.parametrize(
    ("path", "content", "expect"),
    [("a.md", b"x", "0" * 40), ("a.md", b"x", None), ("new.md", b"x", "0" * 40), ("a.md", None, "0" * 40)],
)
def test_another_text_than_expected_is_stale(home: Path, path: str, content: bytes | None, expect: str | None):
    outcome = opened(home).commit(ChangeSet((Edit("z.md", b"z", None), Edit(path, content, expect)), "x", ORIGIN))
    assert isinstance(outcome, Stale)
    assert outcome.path == path
    assert not (home / "z.md").exists()
    sound(home)


def test_a_hand_edit_is_adopted_first_and_only_where_it_is_known(home: Path):
    ledger = opened(home)
    blind = change(ledger, {"a.md": b"theirs\n"})
    (home / "a.md").write_bytes(b"one\nmine\n")
    (home / "deep/down/b.md").write_bytes(b"mine too\n")
    assert isinstance(ledger.commit(blind), Stale)
    assert isinstance(write(ledger, {"a.md": b"one\nmine\nhers\n"}), Applied)
    assert git(home, "log", "-2", "--format=%an").split() == ["Quorra", "Mira"]
    assert git(home, "show", "HEAD^:a.md") == "one\nmine\n"
    assert git(home, "status", "--porcelain") == " M deep/down/b.md\n"
    sound(home)


def test_an_untracked_file_is_adopted_before_it_is_written_over(home: Path):
    (home / "u.md").write_bytes(b"mine\n")
    assert isinstance(write(opened(home), {"u.md": b"hers\n"}), Applied)
    assert git(home, "log", "-2", "--format=%an", "--", "u.md").split() == ["Quorra", "Mira"]


def test_staged_work_is_refused_and_stays(home: Path):
    (home / "a.md").write_bytes(b"staged\n")
    git(home, "add", "a.md")
    (home / "s.md").write_bytes(b"staged\n")
    git(home, "add", "s.md")
    before = git(home, "ls-files", "--stage")
    ledger = opened(home)
    assert refusal(write(ledger, {"a.md": b"hers\n"})) == "staged"
    assert refusal(write(ledger, {"s.md": b"hers\n"})) == "staged"
    assert refusal(ledger.adopt(["a.md"], ORIGIN)) == "staged"
    assert isinstance(write(ledger, {"other.md": b"hers\n"}), Applied)
    assert git(home, "show", "--name-only", "--format=").split() == ["other.md"]
    assert set(before.splitlines()) < set(git(home, "ls-files", "--stage").splitlines())


def test_a_link_is_never_followed(home: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.md").write_bytes(b"outside\n")
    (home / "door").symlink_to(outside)
    (home / "file.md").symlink_to(outside / "o.md")
    ledger = opened(home)
    for path in ("door/o.md", "door/new.md", "file.md"):
        edit = Edit(path, b"in\n", ledger.id_of(b"outside\n") if "o.md" in path else None)
        assert refusal(ledger.commit(ChangeSet((edit,), "x", ORIGIN))) == "symlink"
    assert refusal(ledger.adopt(["file.md"], ORIGIN)) == "symlink"
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == {"o.md": b"outside\n"}


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/x", "../x.md", "a/../b.md", "a//b.md", "a\0b", "d/"),
        *(".git/config", "x/.GIT/hooks/y", ".quorra/x", ".Quorra/x"),
        *("d/" * 1000 + "x.md", f"{'d' * 250}/" * 16 + "x.md"),
    ],
)
def test_a_path_outside_is_refused(home: Path, path: str):
    before = sorted(home.rglob("*"))
    assert refusal(opened(home).commit(ChangeSet((Edit(path, b"x", None),), "x", ORIGIN))) == "path"
    assert refusal(opened(home).commit(ChangeSet((), "x", ORIGIN, folders=(path,)))) == "path"
    kept = [file for file in sorted(home.rglob("*")) if ".git" not in file.parts]
    assert kept == [file for file in before if ".git" not in file.parts]


def test_files_and_folders_do_not_take_each_others_place(home: Path):
    ledger = opened(home)

    def outcome(*paths: str) -> str:
        return refusal(ledger.commit(ChangeSet(tuple(Edit(path, b"x", None) for path in paths), "x", ORIGIN)))

    assert outcome("a.md/b.md") == "path"
    assert outcome("deep") == "path"
    assert outcome("n", "n/m.md") == "path"
    assert outcome("n", "n") == "path"
    (home / "a.md").unlink()
    (home / "a.md").mkdir()
    assert outcome("a.md/b.md") == "path"
    assert git(home, "ls-tree", "-r", "--name-only", "HEAD").split() == ["a.md", "deep/down/b.md"]


def test_modes_are_kept(home: Path):
    (home / "run.md").write_bytes(b"#!\n")
    (home / "run.md").chmod(0o750)
    git(home, "add", "run.md")
    git(home, "commit", "-q", "-m", "run")
    (home / "a.md").chmod(0o600)
    assert isinstance(write(opened(home), {"a.md": b"x\n", "run.md": b"#!y\n"}), Applied)
    assert [os.stat(home / name).st_mode & 0o777 for name in ("a.md", "run.md")] == [0o600, 0o750]
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "ls-tree", "HEAD", "run.md").startswith("100755")


def test_folders_that_a_change_empties_go_except_the_roots(home: Path):
    ledger = opened(home, roots=("deep",))
    assert isinstance(write(ledger, {"deep/down/b.md": None, "a.md": None, "x/y.md": b"x"}), Applied)
    assert sorted(item.name for item in home.iterdir()) == [".git", "deep", "x"]
    assert isinstance(write(ledger, {"x/y.md": None}), Applied)
    assert not (home / "x").exists()
    assert git(home, "ls-files") == ""
    sound(home)


def test_a_hand_edit_between_check_and_exchange_survives(home: Path):
    def meddle(step: str) -> None:
        if step == "journal written":
            (home / "deep/down/b.md").write_bytes(b"a hand was faster\n")

    outcome = write(opened(home, meddle), {"a.md": b"hers\n", "deep/down/b.md": b"hers\n", "n/n.md": b"n"})
    assert isinstance(outcome, Stale)
    assert outcome.path == "deep/down/b.md"
    assert (home / "deep/down/b.md").read_bytes() == b"a hand was faster\n"
    assert (home / "a.md").read_bytes() == b"one\n"
    assert not (home / "n").exists()
    assert git(home, "status", "--porcelain") == " M deep/down/b.md\n"
    sound(home)


@pytest.mark.parametrize("step", ["journal written", "index written"])
def test_a_file_that_appears_or_goes_at_the_last_moment_is_stale(home: Path, step: str):
    def appear(name: str) -> None:
        if name == "journal written":
            (home / "n.md").write_bytes(b"mine\n")

    assert isinstance(write(opened(home, appear), {"a.md": b"x", "n.md": b"hers\n"}), Stale)
    assert (home / "n.md").read_bytes() == b"mine\n"

    def vanish(name: str) -> None:
        if name == "journal written":
            (home / "a.md").unlink()

    assert isinstance(write(opened(home, vanish), {"deep/down/b.md": b"x", "a.md": None}), Stale)
    assert git(home, "status", "--porcelain") == " D a.md\n?? n.md\n"
    sound(home)


def moved(home: Path, path: str) -> str:
    """Commits a path without the index, the way that only plumbing can while the lock is held."""
    env = {"GIT_INDEX_FILE": str(home / ".git/other"), "PATH": os.environ["PATH"]}
    blob = git(home, "hash-object", "-w", "--stdin", check=True)
    row = f"100644,{blob.strip()},{path}"
    script = f"git read-tree HEAD && git update-index --add --cacheinfo '{row}' && git write-tree"
    tree = os.popen(f'cd {home} && env {" ".join(f"{k}={v}" for k, v in env.items())} sh -c "{script}"').read().strip()
    commit = git(home, "commit-tree", "-p", "HEAD", "-m", "meanwhile", tree).strip()
    git(home, "update-ref", "refs/heads/main", commit)
    (home / ".git/other").unlink()
    return commit


def test_a_branch_that_moved_elsewhere_is_built_upon(home: Path):
    seen = []

    def meddle(step: str) -> None:
        if step == "index written" and not seen:
            seen.append(moved(home, "theirs.md"))

    outcome = write(opened(home, meddle), {"a.md": b"hers\n"})
    assert isinstance(outcome, Applied)
    assert git(home, "rev-parse", "HEAD~1", "HEAD").split() == [seen[0], outcome.commit]
    assert git(home, "ls-tree", "--name-only", "HEAD").split() == ["a.md", "deep", "theirs.md"]
    sound(home)


def test_a_branch_that_moved_at_the_same_path_is_stale(home: Path):
    seen = []

    def meddle(step: str) -> None:
        if step == "index written" and not seen:
            seen.append(moved(home, "a.md"))

    assert isinstance(write(opened(home, meddle), {"a.md": b"hers\n"}), Stale)
    assert git(home, "rev-parse", "HEAD").strip() == seen[0]
    assert (home / "a.md").read_bytes() == b"one\n"
    assert git(home, "ls-files", "--stage", "a.md").split()[1] == opened(home).id_of(b"one\n")
    sound(home)


def test_a_branch_switched_in_between_is_stale(home: Path):
    git(home, "branch", "other", git(home, "commit-tree", "-m", "o", git(home, "write-tree").strip()).strip())

    def meddle(step: str) -> None:
        if step == "index written":
            git(home, "symbolic-ref", "HEAD", "refs/heads/other")

    assert isinstance(write(opened(home, meddle), {"a.md": b"hers\n"}), Stale)
    assert git(home, "rev-list", "--all", "--count").strip() == "2"
    assert (home / "a.md").read_bytes() == b"one\n"
    sound(home)


@pytest.mark.parametrize(
    "settings",
    [("index.version", "4"), ("core.splitIndex", "true"), ("core.untrackedCache", "true"), ("index.threads", "2")],
)
def test_an_index_that_is_not_plain_is_left_to_git(home: Path, settings: tuple[str, str]):
    git(home, "config", *settings)
    git(home, "update-index", "--force-write-index", *(["--split-index"] if "split" in settings[0] else []))
    ledger = opened(home)
    assert isinstance(write(ledger, {"a.md": b"x\n", "n/m.md": b"y\n", "deep/down/b.md": None}), Applied)
    assert git(home, "status", "--porcelain") == ""
    (home / "a.md").write_bytes(b"z\n")
    git(home, "add", "a.md")
    assert refusal(write(ledger, {"a.md": b"w\n"})) == "staged"
    sound(home)


@pytest.mark.parametrize("attribute", ["", "*.md text=auto eol=crlf\n"])
def test_converted_line_endings_stay_as_history_has_them(home: Path, attribute: str):
    git(home, "config", "core.autocrlf", "false" if attribute else "true")
    (home / ".gitattributes").write_text(attribute)
    git(home, "add", ".gitattributes")
    git(home, "commit", "-q", "-m", "attributes")
    (home / "a.md").write_bytes(b"l1\r\nl2\r\n")
    git(home, "commit", "-q", "-a", "-m", "lines")
    assert git(home, "show", "HEAD:a.md") == "l1\nl2\n"
    ledger = opened(home)
    assert ledger.snapshot().dirty == {}
    assert isinstance(write(ledger, {"a.md": b"l1\r\nL2\r\n"}), Applied)
    assert git(home, "show", "--numstat", "--format=").split() == ["1", "1", "a.md"]
    edit = Edit("a.md", b"l1\nL3\n", ledger.tree("HEAD")["a.md"])
    assert isinstance(ledger.commit(ChangeSet((edit,), "by the text that git has", ORIGIN)), Applied)
    assert git(home, "show", "--numstat", "--format=").split() == ["1", "1", "a.md"]
    (home / "a.md").write_bytes(b"l1\r\nL4\r\n")
    assert isinstance(ledger.adopt(["a.md"], ORIGIN), Applied)
    assert git(home, "show", "--numstat", "--format=").split() == ["1", "1", "a.md"]
    assert git(home, "status", "--porcelain") == ""


def test_a_full_disk_leaves_everything_as_it_was(home: Path):
    ident = os.fork()
    if ident == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        outcome = write(opened(home), {"a.md": b"x\n", "big.md": b"a" * 60_000})
        os._exit(0 if isinstance(outcome, Refused) and outcome.code == "disk" else 1)
    assert os.waitpid(ident, 0)[1] == 0
    assert git(home, "status", "--porcelain") == ""
    assert (home / "a.md").read_bytes() == b"one\n"
    opened(home).recover()
    sound(home)


def test_hundreds_of_commits_keep_git_quick_and_clean(home: Path):
    ledger = opened(home)
    for number in range(150):
        assert isinstance(write(ledger, {f"n/{number % 7}.md": b"%d\n" % number}), Applied)
    assert git(home, "rev-list", "--count", "HEAD").strip() == "151"
    assert int((home / ".git/quorra/young").read_text()) < 128
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_an_edit_in_the_same_tick_and_of_the_same_size_is_seen(home: Path):
    ledger = opened(home)
    for number in range(40):
        (home / "deep/down/b.md").write_bytes(b"%03d\n" % number)
        assert isinstance(write(ledger, {"a.md": b"a%d\n" % number}), Applied)
        assert git(home, "status", "--porcelain") == " M deep/down/b.md\n"
        assert list(ledger.snapshot().dirty) == ["deep/down/b.md"]
        (home / "a.md").write_bytes(b"b%d\n" % number)
        assert set(ledger.snapshot().dirty) == {"a.md", "deep/down/b.md"}
        assert isinstance(ledger.adopt(["a.md", "deep/down/b.md"], ORIGIN), Applied)


def test_a_hand_edit_in_the_moment_of_a_move_survives(home: Path):
    def meddle(step: str) -> None:
        if step == "journal written":
            (home / "deep/down/b.md").write_bytes(b"a hand was faster\n")

    files = {"a.md": None, "x/a.md": b"one\n", "deep/down/b.md": None, "x/b.md": b"two\n"}
    outcome = write(opened(home, meddle), files)
    assert isinstance(outcome, Stale)
    assert (home / "deep/down/b.md").read_bytes() == b"a hand was faster\n"
    assert git(home, "status", "--porcelain") == " M deep/down/b.md\n"
    sound(home)


def test_a_moved_note_keeps_its_mode_and_age(home: Path):
    git(home, "update-index", "--chmod=+x", "a.md")
    (home / "a.md").chmod(0o750)
    git(home, "commit", "-q", "-m", "mode")
    os.utime(home / "a.md", (1_000_000_000, 1_000_000_000))
    assert isinstance(write(opened(home), {"a.md": None, "moved/a.md": b"one\n"}), Applied)
    assert (home / "moved/a.md").stat().st_mtime == 1_000_000_000
    assert (home / "moved/a.md").stat().st_mode & 0o777 == 0o750
    assert git(home, "ls-tree", "HEAD", "moved/a.md").startswith("100755")
    assert git(home, "status", "--porcelain") == ""
    sound(home)


def test_what_gathers_is_packed_when_it_is_due(home: Path):
    ledger = opened(home)
    for number in range(300):
        write(ledger, {"grows.md": f"{number}\n".encode()})
    ledger.maintain()
    assert "in-pack: 0" in git(home, "count-objects", "-v")
    ledger.maintain(loose=1)
    assert "in-pack: 0" not in git(home, "count-objects", "-v")
    assert ledger.head() == git(home, "rev-parse", "HEAD").strip()
    assert isinstance(write(ledger, {"grows.md": b"after\n"}), Applied)
    sound(home)


def test_a_filter_that_came_after_the_beginning_is_looked_for(home: Path):
    ledger = opened(home)
    assert isinstance(write(ledger, {"deep/x.md": b"x\n"}), Applied)
    attributes = home / "deep/.gitattributes"
    attributes.write_text("*.md -text\n")
    assert isinstance(write(ledger, {"deep/x.md": b"y\n"}), Applied)
    attributes.write_text("[attr]secret filter=git-crypt\n*.md secret\n")
    (home / ".gitattributes").write_text("[attr]secret filter=git-crypt\ndeep/*.md secret\n")
    outcome = write(ledger, {"deep/x.md": b"z\n"})
    assert refusal(outcome) == "filter"
    assert isinstance(outcome, Refused)
    assert ("git-crypt" in outcome.reason, outcome.path) == (True, "deep/x.md")
    assert refusal(ledger.adopt(["deep/x.md"], ORIGIN)) == "filter"
    assert isinstance(write(ledger, {"a.md": b"elsewhere\n"}), Applied)
    (home / ".gitattributes").unlink()
    attributes.unlink()
    assert isinstance(write(ledger, {"deep/x.md": b"z\n"}), Applied)
    (home / ".git/info/attributes").write_text("a.md filter=lfs\n")
    assert refusal(write(ledger, {"a.md": b"no\n"})) == "filter"
    sound(home)


def test_every_refusal_says_what_to_do_next():
    source = "".join(file.read_text() for file in Path(change_module.__file__).parent.rglob("*.py"))
    codes = set(re.findall(r"(?:Refused|Blocked)\(\s*\"(\w+)\"", source))
    assert len(codes) > 10
    assert codes <= change_module.NEXT.keys()
