"""The index of a past commit is what a build from nothing would be, and harms neither the present nor its peers."""

import hashlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.index.past import KEPT, Past
from quorra.index.store import manifest as manifests
from quorra.inference.embed.minilm import MiniLM
from quorra.inference.protocol import Vectors
from quorra.vault import past
from quorra.vault.past import Then
from tests.index.place import EVERYTHING, Place, contents

MODEL = MiniLM()
TOM = Window(("household", "member:tom"))
WORDS = ("boiler", "cellar", "garden", "filter", "winter", "receipt", "bicycle", "cat", "pressure", "shed")


class Counting:
    """The real embedder, with a count of the texts that it was asked for."""

    name, dim = MODEL.name, MODEL.dim

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return MODEL.embed(texts)

    def close(self) -> None:
        """Leaves the model open for the tests to come."""


class Years(Place):
    """A home with a history, and the indexes of its past."""

    def __init__(self, root: Path, commits: int = 6, seed: int = 5) -> None:
        self.counting = Counting()
        super().__init__(root, {"start.md": "Here it begins."}, lambda: self.counting)
        self.pick = random.Random(seed)
        self.commits = [self.commit(), *(self._turned() for _ in range(commits))]
        self.past = Past(root / ".quorra/at", root / ".quorra/cache", lambda: self.index, self.embedder)

    def _turned(self) -> str:
        names = [f"{folder}/n{at}.md" for folder in ("household", "members/tom") for at in range(8)]
        for name in self.pick.sample(names, 4):
            if self.file(name).exists() and self.pick.random() < 0.3:
                self.remove(name)
            else:
                lines = [" ".join(self.pick.choices(WORDS, k=9)) for _ in range(4)]
                self.write(name, f"# {self.pick.choice(WORDS)}\n\n" + "\n\n".join(lines) + "\n")
        return self.commit()

    def then(self, commit: str, window: Window = EVERYTHING) -> Then:
        return past.at(self.texts, commit, window)


@pytest.fixture
def years(tmp_path: Path) -> Iterator[Years]:
    place = Years(tmp_path / "home")
    yield place
    place.close()


def hits(index: Index) -> list[object]:
    found = [index.search(" ".join(pair), mode="words", window=EVERYTHING) for pair in pairwise(WORDS)]
    return [(hit.path, hit.lines, hit.blob, round(hit.score, 5)) for each in found for hit in each.hits]


@pytest.mark.parametrize("start", [None, 0, 3, 6])
def test_it_equals_a_build_from_nothing_whatever_it_began_from(years: Years, start: int | None):
    if start is not None:
        years.git("checkout", "-q", years.commits[start])
        years.index.catch_up()
        years.git("checkout", "-q", "main")
    for commit in (years.commits[4], years.commits[1]):
        plain = Index(years.root / ".quorra" / commit, years.root / ".quorra/cache", years.then(commit))
        plain.catch_up()
        with years.past.open(years.then(commit)) as index:
            assert contents(index) == contents(plain)
            assert hits(index) == hits(plain) != []


def test_the_present_is_not_touched(years: Years):
    years.write("household/new.md", "Not committed yet.")
    years.index.catch_up()

    def all_bytes() -> dict[Path, str]:
        files = [file for file in years.index.folder.rglob("*") if file.is_file()]
        return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    before = all_bytes()
    for commit in years.commits:
        with years.past.open(years.then(commit)) as index:
            assert index.search("committed", mode="words", window=EVERYTHING).hits == ()
    assert all_bytes() == before


def test_a_hit_names_the_commit_and_its_text_for_ever(years: Years):
    years.index.catch_up()
    commit = years.commits[2]
    with years.past.open(years.then(commit)) as index:
        found = index.search("boiler pressure", window=EVERYTHING)
    assert (found.commit, found.behind) == (commit, 0)
    assert found.hits
    for hit in found.hits:
        text = years.git("show", f"{hit.commit}:vault/{hit.path}").split("\n")
        assert hit.commit == commit
        assert "\n".join(text[hit.lines[0] - 1 : hit.lines[1]]) == hit.text


def test_meaning_reaches_as_far_as_the_cache(years: Years):
    years.index.catch_up()
    years.index.embed()
    counted = years.counting.texts
    with years.past.open(years.then(years.commits[3])) as index:
        report = index.embed(seconds=0)
        assert years.counting.texts == counted
        assert 0 < report.pending < report.passages
        found = index.search("a warm place for an animal", mode="meaning", window=EVERYTHING)
        assert years.counting.texts == counted + 1
        assert (found.pending, found.hits != ()) == (report.pending, True)
        assert index.embed().pending == 0


def test_it_is_made_once_and_known_to_other_processes(years: Years):
    years.index.catch_up()
    steps: list[str] = []
    others = [
        Past(years.past.folder, years.root / ".quorra/cache", lambda: years.index, steps=steps.append) for _ in range(4)
    ]

    def ask(other: Past) -> list[object]:
        with other.open(years.then(years.commits[2])) as index:
            return hits(index)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, others))
    assert answers == [answers[0]] * 4
    assert steps.count("in place") == 1
    assert [folder.name for folder in years.past.folder.iterdir() if folder.is_dir()] == [years.commits[2]]


def test_those_used_last_are_kept_and_one_that_is_read(years: Years):
    years.index.catch_up()
    with years.past.open(years.then(years.commits[0])) as held:
        for commit in (*years.commits[1:], years.commits[3]):
            with years.past.open(years.then(commit)):
                pass
        there = {folder.name for folder in years.past.folder.iterdir() if folder.is_dir()}
        assert there == {years.commits[0], *years.commits[-KEPT:]}
        assert held.search("begins", mode="words", window=EVERYTHING).hits
    with years.past.open(years.then(years.commits[1])):
        pass
    there = {folder.name for folder in years.past.folder.iterdir() if folder.is_dir()}
    assert there == {years.commits[1], *(years.commits[at] for at in (3, 5, 6))}


VICTIM = """
import os, signal, sys
from pathlib import Path
from tests.index.test_past import EVERYTHING, Past, Place, past
root, commit, step = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
place = Place(root, {})
def steps(name):
    if name == step:
        os.kill(os.getpid(), signal.SIGKILL)
indexes = Past(root / ".quorra/at", root / ".quorra/cache", lambda: place.index, steps=steps)
with indexes.open(past.at(place.texts, commit, EVERYTHING)):
    pass
"""


@pytest.mark.parametrize("step", ["parse", "rows", "catalogue", "publish", "compact", "in place"])
def test_killed_while_it_is_made(years: Years, step: str):
    years.index.catch_up()
    commit = years.commits[1]
    words = [sys.executable, "-c", VICTIM, str(years.root), commit, step]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [folder.name[:4] for folder in years.past.folder.iterdir() if folder.is_dir()] == ["new-"]
    with years.past.open(years.then(commit)) as index:
        assert index.search("begins", mode="words", window=EVERYTHING).hits
    assert [folder.name for folder in years.past.folder.iterdir() if folder.is_dir()] == [commit]


def test_what_is_damaged_is_made_again(years: Years):
    years.index.catch_up()
    then = years.then(years.commits[3])
    with years.past.open(then) as index:
        good = hits(index)
    for victim in ("manifest.json", "used", "tables/*.lance/data/*"):
        for file in (years.past.folder / then.commit).glob(victim):
            file.unlink()
        with years.past.open(then) as index:
            assert hits(index) == good
    next(years.index.folder.glob("catalogue-*")).unlink()
    with years.past.open(years.then(years.commits[1])) as index:
        assert index.search("begins", mode="words", window=EVERYTHING).hits


def test_what_is_hidden_is_in_no_table_and_in_no_statistics(years: Years):
    for name in ("a", "b", "c"):
        years.write(f"household/{name}.md", "The zebra is striped, and the gnu is not.\n")
    years.write("household/party.md", "The zebra brings the party cake.\n")
    commit = years.commit()
    years.rename("household/party.md", "members/mira/party.md")
    years.write("household/party.md", "Nothing of the kind.\n")
    years.commit()
    years.index.catch_up()
    with years.past.open(years.then(commit)) as whole:
        seen = whole.search("zebra", mode="words", window=TOM)
        assert "household/party.md" in [hit.path for hit in seen.hits]
    then = years.then(commit, TOM)
    with years.past.open(then) as index:
        found = index.search("zebra", mode="words", window=TOM)
        assert [hit.path for hit in found.hits] == [f"household/{name}.md" for name in ("a", "b", "c")]
        assert index.search("party cake kind", mode="words", window=TOM).hits == ()
        assert "party" not in str(contents(index))
    plain = Index(years.root / ".quorra/plain", years.root / ".quorra/cache", then)
    plain.catch_up()
    scores = [hit.score for hit in plain.search("zebra", mode="words", window=TOM).hits]
    assert [hit.score for hit in found.hits] == scores


def test_a_commit_before_the_vault_has_no_notes(tmp_path: Path):
    place = Place(tmp_path, {})
    (tmp_path / "other.txt").write_text("no note")
    before = place.commit()
    place.write("household/cat.md", "The cat sleeps.")
    place.commit()
    place.index.catch_up()
    with Past(tmp_path / ".quorra/at", tmp_path / ".quorra/cache", lambda: place.index).open(
        past.at(place.texts, before, EVERYTHING)
    ) as index:
        found = index.search("cat", window=EVERYTHING)
    assert (found.commit, found.behind, found.pending, found.hits) == (before, 0, 0, ())
    place.close()


def test_an_index_of_a_later_commit_than_the_one_checked_out_is_behind(years: Years):
    years.index.catch_up()
    years.git("checkout", "-q", years.commits[2])
    with manifests.locked(years.index.folder):
        found = years.index.search("boiler", mode="words", window=EVERYTHING, wait=0.05)
    assert (found.commit, found.behind) == (years.commits[-1], 1)
    found = years.search("boiler", mode="words")
    assert (found.commit, found.behind) == (years.commits[2], 0)
