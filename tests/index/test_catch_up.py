"""The index follows what is on disk, commits nobody's work and embeds nothing twice."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quorra.access.window import Window
from quorra.index.store import manifest as manifests
from quorra.index.store.manifest import IndexBusy
from quorra.inference.embed.minilm import MiniLM
from tests.index.place import EVERYTHING, Place, compacted, contents

MODEL = MiniLM()
NOTES = {
    "household/boiler.md": "# Boiler\n\nThe boiler is an AX-20 and stands in the cellar.\n",
    "household/cat.md": "# Cat\n\nThe cat sleeps on the warm boiler all winter long.\n",
    "members/mira/diary.md": "# Diary\n\nThe boiler sang to me.\n",
    "members/tom/bicycle.md": "# Bicycle\n\nThe bicycle has a flat tyre.\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "home", NOTES, lambda: MODEL)


def test_a_hit_names_its_commit_once_there_is_one(place: Place):
    (hit,) = place.search("cat sleeps", mode="words", k=1).hits
    assert (hit.commit, hit.lines, hit.heading) == (None, (3, 3), "Cat")
    assert hit.blob == place.git("hash-object", "vault/household/cat.md").strip()
    head = place.commit()
    (hit,) = place.search("cat sleeps", mode="words", k=1).hits
    assert hit.commit == head
    assert hit.text in place.file(hit.path).read_text()
    place.write("household/cat.md", "The cat sleeps elsewhere.")
    found = place.search("cat sleeps", mode="words", k=1)
    assert (found.hits[0].commit, found.commit, found.behind) == (None, head, 0)


def test_searching_writes_nothing_into_git(place: Place):
    place.commit()
    place.write("household/cat.md", "Changed.")
    before = {path: path.stat().st_mtime_ns for path in (place.root / ".git").rglob("*")}
    place.search("changed")
    assert {path: path.stat().st_mtime_ns for path in (place.root / ".git").rglob("*")} == before


def test_an_edit_taken_back_is_followed(place: Place):
    place.commit()
    place.search("boiler")
    place.write("household/cat.md", "A zebra.")
    assert place.paths("zebra") == ["household/cat.md"]
    place.git("checkout", "-q", "--", ".")
    assert place.paths("zebra") == []
    assert place.paths("sleeps", mode="words") == ["household/cat.md"]


def test_history_that_was_replaced_is_followed(place: Place):
    place.commit()
    place.search("boiler")
    place.git("checkout", "-q", "--orphan", "other")
    place.write("household/cat.md", "A zebra.")
    place.commit()
    place.git("branch", "-D", "main")
    place.git("reflog", "expire", "--expire=now", "--all")
    place.git("gc", "-q", "--prune=now")
    assert place.paths("zebra") == ["household/cat.md"]
    assert "household/boiler.md" in place.paths("AX-20")


def test_a_move_a_revert_and_a_restart_embed_nothing(place: Place):
    place.commit()
    place.index.catch_up()
    assert place.index.embed().embedded == 4
    place.rename("household/boiler.md", "cellar/heating/boiler.md")
    moved = place.index.catch_up()
    assert (moved.reused, moved.pending) == (1, 0)
    place.rename("cellar/heating/boiler.md", "household/boiler.md")
    place.index.catch_up()
    assert place.index.embed().embedded == 0
    place.index.close()
    place.index = place.opened("another")
    place.index.catch_up()
    report = place.index.embed()
    assert (report.embedded, report.reused, report.pending) == (0, 4, 0)


def test_what_is_pending_is_said_and_embedded_once(place: Place):
    place.write("household/copy.md", NOTES["household/boiler.md"])
    assert place.search("boiler").pending == 5
    report = place.index.embed()
    assert (report.embedded, report.pending) == (4, 0)
    assert place.search("boiler").pending == 0
    hits = place.search("Where is the heating?", k=3).hits
    assert hits[0].path == "household/boiler.md"
    assert (hits[0].ranks.words, hits[0].ranks.meaning) == (None, 1)


def test_embedding_says_the_whole_first_and_then_what_is_left(place: Place):
    said: list[str] = []
    place.index.catch_up()
    place.index.embed(progress=said.append)
    assert said == []
    for number in range(40):
        place.write(f"household/{number}.md", f"Shelf {number} holds {number + 2} jars.")
    place.write("members/tom/jars.md", "Tom has no jar.")
    place.index.catch_up()
    place.index.embed(progress=said.append)
    assert said == ["Embedding 41 passages…", "1 of 41 passages still to embed"]
    place.index.embed(progress=said.append)
    assert len(said) == 2


def test_a_problem_is_counted_and_its_text_is_found(place: Place):
    place.write("broken.md", "---\ntitle: [never closed\n---\nThe walrus is here.\n")
    assert place.index.catch_up().problems >= 1
    assert place.paths("walrus") == ["broken.md"]


def test_a_window_opens_no_other_table(place: Place):
    window = Window(("household", "member:mira"))
    place.index.catch_up()
    place.index.embed()
    assert place.paths("boiler", window=window, mode="words")[0] in NOTES
    assert "members/tom/bicycle.md" not in place.paths("bicycle tyre", window=window)
    manifest = place.index.manifest()
    assert manifest is not None
    assert sorted(manifest.shelves) == ["household", "member:mira", "member:tom"]
    tables = place.root / ".quorra/index/tables"
    tom = tables / f"{manifest.shelves['member:tom'].table}.lance"
    tom.rename(tables / "away")
    place.index.close()
    place.index = place.opened()
    assert place.paths("boiler", window=window)
    (tables / "away").rename(tom)


def test_word_statistics_stay_in_their_domain(place: Place):
    alone = Place(place.root.parent / "alone", {p: t for p, t in NOTES.items() if not p.startswith("members/tom")})
    window = Window(("household",))
    scores = [[hit.score for hit in one.search("boiler", mode="words", window=window).hits] for one in (place, alone)]
    assert scores[0] == scores[1]


def test_a_search_does_not_wait_for_a_writer(place: Place):
    place.search("boiler")
    place.write("household/cat.md", "A zebra.")
    with manifests.locked(place.root / ".quorra/index"):
        found = place.index.search("zebra", window=EVERYTHING, wait=0.1)
        assert found.hits == ()
        with pytest.raises(IndexBusy), manifests.locked(place.root / ".quorra/index", 0.05):
            pass
    assert place.paths("zebra") == ["household/cat.md"]


def test_commits_not_yet_indexed_are_counted(place: Place):
    place.commit()
    place.search("boiler")
    for word in ("one", "two"):
        place.write("household/cat.md", word)
        place.commit()
    assert place.index.search("boiler", window=EVERYTHING, wait=0.0).behind == 2
    assert place.search("boiler").behind == 0


def test_a_reader_of_a_superseded_generation_goes_on(place: Place):
    place.search("boiler")
    old = place.index.manifest()
    assert old is not None
    table = place.opened().writer.tables.read(old.shelves["household"])
    for turn in range(3):
        place.write("household/cat.md", f"Turn {turn}.")
        place.index.catch_up()
    compacted(place.index)
    place.index.catch_up(rebuild=True)
    assert table.search("sleeps", query_type="fts", fts_columns="words").to_arrow().num_rows == 1
    assert (place.root / ".quorra/index" / old.catalogue).exists()


def test_an_unreadable_manifest_is_a_rebuild(place: Place):
    place.search("boiler")
    (place.root / ".quorra/index/manifest.json").write_text("{}")
    assert place.paths("AX-20")[0] == "household/boiler.md"


def test_catch_up_equals_rebuild_on_awkward_names(place: Place):
    names = ["o'brien.md", "x' OR 1=1 --.md", 'say "hi".md', "日本.md", "a b/c d.md", "UPPER.md", "per%cent_.md"]
    for name in names:
        place.write(f"names/{name}", f"# {name}\n\nA walrus.\n")
    assert len(place.paths("walrus")) == len(names)
    for name in names[:3]:
        place.remove(f"names/{name}")
    assert len(place.paths("walrus")) == len(names) - 3
    before = contents(place.index)
    place.index.catch_up(rebuild=True)
    assert contents(place.index) == before


def test_many_notes_are_prepared_as_few_are(tmp_path: Path):
    notes = {f"n/{number}.md": f"# Note {number}\n\nIt is about walrus {number}.\n" for number in range(400)}
    place = Place(tmp_path / "many", notes)
    assert place.index.catch_up().documents == 400
    before = contents(place.index)
    place.remove("n/7.md")
    place.index.catch_up()
    place.write("n/7.md", notes["n/7.md"])
    place.index.catch_up()
    assert contents(place.index) == before


def test_a_large_vault_is_searched_before_it_is_whole(tmp_path: Path):
    notes = {f"n/{number:04d}.md": f"The walrus number{number}.\n" for number in range(1520)}
    found = []

    def steps(name: str) -> None:
        if name == "parse":
            found.append(place.index.search("number7 number1510", mode="words", window=EVERYTHING, wait=0.0))

    place = Place(tmp_path / "large", {**notes, "members/mira/a.md": "A gnu."}, steps=steps)
    place.commit()
    assert place.index.catch_up().documents == 1521
    nothing, some = found
    assert (nothing.hits, nothing.behind) == ((), 1)
    assert ([hit.path for hit in some.hits], some.behind) == (["n/0007.md"], 21)
    whole = place.search("number7 number1510", mode="words")
    assert ([hit.path for hit in whole.hits], whole.behind) == (["n/0007.md", "n/1510.md"], 0)
    before, scores = contents(place.index), [hit.score for hit in whole.hits]
    place.steps = lambda _: None
    place.index.close()
    place.index = place.opened()
    place.index.catch_up(rebuild=True)
    assert contents(place.index) == before
    assert [hit.score for hit in place.search("number7 number1510", mode="words").hits] == scores


def test_threads_search_while_notes_change(place: Place):
    place.search("boiler")
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                assert place.index.search("boiler", window=EVERYTHING).hits
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(8):
        place.write("household/cat.md", f"The boiler, turn {turn}.")
        place.index.catch_up()
    for thread in threads:
        thread.join()
    assert not failures


def test_words_need_no_model_and_no_catalogue(place: Place):
    place.search("boiler")
    script = """
import sys
from pathlib import Path
from tests.index.place import EVERYTHING, Place
place = Place(Path(sys.argv[1]), {}, None)
assert place.search("boiler", mode="words").hits
heavy = {"onnxruntime", "tokenizers", "duckdb", "llama_cpp", "urllib3"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script, str(place.root)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_not_utf8_keeps_no_other_note_from_being_found(place: Place):
    (place.root / "vault" / "caf\udce9.md").write_text("The zither is out of tune.\n")
    found = place.search("cat sleeps", mode="words", k=1)
    assert (found.hits[0].path, found.behind) == ("household/cat.md", 0)
    assert place.paths("zither", mode="words") == []
    place.write("household/cat.md", "The cat sleeps elsewhere.")
    assert place.search("elsewhere", mode="words", k=1).behind == 0
