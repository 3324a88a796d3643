"""Embeds what is pending: outside the lock, into the cache, and from there into the tables in short batches."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from quorra.index.catch_up import Writer
from quorra.index.store import manifest as manifests
from quorra.index.store.cache import Vectors
from quorra.index.store.manifest import Manifest
from quorra.inference.protocol import Embedder

Spot = tuple[str, int, bytes]
_TEXTS = 32
_FLUSH = 5.0


@dataclass(frozen=True, slots=True)
class Done:
    """What an embedding run did: texts sent to the embedder, and passages served from the cache."""

    manifest: Manifest
    embedded: int
    reused: int


def run(
    writer: Writer, manifest: Manifest, embedder: Embedder, seconds: float | None, progress: Callable[[str], None]
) -> Done:
    """Embeds pending passages, all of them or for about ``seconds``."""
    until = None if seconds is None else perf_counter() + seconds
    if manifest.embedder != embedder.name and manifest.shelves:
        manifest = _adopt(writer, embedder)
    embedded = reused = 0
    for place in sorted(manifest.shelves):
        wanted = _missing(writer, manifest, place)
        known = writer.cache.get(embedder.name, (key for _, _, key in wanted))
        ready = {spot: known[spot[2]] for spot in wanted if spot[2] in known}
        reused += len(ready)
        if ready:
            manifest = _add(writer, place, embedder, ready)
        left = {spot: text for spot, text in wanted.items() if spot not in ready}
        for vectors, count in _batches(writer, embedder, left, until):
            embedded += count
            manifest = _add(writer, place, embedder, vectors)
            progress(f"{manifest.pending} passages to embed")
    return Done(tidy(writer, False), embedded, reused)


def _missing(writer: Writer, manifest: Manifest, place: str) -> dict[Spot, str]:
    from quorra.index.store import tables as store

    shelf = manifest.shelves[place]
    return store.missing(writer.tables.read(shelf)) if shelf.vectors < shelf.keyed else {}


def _batches(
    writer: Writer, embedder: Embedder, wanted: Mapping[Spot, str], until: float | None
) -> Iterator[tuple[dict[Spot, Vectors], int]]:
    """Embeds each distinct text once; gives vectors every few seconds with the number of texts they took."""
    spots: dict[bytes, list[Spot]] = {}
    texts: dict[bytes, str] = {}
    for spot, text in wanted.items():
        spots.setdefault(spot[2], []).append(spot)
        texts[spot[2]] = text
    keys = list(texts)
    held: dict[bytes, Vectors] = {}
    start = perf_counter()
    for at in range(0, len(keys), _TEXTS):
        if until is not None and perf_counter() >= until:
            break
        some = keys[at : at + _TEXTS]
        vectors = dict(zip(some, embedder.embed([texts[key] for key in some]), strict=True))
        writer.cache.put(embedder.name, vectors)
        held |= vectors
        if perf_counter() - start > _FLUSH:
            yield {spot: vector for key, vector in held.items() for spot in spots[key]}, len(held)
            held, start = {}, perf_counter()
    if held:
        yield {spot: vector for key, vector in held.items() for spot in spots[key]}, len(held)


def _adopt(writer: Writer, embedder: Embedder) -> Manifest:
    """Makes the tables ready for this embedder's vectors; those of another one go."""
    from quorra.index.store import shelves

    with _base(writer) as base:
        if base.embedder == embedder.name:
            return base
        found = {}
        for place in base.shelves:
            shelf, table = shelves.opened(writer.tables, base, place)
            found[place] = shelves.adopt(table, shelf, embedder.dim)
        return writer.publish(base, embedder=embedder.name, dim=embedder.dim, shelves=found)


def _add(writer: Writer, place: str, embedder: Embedder, vectors: Mapping[Spot, Vectors]) -> Manifest:
    """Adds the vectors whose passages are still there and have none."""
    from quorra.index.store import shelves
    from quorra.index.store import tables as store

    with _base(writer) as base:
        if place not in base.shelves or base.embedder != embedder.name:
            return base
        writer.steps("vectors")
        shelf, table = shelves.opened(writer.tables, base, place)
        wanted = store.missing(table)
        fitting = {spot: vector for spot, vector in vectors.items() if spot in wanted}
        shelf = shelves.fill(table, shelf, {}, None, fitting)
        return writer.publish(base, shelves={**base.shelves, place: shelf})


def tidy(writer: Writer, everything: bool) -> Manifest:
    """Compacts the tables that need it, or all that were edited, and builds the vector indices that are due."""
    from quorra.index.store import shelves

    with _base(writer) as base:
        found = dict(base.shelves)
        for place, held in base.shelves.items():
            if not (shelves.untrained(held) or (held.edits if everything else shelves.worn(held))):
                continue
            writer.steps("compact")
            _, table = shelves.opened(writer.tables, base, place)
            shelf = shelves.compact(table, held)
            found[place] = shelves.train(table, shelf) if shelves.untrained(shelf) else shelf
        return writer.publish(base, shelves=found) if found != dict(base.shelves) else base


@contextmanager
def _base(writer: Writer) -> Iterator[Manifest]:
    """Holds the lock and gives the manifest that the next one follows."""
    with manifests.locked(writer.folder):
        base = writer.manifest()
        assert base is not None
        yield base
