"""Files that editors and sync clients leave: what is in passing, and which note a conflicted copy belongs to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.access.window import Window
from quorra.vault import strays
from quorra.vault.library import Library
from quorra.vault.strays import Copy
from quorra.vault.texts import notes
from tests.index.place import Place

EVERYTHING = Window(None)
PASSING = (
    *("~$boiler.md", "#boiler.md#", ".#boiler.md", ".boiler.md.swp", "boiler.md.swx", "boiler.md~", "4913"),
    *(".boiler.md.~a1b2c3d", "plan.md.ocTransferId123456789.part", ".syncthing.boiler.md.tmp", ".boiler.md.tmp1"),
    *("boiler.sync-conflict-20240501-101010-ABCDEFG.md.tmp", "boiler.md.sb-1a2b3c4d-Xy12Zz", "film.crdownload"),
)
STAYING = ("boiler.md", "4913.md", "a~b.md", "#tags.md", "$x.md", "templates.tmpl", "swx.md", "part.md", "photo.jpg")
COPIES = {
    "boiler (conflicted copy 2026-07-10 070952).md": "Nextcloud",
    "boiler (conflicted copy Mira 2026-07-10 070952).md": "Nextcloud",
    "boiler (conflicted copy).md": "Nextcloud",
    "boiler (Tom's conflicted copy 2026-07-10).md": "Dropbox",
    "boiler (Tom's conflicted copy 2026-07-10 (1)).md": "Dropbox",
    "boiler_conflict-20240501-101010.md": "ownCloud",
    "boiler.sync-conflict-20240501-101010-ABCDEFG.md": "Syncthing",
}
SPELLED = {
    "Nextcloud": "{stem} (conflicted copy 2026-07-10 070952){ending}",
    "Dropbox": "{stem} (Tom's conflicted copy 2026-07-10){ending}",
    "ownCloud": "{stem}_conflict-20240501-101010{ending}",
    "Syncthing": "{stem}.sync-conflict-20240501-101010-ABCDEFG{ending}",
}
STEMS = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda stem: stem not in (".", "..") and "conflict" not in stem
)


@pytest.mark.parametrize("name", PASSING)
def test_a_file_in_passing_is_no_note(name: str):
    assert strays.passing(name)
    assert strays.passing(f"home/{name}")


@pytest.mark.parametrize("name", STAYING)
def test_an_ordinary_name_stays(name: str):
    assert not strays.passing(name)


@pytest.mark.parametrize("name", COPIES)
def test_a_conflicted_copy_names_its_note(name: str):
    assert strays.copy(f"home/{name}") == Copy("home/boiler.md", COPIES[name])


@pytest.mark.parametrize("name", ["conflicts.md", "a (conflicted copy policy).md", "(conflicted copy).md", "a/b.md"])
def test_a_name_that_only_speaks_of_conflicts_is_no_copy(name: str):
    assert strays.copy(name) is None


@given(st.lists(STEMS, min_size=1, max_size=3), st.sampled_from(["", ".md", ".jpg"]), st.sampled_from(sorted(SPELLED)))
def test_what_a_client_spells_is_read_back(parts: list[str], ending: str, kind: str):
    stem = "/".join(parts)
    if not ending and "." in parts[-1]:
        ending = ".md"
    assert strays.copy(SPELLED[kind].format(stem=stem, ending=ending)) == Copy(stem + ending, kind)


def test_a_copy_of_a_copy_belongs_to_what_is_there():
    twice = "boiler (conflicted copy 2026-07-10 070952) (conflicted copy 2026-07-11 080000).md"
    once = "boiler (conflicted copy 2026-07-10 070952).md"
    assert notes(["boiler.md", once, twice]) == ["boiler.md"]
    assert notes(["boiler.md", twice]) == ["boiler.md"]
    assert notes([once, twice]) == [once]
    assert notes([twice]) == [twice]


@pytest.mark.parametrize(("of", "to"), [("home/boiler.md", "cellar/v1.2/heat.ing.md"), ("a.b/plan", "a.b/map")])
@pytest.mark.parametrize("spelled", SPELLED.values())
def test_a_renamed_copy_keeps_its_mark(of: str, to: str, spelled: str):
    def copy(path: str) -> str:
        return spelled.format(stem=path.removesuffix(".md"), ending=".md" * path.endswith(".md"))

    assert strays.renamed(copy(of), of, to) == copy(to)


def test_index_check_and_links_agree_on_what_a_copy_is(tmp_path: Path):
    name = "home/boiler (conflicted copy 2026-07-10 070952).md"
    place = Place(tmp_path, {"home/boiler.md": "# Boiler\n\nold walrus\n", "log.md": "[[boiler]]\n"})
    place.write(name, "# Boiler\n\nother walrus\n")
    place.write("home/~$boiler.md", "passing walrus\n")
    library = Library(place.texts)
    for step in ("untracked", "tracked"):
        assert place.paths("walrus", mode="words") == ["home/boiler.md"], step
        assert library.check((), EVERYTHING).notes == 2
        assert library.links("log", EVERYTHING)[0][0].resolves == "home/boiler.md"
        assert library.read(name, EVERYTHING).note.path == name
        if step == "untracked":
            place.commit()
    place.remove("home/boiler.md")
    assert place.paths("walrus", mode="words") == [name], "a copy whose note is gone is a note"
    assert library.check((), EVERYTHING).notes == 2
    place.commit()
    assert place.paths("walrus", mode="words") == [name]
    place.write("home/boiler.md", "# Boiler\n\nback walrus\n")
    assert place.paths("walrus", mode="words") == ["home/boiler.md"]
    place.close()
