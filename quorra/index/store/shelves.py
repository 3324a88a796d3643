"""What is done to one domain's table, with the shelf that says what is in it."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from quorra.index.store import tables
from quorra.index.store.manifest import KEEP, Manifest, Shelf
from quorra.index.store.tables import Held, Tables

MANY = 20_000
_SLACK = 600.0
_NEVER = timedelta(days=36_500)
_STALE = 1000
_EDITS = 256


def opened(base_tables: Tables, manifest: Manifest, domain: str) -> tuple[Shelf, Any]:
    """Opens a domain's table for writing, making it where there is none."""
    shelf = manifest.shelves.get(domain)
    if shelf is not None:
        return shelf, base_tables.write(shelf)
    name = f"{tables.name(domain)}.{secrets.token_hex(4)}"
    return Shelf(name, 0), base_tables.create(name, manifest.dim)


@tables.sound()
def fill(
    table: Any,
    shelf: Shelf,
    gone: Mapping[str, Held],
    added: pa.Table | None,
    near: pa.Table | None,
) -> Shelf:
    """Removes some notes from a table and adds passages and rows for meaning."""
    tables.drop(table, list(gone))
    tables.add(table, added, near)
    vectors = near.num_rows if near is not None else 0
    dropped = sum(each.rows for each in gone.values())
    rows = keyed = 0
    if added is not None:
        rows = added.num_rows
        keyed = rows - added["key"].null_count
    return replace(
        shelf,
        version=table.version,
        rows=shelf.rows + rows - dropped,
        keyed=shelf.keyed + keyed - sum(each.keyed for each in gone.values()),
        vectors=shelf.vectors + vectors - sum(each.vectors for each in gone.values()),
        stale=shelf.stale + rows + dropped,
        loose=shelf.loose + vectors,
        edits=shelf.edits + 1,
    )


@tables.sound()
def adopt(table: Any, shelf: Shelf, dim: int) -> Shelf:
    """Makes a table ready for vectors of ``dim`` numbers; those of another embedder go."""
    tables.give(table, dim)
    return replace(shelf, version=table.version, vectors=0, loose=0, trained=False)


def worn(shelf: Shelf) -> bool:
    """Tells whether so much was edited since a table was compacted that a search would feel it."""
    return shelf.edits > _EDITS or shelf.stale > max(_STALE, shelf.rows // 4)


def untrained(shelf: Shelf) -> bool:
    """Tells whether there are many vectors and their index is missing or knows too few of them."""
    return shelf.vectors >= MANY and (not shelf.trained or shelf.loose > shelf.vectors // 4)


@tables.sound()
def settle(table: Any, shelf: Shelf) -> Shelf:
    """Merges a table's files and lets its indices know the rows that were added since."""
    _prune(table)
    table.optimize(cleanup_older_than=_NEVER)
    return replace(shelf, version=table.version, edits=0)


@tables.sound()
def compact(table: Any, shelf: Shelf) -> Shelf:
    """Settles a table and builds its word indices anew, so that their statistics are those of its rows."""
    shelf = settle(table, shelf)
    tables.index_words(table)
    tables.index_paths(table)
    return replace(shelf, version=table.version, stale=0)


@tables.sound()
def train(table: Any, shelf: Shelf) -> Shelf:
    """Builds the vector index anew."""
    tables.index_vectors(table, shelf.vectors)
    return replace(shelf, version=table.version, loose=0, trained=True)


def _prune(table: Any) -> None:
    """Forgets the versions that were superseded more than an hour ago.

    LanceDB counts a version's age from its birth, but a reader may hold a week
    old version that was superseded a second ago: the newest one of those born
    before the hour is kept with all that follow.
    """
    now = datetime.now()  # LanceDB asks for an age, and stamps versions by the same clock
    born = [each["timestamp"].replace(tzinfo=None) for each in table.list_versions()]
    old = [moment for moment in born if now - moment > timedelta(seconds=KEEP + _SLACK)]
    if len(old) > 1:
        table.cleanup_old_versions(now - max(old) + timedelta(seconds=1))
