"""Searches the tables of a window and turns what it finds into hits."""

from collections.abc import Iterable, Mapping
from typing import Any

from quorra.access.window import Window
from quorra.index import rank, terms
from quorra.index.found import Found, Hit, Mode, Ranks
from quorra.index.rank import Spot
from quorra.index.store.manifest import Manifest, Shelf

_DEEP = 300
_COLUMNS = ("path", "part", "first", "last", "heading", "text", "blob", "title", "date")


def run(tables: Any, manifest: Manifest, question: str, k: int, mode: Mode, window: Window, per_note: bool) -> Found:
    """Answers a question from a published index."""
    asked = terms.asked(question)
    if not asked:
        return Found(manifest.commit, 0, manifest.pending, (), "empty_query")
    shelves = opened(manifest, window)
    whole, spots = _words(tables, shelves, asked, max(_DEEP, 3 * k))
    scores = rank.by_words(whole, spots)
    order = rank.ordered(scores)[:k]
    places = {path: at for at, path in enumerate(order, 1)}
    chosen = rank.best(spots)
    picked = [chosen.get(path, Spot(path, 0, 0.0)) for path in order]
    rows = _rows(tables, shelves, picked)
    hits = tuple(
        _hit(rows[path, chosen[path].part if path in chosen else 0], scores[path], places[path], None, manifest)
        for path in order
        if (path, chosen[path].part if path in chosen else 0) in rows
    )
    return Found(manifest.commit, 0, manifest.pending, hits)


def opened(manifest: Manifest, window: Window) -> list[Shelf]:
    """Gives the tables that a window opens; the others are never touched."""
    return [
        shelf
        for domain, shelf in sorted(manifest.shelves.items())
        if window.domains is None or domain in window.domains
    ]


def _words(tables: Any, shelves: Iterable[Shelf], asked: tuple[str, ...], limit: int) -> tuple[list[Spot], list[Spot]]:
    from quorra.index.store import tables as store

    query = " ".join(asked)
    whole: list[Spot] = []
    spots: list[Spot] = []
    for shelf in shelves:
        table = tables.read(shelf)
        whole += store.words(table, "whole", query, limit)
        spots += store.words(table, "words", query, limit)
    return whole, spots


def _rows(tables: Any, shelves: Iterable[Shelf], spots: Iterable[Spot]) -> dict[tuple[str, int], Mapping[str, Any]]:
    from quorra.index.store import tables as store

    paths = sorted({spot.path for spot in spots})
    found = (row for shelf in shelves for row in store.rows(tables.read(shelf), paths, _COLUMNS))
    return {(row["path"], row["part"]): row for row in found}


def _hit(row: Mapping[str, Any], score: float, words: int | None, meaning: int | None, manifest: Manifest) -> Hit:
    dirty = row["path"] in manifest.uncommitted
    return Hit(
        row["path"], row["heading"], (row["first"], row["last"]), None if dirty else manifest.commit, row["blob"],
        row["text"], score, Ranks(words, meaning), row["title"], row["date"],
    )  # fmt: skip
