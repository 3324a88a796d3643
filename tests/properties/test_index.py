"""Catching up gives what a rebuild gives, whatever was edited, moved, removed or committed in between."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.place import Place, compacted, contents

NAMES = st.sampled_from(["a.md", "b.md", "deep/c.md", "o'brien.md", "members/mira/d.md", "日本.md"])
TEXTS = st.sampled_from(
    [
        "",
        "A zebra and a yak.\n",
        "# Title\n\nThe yak is 7:30 late.\n\n## Part\n\n- [ ] call the zebra\n",
        "---\ntitle: Dated\ndate: 2026-05-12\ntags: [x, y]\n---\nSee [[a]] and [b](b.md).\n",
        "---\ntitle: [broken\n---\nA gnu.\n",
        "word " * 400,
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.just(("commit",)),
    st.just(("back",)),
    st.just(("look",)),
)


def do(place: Place, step: tuple[str, ...]) -> None:
    match step:
        case ("write", path, text):
            place.write(path, text)
        case ("rename", old, new) if place.file(old).exists() and old != new:
            place.rename(old, new)
        case ("remove", path) if place.file(path).exists():
            place.remove(path)
        case ("commit",):
            place.git("add", "-A")
            place.git("commit", "-q", "--allow-empty", "-m", "by hand")
        case ("back",):
            place.git("checkout", "-q", "--", ".")
        case ("look",):
            place.index.catch_up()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_catch_up_equals_rebuild(steps: list[tuple[str, ...]]):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), {"a.md": "A zebra.\n", "keep.md": "Kept.\n"})
        place.commit()
        place.index.catch_up()
        for step in steps:
            do(place, step)
        place.index.catch_up()
        compacted(place.index)
        found = contents(place.index)
        scores = [_scores(place, question) for question in ("zebra", "yak late", "gnu")]
        place.index.catch_up(rebuild=True)
        assert contents(place.index) == found
        assert [_scores(place, question) for question in ("zebra", "yak late", "gnu")] == scores
        place.close()


def _scores(place: Place, question: str) -> list[tuple[str, float]]:
    return [(hit.path, hit.score) for hit in place.search(question, mode="words").hits]
