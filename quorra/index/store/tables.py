"""LanceDB: one table a domain, holding passages for full text and vectors for meaning.

A passage has a row with its words; once it is embedded it has a second row
with its vector, so that embedding only ever appends and leaves the words and
their statistics alone. Both carry what a hit shows. The first passage of a
note also carries all words of the note.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorra.index.rank import Field, Spot
from quorra.index.store import lance
from quorra.index.store.manifest import IndexBroken, Shelf, trouble
from quorra.inference.protocol import Vectors

PASSAGES = pa.schema(
    [
        ("path", pa.string()),
        ("part", pa.int32()),
        ("first", pa.int32()),
        ("last", pa.int32()),
        ("heading", pa.string()),
        ("text", pa.string()),
        ("words", pa.string()),
        ("whole", pa.string()),
        ("embeds", pa.int32()),
        ("key", pa.binary()),
        ("blob", pa.string()),
        ("title", pa.string()),
        ("date", pa.string()),
    ]
)
PROBES = 40
SHOWN = ("path", "part", "first", "last", "heading", "text", "blob", "title", "date")
_AT_ONCE = 500
_ALL = 100_000_000


@contextmanager
def sound() -> Iterator[None]:
    """Raises IndexBroken, or OSError on a full disk, where LanceDB says that a table is not as it should be.

    It says so by RuntimeError itself; what derives from that is a fault of ours.
    """
    try:
        yield
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise trouble(error) from error


class Tables:
    """The tables of one index; readers see the versions that a manifest names, the writer the newest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base: Any = None
        self._open: dict[tuple[str, int], Any] = {}
        self._lock = threading.RLock()

    def read(self, shelf: Shelf) -> Any:
        """Opens a table at the version that belongs to a manifest."""
        key = (shelf.table, shelf.version)
        with self._lock:
            table = self._open.get(key)
            if table is None:
                table = self._at(shelf)
                self._open = {old: kept for old, kept in self._open.items() if old[0] != shelf.table}
                self._open[key] = table
        return table

    @sound()
    def rows(self, shelf: Shelf) -> int:
        """Counts a table's rows."""
        return int(self.read(shelf).count_rows())

    @sound()
    def keep(self, shelf: Shelf, table: Any) -> None:
        """Keeps the writer's table, which knows its newest version, for the readers to come."""
        table.checkout(shelf.version)
        with self._lock:
            self._open = {old: kept for old, kept in self._open.items() if old[0] != shelf.table}
            self._open[shelf.table, shelf.version] = table

    @sound()
    def _at(self, shelf: Shelf) -> Any:
        table = self._named(shelf)
        table.checkout(shelf.version)
        return table

    @sound()
    def write(self, shelf: Shelf) -> Any:
        """Opens a table for writing, put back to the manifest's version where a writer died beyond it."""
        table = self._named(shelf)
        if table.version != shelf.version:
            table.checkout(shelf.version)
            table.restore()
        return table

    @sound()
    def create(self, name: str, dim: int) -> Any:
        """Makes an empty table."""
        schema = PASSAGES.append(pa.field("vector", pa.list_(pa.float32(), dim))) if dim else PASSAGES
        return self._connect().create_table(name, schema=schema)

    def _named(self, shelf: Shelf) -> Any:
        try:
            return self._connect().open_table(shelf.table)
        except (ValueError, OSError) as error:
            raise IndexBroken(error) from error

    def _connect(self) -> Any:
        with self._lock:
            return self._connected()

    def _connected(self) -> Any:
        if self._base is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._base = lance.lancedb().connect(str(self._folder))
        return self._base


def name(domain: str) -> str:
    """Names a domain's table; distinct domains never share one."""
    plain = re.sub(r"[^A-Za-z0-9-]", "_", domain)
    return plain if plain == domain else f"{plain}-{hashlib.sha256(domain.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Held:
    """What a table holds of a note: its blob, its passages, those to be embedded, and their vectors."""

    blob: str
    rows: int
    keyed: int
    vectors: int


@sound()
def held(table: Any, paths: Sequence[str]) -> dict[str, Held]:
    """Looks up some notes, those that are there."""
    found: dict[str, Held] = {}
    for at in range(0, len(paths), _AT_ONCE):
        some = _named(table, f"path IN ({quoted(paths[at : at + _AT_ONCE])})", ["path", "embeds", "blob"])
        for path, embeds, blob in zip(*(some[name].to_pylist() for name in ("path", "embeds", "blob")), strict=True):
            old = found.get(path, Held("", 0, 0, 0))
            row = embeds is not None
            found[path] = Held(blob or old.blob, old.rows + row, old.keyed + bool(embeds), old.vectors + (not row))
    return found


@sound()
def drop(table: Any, paths: Sequence[str]) -> None:
    """Removes every row of some notes."""
    for at in range(0, len(paths), _AT_ONCE):
        table.delete(f"path IN ({quoted(paths[at : at + _AT_ONCE])})")


def quoted(values: Iterable[str]) -> str:
    """Writes strings as SQL literals."""
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


@sound()
def give(table: Any, dim: int) -> None:
    """Gives a table room for vectors of ``dim`` numbers, dropping those of another embedder."""
    table.delete("words IS NULL")
    if "vector" in table.schema.names:
        table.drop_columns(["vector"])
    table.add_columns(pa.field("vector", pa.list_(pa.float32(), dim)))


def meaning(passages: pa.Table, vectors: Mapping[bytes, Vectors]) -> pa.Table | None:
    """Makes the rows for meaning of those passages whose vectors are there."""
    keys = passages["key"].to_pylist()
    chosen = [row for row, key in enumerate(keys) if key in vectors]
    if not chosen:
        return None
    flat = np.concatenate([vectors[keys[row]] for row in chosen]).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(flat), len(flat) // len(chosen))
    rows = passages.take(chosen).select([*SHOWN, "key"])
    return rows.append_column("vector", column)


@sound()
def add(table: Any, *parts: pa.Table | None) -> None:
    """Adds rows of several kinds, all in one append."""
    some = [part for part in parts if part is not None]
    if some:
        whole = pa.concat_tables(some, promote_options="default")
        schema = table.schema
        table.add(pa.table([_column(whole, field) for field in schema], schema=schema))


def _column(rows: pa.Table, field: pa.Field) -> Any:
    if field.name in rows.schema.names:
        return rows[field.name].cast(field.type)
    return pa.nulls(rows.num_rows, field.type)


@sound()
def lacking(table: Any) -> dict[int, bytes]:
    """Gives the keys of the passages that are to be embedded and are not, under their row numbers."""
    query = table.search().where("key IS NOT NULL").select(["path", "part", "key", "embeds"]).with_row_id(True)
    found = query.limit(_ALL).to_arrow()
    columns = (found[name].to_pylist() for name in ("_rowid", "path", "part", "key", "embeds"))
    rows = list(zip(*columns, strict=True))
    known = {(path, part) for _, path, part, _, embeds in rows if embeds is None}
    return {row: key for row, path, part, key, embeds in rows if embeds and (path, part) not in known}


@sound()
def texts(table: Any, rows: Sequence[int]) -> dict[bytes, str]:
    """Reads the embedded texts of some rows, under their keys."""
    found = table.take_row_ids(list(rows)).select(["key", "embeds", "words"]).to_arrow()
    columns = (found[name].to_pylist() for name in ("key", "embeds", "words"))
    return {key: words[:length] for key, length, words in zip(*columns, strict=True)}


@sound()
def taken(table: Any, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Reads some rows by their numbers, in any order."""
    return table.take_row_ids(list(rows)).select(list(columns)).to_arrow()


def _named(table: Any, where: str, columns: Sequence[str]) -> pa.Table:
    return table.search().where(where).select(list(columns)).limit(_ALL).to_arrow()


def index_words(table: Any) -> None:
    """Builds both full-text indices anew, so that their statistics are exactly those of the rows."""
    lance.lancedb()
    from lancedb.index import FTS

    config = FTS(with_position=False, stem=True, remove_stop_words=False, ascii_folding=True)
    with ThreadPoolExecutor(1, "quorra-whole") as beside:
        whole = beside.submit(_index, table, "whole", config)
        _index(table, "words", config)
        whole.result()


@sound()
def _index(table: Any, column: str, config: Any) -> None:
    table.create_index(column, config=config, replace=True)


def index_paths(table: Any) -> None:
    """Builds the index by which a note's rows are found and removed."""
    lance.lancedb()
    from lancedb.index import BTree

    _index(table, "path", BTree())


@sound()
def words(table: Any, column: str, query: str, limit: int, every: bool = False) -> list[Spot]:
    """Finds the passages that hold any of the words, or every one, best first, by BM25 over a column."""
    asked: Any = query
    if every:
        from lancedb.query import FullTextOperator, MatchQuery

        match: Any = MatchQuery
        asked = match(query, column, operator=FullTextOperator.AND)
    search = table.search(asked, query_type="fts", fts_columns=None if every else column).with_row_id(True)
    search = search.select(["path", "part", "_score"])
    found = _sure(lambda most: search.limit(most).to_arrow(), "_score", limit)
    columns = (found[name].to_pylist() for name in ("path", "part", "_score", "_rowid"))
    return [Spot(*each) for each in zip(*columns, strict=True)]


def _sure(ask: Callable[[int], pa.Table], column: str, limit: int) -> pa.Table:
    """Leaves out the last of a full answer that score the same, as chance decides which of them are in it."""
    found = ask(limit)
    scores = found[column].to_pylist()
    if len(scores) < limit:
        return found
    if scores[0] == scores[-1]:
        return _sure(ask, column, limit * 8)
    return found.slice(0, scores.index(scores[-1]))


@sound()
def near(table: Any, shelf: Shelf, vector: Vectors, limit: int) -> Field:
    """Finds the passages nearest to a vector by cosine."""
    if not shelf.vectors:
        return Field((), (), np.zeros((0, len(vector)), np.float32))
    query = table.search(vector, vector_column_name="vector", query_type="vector").distance_type("cosine")
    if shelf.trained:
        query = query.nprobes(PROBES)
    query = query.with_row_id(True).select(["path", "part", "vector", "_distance"])
    found = _sure(lambda most: query.limit(most).to_arrow(), "_distance", limit)
    flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    addresses = list(zip(found["path"].to_pylist(), found["part"].to_pylist(), strict=True))
    return Field(addresses, found["_rowid"].to_pylist(), flat.reshape(-1, len(vector)))


def index_vectors(table: Any, count: int) -> None:
    """Builds the index by which near vectors are found without looking at all of them."""
    lance.lancedb()
    from lancedb.index import IvfFlat

    partitions = max(32, round(count**0.5 / 2))
    config = IvfFlat(distance_type="cosine", num_partitions=partitions, sample_rate=64, max_iterations=20)
    _index(table, "vector", config)
