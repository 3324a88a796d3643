"""Two histories that grew from one: after a pull no line is lost, no marker stands anywhere, and both sides agree."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quorra.home import Home, create
from quorra.ledger.change import Origin
from quorra.settings import read
from tests.ledger.places import git, sound

BASE = {f"{name}.md": [f"{name} {number}" for number in range(8)] for name in ("a", "b", "c")}
NAMES = [*BASE, "d.md", "e.md", "sub/a.md"]
Texts = dict[str, list[str]]
Step = tuple[str, str, int]
KINDS = st.sampled_from(["change", "insert", "cut", "remove", "move", "add"])
STEPS = st.lists(st.tuples(KINDS, st.sampled_from(NAMES), st.integers(0, 9)), min_size=1, max_size=5)


def grown(texts: Texts, steps: Sequence[Step], side: str) -> Texts:
    """Does some steps; every line that is written is like no other, but a few that both sides write alike."""
    found = {name: list(lines) for name, lines in texts.items()}
    for number, (kind, name, at) in enumerate(steps):
        lines = found.get(name)
        fresh = "the same" if at == 9 else f"{side} {number} {at}"
        if kind == "add" and lines is None:
            found[name] = [fresh, f"{side} more {number}"]
        elif lines is None:
            continue
        elif kind == "change" and lines:
            lines[at % len(lines)] = fresh
        elif kind == "insert":
            lines.insert(at % (len(lines) + 1), fresh)
        elif kind == "cut" and lines:
            del lines[at % len(lines)]
        elif kind == "remove":
            del found[name]
        elif kind == "move" and (free := [other for other in NAMES if other not in found]):
            found[free[at % len(free)]] = found.pop(name)
    return found


def put(root: Path, texts: Texts) -> None:
    for name in NAMES:
        file = root / "vault" / name
        if name in texts:
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"{line}\n" for line in texts[name]))
        else:
            file.unlink(missing_ok=True)


def commit(root: Path, subject: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", subject)


def lines(texts: Texts) -> set[str]:
    return {line for text in texts.values() for line in text}


def standing(root: Path) -> set[str]:
    return {line for file in (root / "vault").rglob("*.md") for line in file.read_text().splitlines()}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home and another person's clone of it, which share a bare repository beside them."""
    place = tmp_path_factory.mktemp("start")
    git(place, "init", "-q", "--bare", "-b", "main", "hub")
    create(place / "home", empty=True)
    put(place / "home", BASE)
    for key, value in (("user.name", "Mira"), ("user.email", "mira@localhost")):
        git(place / "home", "config", key, value)
    git(place / "home", "remote", "add", "origin", "../hub")
    commit(place / "home", "notes")
    git(place / "home", "push", "-q", "origin", "main")
    git(place, "clone", "-q", "hub", "other")
    git(place / "other", "remote", "set-url", "origin", "../hub")
    for key, value in (("user.name", "Tom"), ("user.email", "tom@localhost")):
        git(place / "other", "config", key, value)
    return place


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([("change", "a.md", 1), ("move", "a.md", 0)], [], [("change", "a.md", 5), ("move", "a.md", 1)], Random(0))
@example([("change", "a.md", 1), ("move", "a.md", 0)], [], [("change", "b.md", 5), ("move", "b.md", 0)], Random(0))
@example([("remove", "a.md", 0)], [("move", "b.md", 0)], [("change", "a.md", 5), ("change", "b.md", 1)], Random(0))
@given(ours=STEPS, hand=STEPS, theirs=STEPS, order=st.randoms(use_true_random=False))
def test_nothing_is_lost_in_a_pull(start: Path, ours, hand, theirs, order):
    place = start.with_name("now")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(start, place, symlinks=True)
    committed = grown(BASE, ours, "ours")
    put(place / "home", committed)
    commit(place / "home", "ours")
    mine = grown(committed, hand, "hand")
    put(place / "home", mine)
    other = grown(BASE, theirs, "theirs")
    put(place / "other", other)
    commit(place / "other", "theirs")
    git(place / "other", "push", "-q", "origin", "main")
    home = Home.open(read(place / "home"))
    try:
        dropped = lines(committed) - lines(mine)
        _check(home, place, lines(mine) - lines(BASE), lines(other) - lines(BASE) - dropped, order)
    finally:
        home.close()


def _check(home: Home, place: Path, mine: set[str], other: set[str], order) -> None:
    done = home.changes.pull(Origin("owner", "cli", ""))
    assert done.done.outcome == "applied", done
    here = standing(place / "home")
    parked = {line for ident in done.proposals for line in home.proposals.box.get(ident).payload["theirs"].split("\n")}
    assert mine <= here
    assert other <= here | parked
    assert not [line for line in here | parked if line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||"))]
    for ident in order.sample(done.proposals, len(done.proposals)):
        home.proposals.show(ident)
        approved = home.proposals.approve(ident, "owner", home.ledger.clock())
        assert approved.outcome == "applied", approved
    assert mine | other <= standing(place / "home")
    sound(place / "home")
    commit(place / "home", "what is left by hand")
    assert home.changes.push(Origin("owner", "cli", "")).outcome == "applied"
    second = Home.open(read(place / "other"))
    assert second.changes.pull(Origin("owner", "cli", "")).done.outcome == "applied"
    second.close()
    trees = {git(place / name, "rev-parse", "HEAD^{tree}") for name in ("home", "other")}
    assert len(trees) == 1
    assert git(place / "other", "status", "--porcelain") == ""
