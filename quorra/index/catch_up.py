"""Brings the index up to the files: what changed is parsed, added, catalogued and published."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quorra.index.intake import passages, prepare
from quorra.index.intake.prepare import Prepared, Text
from quorra.index.intake.source import Source
from quorra.index.store import catalogue
from quorra.index.store import manifest as manifests
from quorra.index.store.cache import Cache, Vectors
from quorra.index.store.manifest import Manifest, Shelf
from quorra.ledger.change import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from quorra.index.store.tables import Tables

Steps = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to change: repository paths to drop, and paths to add with their public names and blobs."""

    gone: tuple[str, ...]
    fresh: tuple[tuple[str, str, str], ...]


def current(manifest: Manifest | None, snapshot: Snapshot) -> bool:
    """Tells whether the manifest is of just this snapshot."""
    return manifest is not None and manifest.commit == snapshot.head and manifest.dirty == snapshot.dirty


def plan(source: Source, folder: Path, manifest: Manifest, snapshot: Snapshot) -> Plan:
    """Compares what is indexed with what is on disk, looking only at paths that may differ."""
    wanted = _wanted(source, manifest, snapshot)
    if not manifest.catalogue:
        indexed: dict[str, str] = {}
    else:
        files = None if wanted is None else sorted(wanted)
        indexed = {each.file: each.blob for each in catalogue.documents(folder / manifest.catalogue, files)}
    if wanted is None:
        tree: dict[str, str | None] = dict(source.tree(snapshot.head)) if snapshot.head else {}
        wanted = {**dict.fromkeys(indexed, None), **tree, **snapshot.dirty}
    fresh, gone = [], []
    for file, blob in wanted.items():
        public = source.public(file) if file.lower().endswith(".md") else None
        if blob is None or public is None:
            gone += [file] if file in indexed else []
        elif indexed.get(file) != blob:
            fresh.append((file, public, blob))
            gone += [file] if file in indexed else []
    return Plan(tuple(sorted(gone)), tuple(sorted(fresh)))


def _wanted(source: Source, manifest: Manifest, snapshot: Snapshot) -> dict[str, str | None] | None:
    """Maps the paths that may differ to their blobs now; None where every path may."""
    if not manifest.catalogue or manifest.commit is None or snapshot.head is None:
        return None
    changed: Mapping[str, str | None] | None = {}
    if manifest.commit != snapshot.head:
        changed = source.changes(manifest.commit, snapshot.head)
    if changed is None:
        return None
    settled = [file for file in manifest.dirty if file not in snapshot.dirty and file not in changed]
    committed: dict[str, str | None] = {}
    if settled:
        tree = source.tree(snapshot.head)
        committed = {file: tree.get(file) for file in settled}
    return {**changed, **committed, **snapshot.dirty}


def texts(source: Source, fresh: Sequence[tuple[str, str, str]], dirty: Mapping[str, str | None]) -> Iterable[Text]:
    """Reads the files of a plan, from git where they are clean and from disk where they are not."""
    clean: dict[str, list[tuple[str, str]]] = {}
    for file, public, blob in fresh:
        if file not in dirty:
            clean.setdefault(blob, []).append((file, public))
        elif read := source.disk(file):
            yield file, public, *read
    for blob, data in source.blobs(clean):
        for file, public in clean[blob]:
            yield file, public, blob, data


class Writer:
    """Writes an index: one at a time over all processes, readers undisturbed."""

    def __init__(self, folder: Path, cache: Cache, source: Source, steps: Steps) -> None:
        self.folder = folder
        self.cache = cache
        self.source = source
        self.steps = steps

    @cached_property
    def tables(self) -> "Tables":
        """The LanceDB side, imported when first used."""
        from quorra.index.store.tables import Tables

        return Tables(self.folder / "tables")

    def run(self, snapshot: Snapshot, wait: float | None, rebuild: bool) -> tuple[Manifest, int]:
        """Catches up with a snapshot and publishes; gives the manifest and the vectors it found in the cache."""
        with manifests.locked(self.folder, wait):
            old = manifests.read(self.folder, passages.RECIPE)
            base = old or Manifest(passages.RECIPE)
            if rebuild or not old:
                base = Manifest(passages.RECIPE, base.generation, embedder=base.embedder, dim=base.dim)
            elif current(old, snapshot):
                return old, 0
            self.steps("parse")
            wanted = plan(self.source, self.folder, base, snapshot)
            prepared = prepare.all(texts(self.source, wanted.fresh, snapshot.dirty), self.cache)
            return self._write(base, snapshot, wanted, prepared)

    def _write(self, base: Manifest, snapshot: Snapshot, wanted: Plan, prepared: Prepared) -> tuple[Manifest, int]:
        shelves, reused = dict(base.shelves), 0
        gone = self._gone(base, wanted)
        for place in sorted({*prepared.passages, *gone}):
            shelves[place], known = self._fill(base, place, gone.get(place, []), prepared.passages.get(place))
            reused += known
        self.steps("catalogue")
        generation = base.generation + 1
        name = base.catalogue
        counted = (base.documents, base.problems)
        if wanted.gone or wanted.fresh or not name:
            name = f"catalogue-{generation}.duckdb"
            counted = catalogue.edit(self.folder, base.catalogue, name, wanted.gone, prepared.rows)
        names = sorted(filter(None, map(self.source.public, snapshot.dirty)))
        fresh = base.after(
            commit=snapshot.head, dirty=dict(snapshot.dirty), uncommitted=names, catalogue=name, shelves=shelves,
            documents=counted[0], problems=counted[1],
        )  # fmt: skip
        self.steps("publish")
        manifests.publish(self.folder, fresh)
        manifests.sweep(self.folder, fresh)
        return fresh, reused

    def _gone(self, base: Manifest, wanted: Plan) -> dict[str, list[str]]:
        gone: dict[str, list[str]] = {}
        if wanted.gone:
            for each in catalogue.documents(self.folder / base.catalogue, wanted.gone):
                gone.setdefault(each.domain, []).append(each.path)
        return gone

    def _fill(self, base: Manifest, place: str, gone: Sequence[str], added: "pa.Table | None") -> tuple[Shelf, int]:
        from quorra.index.store import tables as store

        self.steps("rows")
        shelf = base.shelves.get(place)
        table = self.tables.write(place, shelf, base.dim)
        shelf = shelf or Shelf(store.name(place), 0)
        dropped = store.drop(table, gone) if gone else 0
        known = self._known(base, added)
        store.add(table, added, known)
        if shelf.version == 0:
            self.steps("words")
            store.index_words(table)
            store.index_paths(table)
        count = added.num_rows if added is not None else 0
        return store.census(table, replace(shelf, stale=shelf.stale + dropped + count)), len(known)

    def _known(self, base: Manifest, added: "pa.Table | None") -> dict[tuple[str, int, bytes], Vectors]:
        """Finds the vectors that the cache has for some passages."""
        if added is None or not base.dim:
            return {}
        spots = zip(*(added[name].to_pylist() for name in ("path", "part", "key")), strict=True)
        keyed = [spot for spot in spots if spot[2] is not None]
        vectors = self.cache.get(base.embedder, (key for _, _, key in keyed))
        return {spot: vectors[spot[2]] for spot in keyed if spot[2] in vectors}
