"""Brings the index up to the files: what changed is parsed, added, catalogued and published."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quorra import metrics
from quorra.access import window
from quorra.index.intake import passages, plan, prepare
from quorra.index.intake.plan import Plan
from quorra.index.intake.prepare import Prepared
from quorra.index.intake.source import Source
from quorra.index.store import catalogue
from quorra.index.store import manifest as manifests
from quorra.index.store.cache import Cache, CacheAway
from quorra.index.store.manifest import Manifest, Shelf
from quorra.ledger.change import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from quorra.index.store.tables import Held, Tables

Steps = Callable[[str], None]


class Writer:
    """Writes an index: one at a time over all processes, readers undisturbed."""

    def __init__(self, folder: Path, cache: Cache, source: Source, steps: Steps) -> None:
        self.folder = folder
        self.cache = cache
        self.source = source
        self.steps = steps
        self._editor = catalogue.Editor(folder)

    @cached_property
    def tables(self) -> "Tables":
        """The LanceDB side, imported when first used."""
        from quorra.index.store.tables import Tables

        return Tables(self.folder / "tables")

    def load(self) -> None:
        """Loads the libraries that writing needs."""
        from quorra.index.store import lance

        assert self.tables is not None
        lance.lancedb()
        self._editor.open()

    def manifest(self) -> Manifest | None:
        """Reads the last published manifest."""
        return manifests.read(self.folder, passages.RECIPE)

    def run(self, snapshot: Snapshot, rebuild: bool = False) -> tuple[Manifest, int]:
        """Catches up with a snapshot and publishes; gives the manifest and how many vectors the cache had.

        A first build publishes what it has batch by batch: while the manifest has notes ``left``, there is more to
        do. A snapshot that another writer has overtaken meanwhile is taken again.
        """
        seen = self.manifest()
        with manifests.locked(self.folder):
            old = self.manifest()
            if old is not None and (seen is None or old.generation != seen.generation):
                snapshot = self.source.snapshot()
            if old is not None and not rebuild and plan.current(old, snapshot):
                return old, 0
            base = old or Manifest(passages.RECIPE, manifests.generation(self.folder))
            if rebuild:
                base = Manifest(passages.RECIPE, base.generation, embedder=base.embedder, dim=base.dim)
            self.steps("parse")
            seen_now: dict[str, Held] = {}
            wanted = plan.make(self.source, base, snapshot, lambda paths: self._indexed(base, paths, seen_now))
            left = 0
            if not rebuild and (old is None or old.left):
                wanted, left = plan.batch(base, wanted)
            texts = plan.texts(self.source, wanted.fresh, snapshot.dirty)
            fresh, reused = self._write(base, wanted, prepare.many(texts, self.cache), seen_now)
            uncommitted = sorted(filter(None, map(self.source.public, snapshot.dirty)))
            dirty = dict(snapshot.dirty)
            fresh = replace(fresh, commit=snapshot.head, dirty=dirty, uncommitted=uncommitted, left=left)
            return self.publish(fresh), reused

    def publish(self, fresh: Manifest) -> Manifest:
        """Publishes a manifest as the next generation after the one it was made from; the lock must be held."""
        fresh = replace(fresh, generation=fresh.generation + 1)
        self.steps("publish")
        manifests.publish(self.folder, fresh)
        manifests.sweep(self.folder, fresh)
        return fresh

    def _indexed(self, base: Manifest, paths: Sequence[str] | None, held: "dict[str, Held]") -> Mapping[str, str]:
        """Gives the blobs of some notes from their tables, filling ``held``, or of all from the catalogue."""
        if not base.catalogue:
            return {}
        if paths is None:
            return {each.path: each.blob for each in catalogue.documents(self.folder / base.catalogue)}
        held |= self._held(base, paths)
        return {path: each.blob for path, each in held.items()}

    def _held(self, base: Manifest, paths: Sequence[str]) -> "dict[str, Held]":
        from quorra.index.store import tables as store

        found: dict[str, Held] = {}
        for domain, some in _by_domain(paths).items():
            if domain in base.shelves:
                found |= store.held(self.tables.read(base.shelves[domain]), some)
        return found

    def _write(self, base: Manifest, wanted: Plan, prepared: Prepared, held: "dict[str, Held]") -> tuple[Manifest, int]:
        """Writes tables and catalogue; gives a manifest that names them, and how many vectors the cache had."""
        held |= self._held(base, [path for path in wanted.gone if path not in held])
        gone = _by_domain(wanted.gone)
        shelves, reused = dict(base.shelves), 0
        with ThreadPoolExecutor(1, "quorra-catalogue") as beside:
            catalogued = beside.submit(self._catalogued, base, wanted, prepared)
            for domain in sorted({*prepared.passages, *gone}):
                dropped = {path: held[path] for path in gone.get(domain, ())}
                shelves[domain], known = self._fill(base, domain, dropped, prepared.passages.get(domain))
                reused += known
            self.steps("catalogue")
            name, documents, problems = catalogued.result()
        return replace(base, catalogue=name, shelves=shelves, documents=documents, problems=problems), reused

    def _catalogued(self, base: Manifest, wanted: Plan, prepared: Prepared) -> tuple[str, int, int]:
        """Writes the next catalogue, if it differs; gives its name and its documents' and problems' numbers."""
        if base.catalogue and not (wanted.gone or wanted.fresh):
            return base.catalogue, base.documents, base.problems
        name = f"catalogue-{base.generation + 1}.duckdb"
        return name, *self._editor.edit(base.catalogue, name, wanted.gone, prepared.rows)

    def _fill(
        self, base: Manifest, domain: str, gone: "Mapping[str, Held]", added: "pa.Table | None"
    ) -> tuple[Shelf, int]:
        from quorra.index.store import shelves

        self.steps("rows")
        shelf, table = shelves.opened(self.tables, base, domain)
        near = self._near(base, added)
        filled = shelves.fill(table, shelf, gone, added, near)
        if shelf.fresh or base.left or shelves.worn(filled):
            self.steps("words")
            filled = shelves.compact(table, filled)
        self.tables.keep(filled, table)
        return filled, near.num_rows if near is not None else 0

    def _near(self, base: Manifest, added: "pa.Table | None") -> "pa.Table | None":
        """Makes the rows for meaning of the passages whose vectors the cache has; words need none of them."""
        from quorra.index.store import tables as store

        if added is None or not base.dim:
            return None
        keys = [key for key in added["key"].to_pylist() if key is not None]
        try:
            return store.meaning(added, self.cache.get(base.embedder, keys))
        except CacheAway:
            metrics.count("cache_away_total")
            return None


def _by_domain(paths: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(window.domain(path), []).append(path)
    return found
