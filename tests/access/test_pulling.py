"""Pulling into a home: what both sides changed is parked, hand edits are taken in first, and nothing is lost."""

import signal
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

from quorra.access.changes.pulling import Pulled
from quorra.home import Home, create
from quorra.ledger.change import Origin
from quorra.settings import read
from tests.ledger.places import dying, git, put, sound

LINES = "# Boiler\n\n" + "".join(f"line {number}\n" for number in range(20))


def line(number: int, text: str) -> str:
    return LINES.replace(f"line {number}\n", f"{text}\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home that shares its notes with another person's clone through a bare repository."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub")
    root = tmp_path / "home"
    create(root, empty=True)
    git(root, "remote", "add", "origin", str(tmp_path / "hub"))
    (root / "vault").mkdir(exist_ok=True)
    (root / "vault" / "boiler.md").write_text(LINES)
    (root / "vault" / "picture.png").write_bytes(b"\x89PNG\0base")
    (root / "facts" / "household.md").write_text("# Household\n\n- Bins go on Tuesday.\n")
    for key, value in (("name", "Mira"), ("email", "mira@localhost")):
        git(root, "config", f"user.{key}", value)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "notes")
    git(root, "push", "-q", "origin", "main")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub"), "other")
    for key, value in (("name", "Tom"), ("email", "tom@localhost")):
        git(tmp_path / "other", "config", f"user.{key}", value)
    return root


@pytest.fixture
def home(place: Path):
    opened = Home.open(read(place))
    yield opened
    opened.close()


def theirs(place: Path, files: dict[str, str | bytes | None], subject: str = "theirs") -> str:
    """Commits files in the other clone and pushes them, with plain git."""
    other = place.parent / "other"
    put(other, files, subject)
    git(other, "push", "-q", "origin", "main")
    return head(other)


def head(root: Path, ref: str = "HEAD") -> str:
    return git(root, "rev-parse", ref).strip()


def write(home: Home, name: str, text: str) -> None:
    assert home.changes.write(name, text.encode(), Origin("owner", "cli", "")).outcome == "applied"


def pull(home: Home) -> Pulled:
    return home.changes.pull(Origin("owner", "cli", ""))


def note(place: Path, name: str = "boiler.md") -> str:
    return (place / "vault" / name).read_text()


def waiting(home: Home) -> list[str]:
    return [item.id for item in home.proposals.box.waiting()]


def approve(home: Home, ident: str) -> str:
    home.proposals.show(ident)
    return home.proposals.approve(ident, "owner", home.ledger.clock()).outcome


def test_what_only_they_changed_is_here_then(home: Home, place: Path):
    tip = theirs(place, {"vault/boiler.md": line(3, "theirs"), "vault/new.md": "# New\n"})
    done = pull(home)
    assert (done.done.outcome, done.done.commit, done.commits, done.files) == ("applied", tip, 1, 2)
    assert (note(place), note(place, "new.md")) == (line(3, "theirs"), "# New\n")
    again = pull(home)
    assert (again.done.outcome, again.done.commit, again.commits) == ("applied", tip, 0)


def test_the_same_line_is_a_proposal_and_no_marker(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs"), "vault/new.md": "# New\n"})
    write(home, "boiler.md", line(3, "ours"))
    done = pull(home)
    assert (done.done.outcome, len(done.proposals)) == ("applied", 1)
    assert note(place) == line(3, "ours")
    assert note(place, "new.md") == "# New\n"
    item = home.proposals.show(done.proposals[0]).item
    assert (item.kind, item.principal, item.surface) == ("merge", "remote", "remote")
    assert approve(home, done.proposals[0]) == "applied"
    assert "ours\ntheirs\n" in note(place)
    assert home.changes.push(Origin("owner", "cli", "")).outcome == "applied"
    assert pull(home).proposals == ()
    sound(place)


def test_a_fact_that_both_changed_is_a_proposal_too(home: Home, place: Path):
    theirs(place, {"facts/household.md": "# Household\n\n- Bins go on Monday.\n"})
    (place / "facts/household.md").write_text("# Household\n\n- Bins go on Friday.\n")
    done = pull(home)
    assert home.proposals.box.get(done.proposals[0]).payload["path"] == "/facts/household.md"
    assert "Friday" in (place / "facts/household.md").read_text()


def test_a_hand_edit_in_the_way_is_the_persons_own_commit_first(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs")})
    (place / "vault/boiler.md").write_text(line(15, "by hand"))
    (place / "vault/elsewhere.md").write_text("# Elsewhere\n")
    assert pull(home).done.outcome == "applied"
    assert note(place) == line(3, "theirs").replace("line 15\n", "by hand\n")
    assert git(place, "log", "-1", "--format=%an").strip() == "Quorra"
    assert git(place, "show", "--format=", "--name-only", "HEAD^1").split() == ["vault/boiler.md"]
    assert "Quorra-Surface: disk" in git(place, "log", "-1", "HEAD^1")
    assert git(place, "status", "--porcelain") == "?? vault/elsewhere.md\n"
    sound(place)


def test_an_untracked_note_of_the_same_name_is_taken_in_and_their_text_proposed(home: Home, place: Path):
    theirs(place, {"vault/new.md": "# New\n\ntheirs\n"})
    (place / "vault/new.md").write_text("# New\n\nours\n")
    done = pull(home)
    assert note(place, "new.md") == "# New\n\nours\n"
    assert approve(home, done.proposals[0]) == "applied"
    assert note(place, "new.md") == "# New\n\nours\ntheirs\n"


def test_a_rename_by_hand_takes_their_edit_along(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs")})
    (place / "vault/boiler.md").rename(place / "vault/heating.md")
    done = pull(home)
    assert (done.done.outcome, done.proposals) == ("applied", ())
    assert note(place, "heating.md") == line(3, "theirs")
    assert not (place / "vault/boiler.md").exists()


def test_removed_here_and_edited_there_comes_back_by_a_yes(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs")})
    (place / "vault/boiler.md").unlink()
    done = pull(home)
    assert not (place / "vault/boiler.md").exists()
    assert (done.removed, pull(home).removed) == (("boiler.md",), ())
    assert home.proposals.box.get(done.proposals[0]).title == "Bring back boiler.md"
    assert approve(home, done.proposals[0]) == "applied"
    assert note(place) == line(3, "theirs")


def test_removed_there_and_edited_here_stays_and_is_told_of(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": None})
    write(home, "boiler.md", line(3, "ours"))
    done = pull(home)
    assert (done.done.outcome, done.proposals, done.kept) == ("applied", (), ("boiler.md",))
    assert note(place) == line(3, "ours")


def test_a_picture_of_theirs_is_put_beside_ours(home: Home, place: Path):
    theirs(place, {"vault/picture.png": b"\x89PNG\0theirs"})
    (place / "vault/picture.png").write_bytes(b"\x89PNG\0ours")
    done = pull(home)
    assert (place / "vault/picture.png").read_bytes() == b"\x89PNG\0ours"
    assert approve(home, done.proposals[0]) == "applied"
    assert (place / "vault/picture (origin).png").read_bytes() == b"\x89PNG\0theirs"


@pytest.mark.parametrize("path", ["quorra.toml", ".gitmodules", "vault/.GitAttributes", "$(x)/.gitattributes"])
@pytest.mark.parametrize("ahead", [False, True])
def test_what_decides_where_texts_go_is_left_to_a_person(home: Home, place: Path, path: str, ahead: bool):
    text = (place / path).read_text() if (place / path).exists() else ""
    theirs(place, {path: text + "# evil\n", "vault/boiler.md": line(3, "theirs")})
    if ahead:
        write(home, "other.md", "# Other\n")
    before = head(place)
    done = pull(home)
    assert (done.done.outcome, done.done.code, head(place)) == ("refused", "closed", before)
    assert path in (done.done.reason or "")
    assert f"-- {quote(path)}, then take it over with git merge origin/main" in (done.done.next or "")
    git(place, "merge", "-q", "-m", "by hand", "origin/main")
    assert pull(home).done.outcome == "applied"


def test_both_sides_at_what_is_no_note_is_left_to_git(home: Home, place: Path):
    theirs(place, {"vault/.obsidian/app.json": "{1}\n", "vault/boiler.md": line(3, "theirs")})
    (place / "vault/.obsidian").mkdir()
    (place / "vault/.obsidian/app.json").write_text("{2}\n")
    done = pull(home)
    assert (done.done.outcome, done.done.code) == ("refused", "dirty")
    assert (place / "vault/.obsidian/app.json").read_text() == "{2}\n"
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "settings")
    done = pull(home)
    assert (done.done.code, waiting(home)) == ("conflict", [])
    assert "vault/.obsidian/app.json" in (done.done.reason or "")
    assert note(place) == LINES


def test_staged_or_merging_is_left_alone(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs")})
    (place / "vault/boiler.md").write_text(line(3, "staged"))
    git(place, "add", "-A")
    assert pull(home).done.code == "staged"
    git(place, "commit", "-q", "-m", "mine")
    git(place, "merge", "-q", "origin/main", check=False)
    assert (place / ".git/MERGE_HEAD").exists()
    before = note(place)
    assert pull(home).done.code == "merging"
    assert note(place) == before
    git(place, "merge", "--abort")
    git(place, "checkout", "-q", "--detach")
    assert pull(home).done.code == "detached"


def test_a_link_of_theirs_is_refused_with_its_name(home: Home, place: Path):
    (place.parent / "other/vault/link.md").symlink_to("/etc/passwd")
    theirs(place, {})
    done = pull(home)
    assert (done.done.outcome, done.done.code) == ("refused", "path")
    assert "vault/link.md" in (done.done.reason or "")
    assert "origin/main" in (done.done.next or "")


def killed(place: Path, step: str, times: int) -> int:
    """Pulls in a process of its own that is killed at a step of the ledger."""

    def pulled(steps: Callable[[str], None]) -> None:
        opened = Home.open(read(place))
        opened.ledger.steps = steps
        pull(opened)

    return dying(pulled, step, times)


CUTS = [("blobs written", 1), ("blobs written", 2), ("lock taken", 1), ("lock taken", 2)]
CUTS += [(step, 1) for step in ("journal written", "file written", "index written", "branch moved", "journal removed")]


@pytest.mark.parametrize(("step", "times"), CUTS)
def test_a_pull_that_was_killed_is_repeated_and_nothing_is_parked_twice(place: Path, step: str, times: int):
    theirs(place, {"vault/boiler.md": line(3, "theirs"), "vault/picture.png": None, "vault/n.md": "# N\n\ntheirs\n"})
    (place / "vault/boiler.md").write_text(line(3, "ours"))
    (place / "vault/n.md").write_text("# N\n\nours\n")
    assert killed(place, step, times) == signal.SIGKILL
    home = Home.open(read(place))
    assert pull(home).done.outcome == "applied"
    assert len(waiting(home)) == 2
    assert (note(place), note(place, "n.md")) == (line(3, "ours"), "# N\n\nours\n")
    assert not (place / "vault/picture.png").exists()
    for ident in waiting(home):
        assert approve(home, ident) == "applied"
    assert "ours\ntheirs\n" in note(place)
    assert "ours\ntheirs\n" in note(place, "n.md")
    home.close()
    assert git(place, "status", "--porcelain") == ""
    sound(place)


def test_a_hand_that_edits_while_it_is_pulled_is_taken_in(home: Home, place: Path):
    theirs(place, {"vault/boiler.md": line(3, "theirs")})
    again = iter([line(10, "first"), line(10, "second"), line(10, "third")])

    def steps(name: str) -> None:
        if name == "journal written" and (text := next(again, None)):
            (place / "vault/boiler.md").write_text(text)

    home.ledger.steps = steps
    assert pull(home).done.outcome == "applied"
    assert note(place) == line(3, "theirs").replace("line 10\n", "third\n")
    assert git(place, "status", "--porcelain") == ""
    sound(place)


def test_only_the_owner_pulls_and_pushes(home: Home):
    done = home.changes.pull(Origin("member:tom", "cli", ""))
    assert (done.done.outcome, done.done.code) == ("refused", "not_owner")
    assert home.changes.push(Origin("member:tom", "cli", "")).code == "not_owner"


def test_plain_git_in_the_home_between_her_writes(home: Home, place: Path):
    """As obsidian-git does it: pull, commit everything, push, beside a Quorra that goes on."""
    for turn in range(4):
        theirs(place, {f"vault/their {turn}.md": f"# Their {turn}\n", "vault/boiler.md": line(turn, f"theirs {turn}")})
        write(home, f"ours {turn}.md", f"# Ours {turn}\n")
        (place / f"vault/hand {turn}.md").write_text(f"# Hand {turn}\n")
        if turn % 2:
            assert pull(home).done.outcome == "applied"
            git(place, "add", "-A")
            git(place, "commit", "-q", "-m", "vault backup")
            git(place, "push", "-q", "origin", "main")
        else:
            git(place, "add", "-A")
            git(place, "commit", "-q", "-m", "vault backup")
            git(place, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
            assert home.changes.push(Origin("owner", "cli", "")).outcome == "applied"
        git(place.parent / "other", "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
        assert head(place, "HEAD^{tree}") == head(place.parent / "other", "HEAD^{tree}")
    for turn in range(4):
        assert all((place / f"vault/{who} {turn}.md").exists() for who in ("their", "ours", "hand"))
    assert git(place, "status", "--porcelain") == ""
    sound(place)


def test_a_home_without_a_remote_says_how_to_add_one(tmp_path: Path):
    create(tmp_path, empty=True)
    home = Home.open(read(tmp_path))
    for done in (pull(home).done, home.changes.push(Origin("owner", "cli", ""))):
        assert (done.outcome, done.code) == ("refused", "no_remote")
        assert "git remote add origin URL" in (done.next or "")
    home.close()
