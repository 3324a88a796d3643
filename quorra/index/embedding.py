"""Embeds what is pending: outside the lock, into the cache, and from there into the tables in short batches."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from quorra.index.catch_up import Writer
from quorra.index.store import manifest as manifests
from quorra.index.store.manifest import IndexBroken, Manifest, Shelf
from quorra.inference.protocol import Embedder, Vectors

_TEXTS = 32
_FLUSH = 5.0
_EDITS = 32
_LOOSE = 500


@dataclass(frozen=True, slots=True)
class Done:
    """What an embedding run did: texts sent to the embedder, and passages served from the cache."""

    manifest: Manifest
    embedded: int
    reused: int


def run(
    writer: Writer, manifest: Manifest, embedder: Embedder, seconds: float | None, progress: Callable[[str], None]
) -> Done:
    """Embeds pending passages, all of them or for about ``seconds``; says so where they are more than one batch."""
    until = None if seconds is None else perf_counter() + seconds
    if manifest.embedder != embedder.name and manifest.shelves:
        manifest = _adopt(writer, embedder)
    reused = 0
    left = []
    for domain, shelf in sorted(manifest.shelves.items()):
        table = writer.tables.read(shelf)
        lacking = _lacking(table, shelf)
        known = writer.cache.get(embedder.name, lacking)
        if known:
            reused += sum(len(lacking[key]) for key in known)
            manifest = _add(writer, domain, embedder, known)
        left.append((domain, table, {key: rows[0] for key, rows in lacking.items() if key not in known}))
    embedded, whole = 0, manifest.pending
    long = whole > _TEXTS and (until is None or perf_counter() < until)
    if long:
        progress(f"Embedding {whole} passages…")
    for domain, table, wanted in left:
        for vectors in _batches(writer, embedder, table, wanted, until):
            embedded += len(vectors)
            manifest = _add(writer, domain, embedder, vectors)
            if long and 0 < manifest.pending < whole:
                progress(f"{manifest.pending} of {whole} passages still to embed")
    return Done(_tidy(writer), embedded, reused)


def _lacking(table: Any, shelf: Shelf) -> dict[bytes, list[int]]:
    """Gives the rows that lack a vector, under the key of their text."""
    from quorra.index.store import tables as store

    found: dict[bytes, list[int]] = {}
    if shelf.vectors < shelf.keyed:
        for row, key in store.lacking(table).items():
            found.setdefault(key, []).append(row)
    return found


def _batches(
    writer: Writer, embedder: Embedder, table: Any, wanted: Mapping[bytes, int], until: float | None
) -> Iterator[dict[bytes, Vectors]]:
    """Embeds each text once and keeps its vector; gives them by key every few seconds."""
    from quorra.index.store import tables as store

    keys = list(wanted)
    held: dict[bytes, Vectors] = {}
    start = perf_counter()
    for at in range(0, len(keys), _TEXTS):
        if until is not None and perf_counter() >= until:
            break
        texts = store.texts(table, [wanted[key] for key in keys[at : at + _TEXTS]])
        vectors = dict(zip(texts, embedder.embed(list(texts.values())), strict=True))
        writer.cache.put(embedder.name, vectors)
        held |= vectors
        if perf_counter() - start > _FLUSH:
            yield held
            held, start = {}, perf_counter()
    if held:
        yield held


def _adopt(writer: Writer, embedder: Embedder) -> Manifest:
    """Makes the tables ready for this embedder's vectors; those of another one go."""
    from quorra.index.store import shelves

    with _base(writer) as base:
        if base.embedder == embedder.name:
            return base
        found = {}
        for domain in base.shelves:
            shelf, table = shelves.opened(writer.tables, base, domain)
            found[domain] = shelves.adopt(table, shelf, embedder.dim)
        return writer.publish(replace(base, embedder=embedder.name, dim=embedder.dim, shelves=found))


def _add(writer: Writer, domain: str, embedder: Embedder, vectors: Mapping[bytes, Vectors]) -> Manifest:
    """Adds the vectors of the passages that are still there and have none."""
    from quorra.index.store import shelves
    from quorra.index.store import tables as store

    with _base(writer) as base:
        if domain not in base.shelves or base.embedder != embedder.name:
            return base
        writer.steps("vectors")
        shelf, table = shelves.opened(writer.tables, base, domain)
        rows = [row for row, key in store.lacking(table).items() if key in vectors]
        if not rows:
            return base
        near = store.meaning(store.taken(table, rows, (*store.SHOWN, "key")), vectors)
        shelf = shelves.fill(table, shelf, {}, None, near)
        return writer.publish(replace(base, shelves={**base.shelves, domain: shelf}))


def _tidy(writer: Writer) -> Manifest:
    """Settles what was edited much and compacts what needs it; builds vector indices."""
    with _base(writer) as base:
        found = {domain: _tidied(writer, base, domain) for domain in base.shelves}
        return writer.publish(replace(base, shelves=found)) if found != dict(base.shelves) else base


def _tidied(writer: Writer, base: Manifest, domain: str) -> Shelf:
    from quorra.index.store import shelves

    shelf = base.shelves[domain]
    whole = shelves.worn(shelf)
    if not shelf.edits or not (whole or shelves.untrained(shelf) or shelf.edits >= _EDITS or shelf.loose >= _LOOSE):
        return shelf
    writer.steps("compact")
    _, table = shelves.opened(writer.tables, base, domain)
    shelf = shelves.compact(table, shelf) if whole else shelves.settle(table, shelf)
    return shelves.train(table, shelf) if shelves.untrained(shelf) else shelf


@contextmanager
def _base(writer: Writer) -> Iterator[Manifest]:
    """Holds the lock and gives the manifest that the next one follows."""
    with manifests.locked(writer.folder):
        base = writer.manifest()
        if base is None:
            raise IndexBroken(FileNotFoundError(writer.folder))
        yield base
