"""Documents, links and tags in DuckDB: one generation file a publication, never edited in place."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES = """
CREATE TABLE documents (path VARCHAR, file VARCHAR, blob VARCHAR, domain VARCHAR, title VARCHAR, date VARCHAR,
    passages INTEGER, problems INTEGER);
CREATE TABLE links (path VARCHAR, place INTEGER, line INTEGER, kind VARCHAR, text VARCHAR, target VARCHAR,
    anchor VARCHAR, alias VARCHAR);
CREATE TABLE tags (path VARCHAR, tag VARCHAR);
"""
DOCUMENTS = ("path", "file", "blob", "domain", "title", "date", "passages", "problems")
LINKS = ("path", "place", "line", "kind", "text", "target", "anchor", "alias")
TAGS = ("path", "tag")


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


def edit(folder: Path, old: str, new: str, gone: Sequence[str], added: Rows) -> tuple[int, int]:
    """Writes generation ``new`` as ``old`` without the notes ``gone`` and with rows added.

    Gives the number of documents and of their problems. What a writer that died
    has left goes first: DuckDB would replay its write-ahead log.
    """
    import duckdb
    import pyarrow as pa

    fresh = folder / f"{new}.part"
    for left in folder.glob("catalogue-*.part*"):
        left.unlink()
    if old:
        shutil.copyfile(folder / old, fresh)
    with duckdb.connect(str(fresh), config={"threads": 1}) as base:
        if not old:
            base.execute(_TABLES)
        base.execute("BEGIN")
        if old and gone:
            base.register("gone_paths", pa.table({"path": pa.array(gone, pa.string())}))
            for table in ("links", "tags", "documents"):
                base.execute(f"DELETE FROM {table} WHERE path IN (SELECT path FROM gone_paths)")
        for name, rows in (("documents", added.documents), ("links", added.links), ("tags", added.tags)):
            if rows.num_rows:
                base.register("added_rows", rows)
                base.execute(f"INSERT INTO {name} SELECT * FROM added_rows")
                base.unregister("added_rows")
        base.execute("COMMIT")
        base.execute("CHECKPOINT")
        counted = base.execute("SELECT count(*), coalesce(sum(problems), 0)::BIGINT FROM documents").fetchone()
    os.replace(fresh, folder / new)
    assert counted is not None
    return int(counted[0]), int(counted[1])


def query(file: Path, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Runs one read-only query on a generation."""
    import duckdb

    with duckdb.connect(str(file), read_only=True, config={"threads": 1}) as base:
        return base.execute(sql, list(parameters)).fetchall()


def documents(file: Path) -> list[Document]:
    """Lists the documents, ordered by path."""
    return [Document(*row) for row in query(file, f"SELECT {', '.join(DOCUMENTS)} FROM documents ORDER BY path")]
