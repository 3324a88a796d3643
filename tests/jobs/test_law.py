"""Whatever hands do, one adoption leaves the tree equal to the disk."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorra.jobs.rounds import Rounds
from quorra.vault import strays
from tests.jobs.watched import Watched, rename

NAMES = ("a.md", "b.md", "d/a.md", "d/e/c.md", "members/tom/t.md", "pic.jpg", "a.md~", "d/.a.md.tmp1", "~$a.md", "é.md")
START = {"a.md": "old\n", "d/a.md": "old\n", "d/e/c.md": "c\n"}
TEXTS = st.sampled_from(["", "x\n", "y\r\n", "z", "[[a]]\n"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), TEXTS),
        st.tuples(st.just("append"), st.sampled_from(NAMES), TEXTS),
        st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just("")),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.just("folder"), st.sampled_from(["d", "d/e", "f"]), st.sampled_from(["f", "g/h", "d2"])),
        st.tuples(st.just("adopt"), st.just(""), st.just("")),
    ),
    max_size=14,
)


def do(place: Watched, verb: str, name: str, more: str) -> None:
    file = place.file(name)
    match verb:
        case "write":
            place.write(name, more)
        case "append" if file.is_file():
            file.write_text(file.read_text() + more)
        case "remove":
            file.unlink(missing_ok=True)
        case "move" if file.is_file():
            rename(file, place.file(more))
        case "folder" if file.is_dir() and not place.file(more).exists():
            rename(file, place.file(more))
        case "adopt":
            adopt(place)


def adopt(place: Watched) -> None:
    Rounds(place.home, 0.0, lambda: 0.0).look(late=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    made = Watched(tmp_path_factory.mktemp("law"), {})
    yield made
    made.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_after_an_adoption_the_tree_is_what_is_on_disk(place: Watched, steps: list[tuple[str, str, str]]):
    shutil.rmtree(place.vault)
    for name, text in START.items():
        place.write(name, text)
    adopt(place)
    for step in steps:
        do(place, *step)
    adopt(place)
    files = [file.relative_to(place.vault).as_posix() for file in place.vault.rglob("*") if file.is_file()]
    wanted = {name: place.file(name).read_bytes() for name in files if not strays.passing(name)}
    head = {name: blob for name, blob in place.home.ledger.tree("HEAD").items() if name.startswith("vault/")}
    assert {name.removeprefix("vault/"): place.home.ledger.blob(blob) for name, blob in head.items()} == wanted
    assert not place.git("diff", "--cached", "--name-only")
