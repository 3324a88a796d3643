"""Documents, links and tags in DuckDB: one generation file a publication, never edited in place."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorra.index.store.manifest import IndexBroken, trouble
from quorra.vault.note import Link, Span

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_TABLES = """
CREATE TABLE documents (path VARCHAR, file VARCHAR, blob VARCHAR, domain VARCHAR, title VARCHAR, date VARCHAR,
    passages INTEGER, problems INTEGER);
CREATE TABLE links (path VARCHAR, position INTEGER, line INTEGER, kind VARCHAR, text VARCHAR, target VARCHAR,
    anchor VARCHAR, alias VARCHAR);
CREATE TABLE tags (path VARCHAR, tag VARCHAR);
"""
DOCUMENTS = ("path", "file", "blob", "domain", "title", "date", "passages", "problems")
LINKS = ("path", "position", "line", "kind", "text", "target", "anchor", "alias")
TAGS = ("path", "tag")
_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Document:
    """A note as the index knows it: its public path, its file from the repository's root, and its blob."""

    path: str
    file: str
    blob: str
    domain: str
    title: str
    date: str | None
    passages: int
    problems: int


@dataclass(frozen=True, slots=True)
class Rows:
    """What a batch of notes adds to the catalogue, as Arrow tables."""

    documents: "pa.Table"
    links: "pa.Table"
    tags: "pa.Table"


class Editor:
    """Writes generations; its one in-memory database is opened once, as that takes longer than an edit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _base(self) -> "duckdb.DuckDBPyConnection":
        import duckdb

        return duckdb.connect(":memory:", config={"threads": 1})

    def open(self) -> None:
        """Opens the database that edits, before it is needed."""
        assert self._base is not None

    def edit(self, old: str, new: str, gone: Sequence[str], added: Rows) -> tuple[int, int]:
        """Writes generation ``new`` as ``old`` without the notes ``gone`` and with rows added.

        Gives the number of documents and of their problems. What a writer that died
        has left goes first: DuckDB would replay its write-ahead log. Raises IndexBroken, or OSError on a full disk.
        """
        import duckdb

        fresh = self._folder / f"{new}.part"
        for left in self._folder.glob("catalogue-*.part*"):
            left.unlink()
        if old:
            _copy(self._folder / old, fresh)
        name = str(fresh).replace("'", "''")
        with ExitStack() as undo:
            undo.callback(self._forget)
            try:
                self._base.execute(f"ATTACH '{name}' AS fresh (RECOVERY_MODE NO_WAL_WRITES)")
                self._base.execute("USE fresh")
                counted = self._edited(bool(old), gone, added)
                self._base.execute("USE memory")
                self._base.execute("DETACH fresh")
            except duckdb.Error as error:
                raise trouble(error) from error
            undo.pop_all()
        os.replace(fresh, self._folder / new)
        return counted

    def _forget(self) -> None:
        self.__dict__.pop("_base").close()

    def _edited(self, there: bool, gone: Sequence[str], added: Rows) -> tuple[int, int]:
        import pyarrow as pa

        base = self._base
        base.execute("BEGIN")
        if not there:
            base.execute(_TABLES)
        if gone:
            base.register("gone_paths", pa.table({"path": pa.array(gone, pa.string())}))
            for table in ("links", "tags", "documents"):
                base.execute(f"DELETE FROM {table} WHERE path IN (SELECT path FROM gone_paths)")
            base.unregister("gone_paths")
        for name, rows in (("documents", added.documents), ("links", added.links), ("tags", added.tags)):
            if rows.num_rows:
                base.register("added_rows", rows)
                base.execute(f"INSERT INTO {name} SELECT * FROM added_rows")
                base.unregister("added_rows")
        base.execute("COMMIT")
        base.execute("CHECKPOINT fresh")
        counted = base.execute("SELECT count(*), coalesce(sum(problems), 0)::BIGINT FROM documents").fetchone()
        assert counted is not None
        return int(counted[0]), int(counted[1])


def _copy(old: Path, fresh: Path) -> None:
    try:
        shutil.copyfile(old, fresh)
    except FileNotFoundError as error:
        raise IndexBroken(error) from error


@contextmanager
def _reading(file: Path) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Opens a generation; raises IndexBroken."""
    import duckdb

    try:
        with duckdb.connect(str(file), read_only=True, config={"threads": 1}) as base:
            yield base
    except duckdb.Error as error:
        raise IndexBroken(error) from error


def query(file: Path, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Runs one read-only query on a generation; raises IndexBroken."""
    with _reading(file) as base:
        return base.execute(sql, list(parameters)).fetchall()


def documents(file: Path) -> list[Document]:
    """Lists the documents, ordered by path."""
    return [Document(*row) for row in query(file, f"SELECT {', '.join(DOCUMENTS)} FROM documents ORDER BY path")]


def links(file: Path) -> dict[str, tuple[str, list[Link]]]:
    """Gives the blob and the links of each note, of a link only kind and target; raises IndexBroken."""
    with _reading(file) as base:
        blobs = base.execute("SELECT path, blob FROM documents").fetchall()
        rows = base.execute("SELECT path, kind, target FROM links").fetchall()
    found: dict[str, tuple[str, list[Link]]] = {path: (blob, []) for path, blob in blobs}
    for path, kind, target in rows:
        found[path][1].append(Link(kind, "", target, "", "", 0, _NOWHERE))
    return found
