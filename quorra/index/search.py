"""Searches the tables of a window and turns what it finds into hits."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorra.access import window as windows
from quorra.access.window import Window
from quorra.index import rank
from quorra.index.found import Found, Hit, Mode, Ranks
from quorra.index.intake import terms
from quorra.index.rank import Address, Field, Spot
from quorra.index.store.manifest import Manifest, Shelf
from quorra.inference.protocol import Embedder, ModelAway, Vectors

if TYPE_CHECKING:
    from quorra.index.store.tables import Tables

DEEP = 200
_LONGEST = 2000
_MANY = 3
_EVERY = 40
_EXACT = 0.4

# Dates, versions, options and names of code: what vectors blur and words find.
_CODE = re.compile(r"\d|[a-z][A-Z]|\w_\w|[A-Za-z]-[A-Z]|^-{1,2}\w")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the searches take it; ``vector`` None where meaning has no part in it."""

    text: str
    words: tuple[str, ...]
    mode: Mode
    k: int
    vector: Vectors | None = None

    @property
    def floor(self) -> float:
        """Gives the cosine that a note needs where none of the question's words is in it.

        One or two bare words are meant as words; a sentence says what it means in other words too.
        """
        bare = terms.bare(self.text) if self.mode == "hybrid" else 0
        return {1: 0.5, 2: 0.3}.get(bare, 0.2)

    @property
    def share(self) -> float:
        """Gives the words' part in a note's score: none where no word tells anything, more the more are exact."""
        if not terms.telling(self.words):
            return 0.0
        tokens = [each for each in self.text.split() if terms.bare(each)]
        exact = sum(_CODE.search(each) is not None for each in tokens)
        return rank.WORDS + _EXACT * exact / max(1, len(tokens))

    @property
    def deep(self) -> int:
        """Counts the passages to look at."""
        return max(DEEP, 3 * self.k)


@dataclass(frozen=True, slots=True)
class Lexical:
    """What words found: notes by all their words, passages by theirs, passages that hold every word."""

    whole: Sequence[Spot] = ()
    passages: Sequence[Spot] = ()
    every: Sequence[Spot] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """What was found: notes by each mode and by the one that was asked for, passages by each."""

    words: Mapping[str, float]
    meaning: Mapping[str, float]
    notes: Mapping[str, float]
    lexical: Lexical
    near: Sequence[Spot]


class Searcher:
    """Answers questions from published manifests; ``embedder`` is called when a question needs a vector."""

    def __init__(self, tables: "Tables", embedder: Callable[[], Embedder] | None) -> None:
        self._tables = tables
        self._embedder = embedder
        self._beside = ThreadPoolExecutor(4, "quorra-words")

    def run(self, manifest: Manifest, text: str, k: int, mode: Mode, window: Window, per_note: bool) -> Found:
        """Answers one question; the caller knows how far the manifest is behind."""
        words = terms.asked(text)
        shelves = opened(manifest, window)
        keyed = sum(shelf.keyed for shelf in shelves)
        pending = keyed - sum(shelf.vectors for shelf in shelves)
        if not words:
            return Found(manifest.commit, 0, pending, (), "empty_query")
        question = Question(text[:_LONGEST], words, mode, k)
        lexical = self._lexical(shelves, question)
        vector, reason = self._vector(manifest, question)
        pending = pending if vector is not None or mode == "words" else keyed
        near = self._near(shelves, vector, question.deep) if vector is not None else None
        found = Lexical(*(each.result() for each in lexical))
        scores = self._score(question, found, near, vector)
        hits = self._hits(manifest, scores, k, per_note)
        return Found(manifest.commit, 0, pending, hits, reason)

    def close(self) -> None:
        """Ends the searcher's thread."""
        self._beside.shutdown()

    def _vector(self, manifest: Manifest, question: Question) -> tuple[Vectors | None, str | None]:
        if question.mode == "words" or self._embedder is None or not manifest.embedder:
            return None, None
        try:
            embedder = self._embedder()
            if embedder.name != manifest.embedder:
                return None, None
            return embedder.embed([question.text])[0], None
        except ModelAway:
            if question.mode == "meaning":
                raise
            return None, "embedder_away"

    def _lexical(self, shelves: Sequence[Shelf], question: Question) -> list[Future[list[Spot]]]:
        """Starts the searches for words, each in a thread of its own."""
        if question.mode == "meaning":
            return []
        wanted = [("whole", question.deep, False), ("words", question.deep, False)]
        if question.mode == "hybrid" and len(question.words) >= _MANY:
            wanted.append(("words", _EVERY, True))
        return [self._beside.submit(self._words, shelves, question, *each) for each in wanted]

    def _words(self, shelves: Sequence[Shelf], question: Question, column: str, limit: int, every: bool) -> list[Spot]:
        from quorra.index.store import tables as store

        query = " ".join(question.words)
        tables = [self._tables.read(shelf) for shelf in shelves]
        return [spot for table in tables for spot in store.words(table, column, query, limit, every)]

    def _near(self, shelves: Sequence[Shelf], vector: Vectors, limit: int) -> Field:
        from quorra.index.store import tables as store

        return _joined([store.near(self._tables.read(shelf), shelf, vector, limit) for shelf in shelves], vector)

    def _score(
        self,
        question: Question,
        found: Lexical,
        near: Field | None,
        vector: Vectors | None,
    ) -> Scores:
        words = rank.by_words(found.whole, found.passages)
        if near is None or vector is None:
            return Scores(words, {}, words, found, ())
        spots, meaning, floor = near.spots(vector), near.near(vector), question.floor
        if question.mode == "meaning":
            kept = {path: at for path, at in meaning.items() if at >= floor}
            return Scores({}, meaning, kept, found, spots)
        fused = rank.fused(words, near, vector, question.share)
        for path, bonus in rank.remembered(found.every).items():
            fused[path] = fused.get(path, 0.0) + bonus
        kept = {path: at for path, at in fused.items() if path in words or meaning.get(path, -1.0) >= floor}
        kept |= {path: 0.0 for path in words if path not in kept}
        return Scores(words, meaning, kept, found, spots)

    def _hits(self, manifest: Manifest, scores: Scores, k: int, per_note: bool) -> tuple[Hit, ...]:
        passages = _passages(scores)
        chosen = _best_notes(scores, passages, k) if per_note else _best_passages(scores, passages, k)
        rows = self._rows(manifest, chosen)
        words = {path: at for at, path in enumerate(rank.ordered(scores.words), 1)}
        meaning = {path: at for at, path in enumerate(rank.ordered(scores.meaning), 1)}
        return tuple(
            _hit(rows[spot.path, spot.part], spot.score, Ranks(words.get(spot.path), meaning.get(spot.path)), manifest)
            for spot in chosen
        )

    def _rows(self, manifest: Manifest, spots: Sequence[Spot]) -> dict[Address, Mapping[str, Any]]:
        from quorra.index.store import tables as store

        numbers: dict[str, list[int]] = {}
        for spot in spots:
            numbers.setdefault(windows.domain(spot.path), []).append(spot.row)
        found: dict[Address, Mapping[str, Any]] = {}
        for domain, some in numbers.items():
            table = self._tables.read(manifest.shelves[domain])
            for row in store.taken(table, some, store.SHOWN).to_pylist():
                found[row["path"], row["part"]] = row
        return found


def opened(manifest: Manifest, window: Window) -> list[Shelf]:
    """Gives the tables that a window opens; the others are never touched."""
    return [
        shelf
        for domain, shelf in sorted(manifest.shelves.items())
        if window.domains is None or domain in window.domains
    ]


def _joined(fields: Sequence[Field], like: Vectors) -> Field:
    rows = [field.rows for field in fields if field.addresses]
    return Field(
        [address for field in fields for address in field.addresses],
        [number for field in fields for number in field.numbers],
        np.concatenate(rows) if rows else np.zeros((0, len(like)), np.float32),
    )


def _passages(scores: Scores) -> dict[Address, Spot]:
    """Scores passages by words and meaning, each side over its own range."""
    found: dict[Address, Spot] = {}
    for spots, share in ((scores.lexical.passages, rank.WORDS), (scores.near, 1 - rank.WORDS)):
        high = max((spot.score for spot in spots), default=0.0)
        low = min((spot.score for spot in spots), default=0.0) if spots is scores.near else 0.0
        for spot in spots:
            part = (spot.score - low) / (high - low) if high > low else 1.0
            held = found.get((spot.path, spot.part))
            score = share * part + (held.score if held else 0.0)
            found[spot.path, spot.part] = Spot(spot.path, spot.part, score, held.row if held else spot.row)
    return found


def _best_notes(scores: Scores, passages: Mapping[Address, Spot], k: int) -> list[Spot]:
    """Gives the best passage of each of the best notes, with the note's score."""
    best = rank.best(passages.values())
    whole = {spot.path: spot for spot in scores.lexical.whole}
    order = [path for path in rank.ordered(scores.notes, scores.words, scores.meaning) if path in scores.notes]
    chosen = (best.get(path) or whole[path] for path in order[:k])
    return [Spot(spot.path, spot.part, scores.notes[spot.path], spot.row) for spot in chosen]


def _best_passages(scores: Scores, passages: Mapping[Address, Spot], k: int) -> list[Spot]:
    """Gives the best passages of all, each by its own score and half its note's."""
    top = max(scores.notes.values(), default=0.0) or 1.0
    values = [
        Spot(spot.path, spot.part, spot.score + 0.5 * scores.notes[spot.path] / top, spot.row)
        for spot in passages.values()
        if spot.path in scores.notes
    ]
    return sorted(values, key=lambda spot: (-spot.score, spot.path, spot.part))[:k]


def _hit(row: Mapping[str, Any], score: float, ranks: Ranks, manifest: Manifest) -> Hit:
    commit = None if row["path"] in manifest.uncommitted else manifest.commit
    return Hit(
        row["path"], row["heading"], (row["first"], row["last"]), commit, row["blob"], row["text"], score, ranks,
        row["title"], row["date"],
    )  # fmt: skip
