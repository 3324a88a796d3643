"""What can be seen of a home from outside Quorra: git, files, and the rows of its database."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.attacks.stage import git, sqlite

Row = dict[str, Any]
TABLES = {
    "inbox": "id",
    "sessions": "id",
    "runs": "id",
    "outbox": "id",
    "audit": "n",
    "keys": "id",
    "preferences": "principal",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A home at one moment."""

    head: str
    files: dict[str, str]
    tables: dict[str, dict[Any, Row]]
    outside: dict[str, str]


@dataclass(frozen=True, slots=True)
class Made:
    """A commit: its trailers, and what it did to which files."""

    ident: str
    trailers: dict[str, str]
    changes: tuple[tuple[str, str], ...]


def look(home: Path) -> Seen:
    """Looks at a home."""
    with sqlite(home) as state:
        tables = {
            table: {row[key]: dict(row) for row in state.execute(f"SELECT * FROM {table}")}
            for table, key in TABLES.items()
        }
    files = {path: _hash(home / path) for top in ("vault", "facts") for path in _files(home, top)}
    return Seen(_head(home), files, tables, dict(_outside(home)))


def entries(home: Path) -> list[Row]:
    """Gives all entries of all sessions."""
    with sqlite(home) as state:
        rows = [dict(row) for row in state.execute("SELECT * FROM entries ORDER BY rowid")]
    return [{**row, "data": json.loads(row["data"])} for row in rows]


def commits(home: Path, before: str, after: str) -> list[Made]:
    """Gives the commits between two heads, the oldest first."""
    if before == after:
        return []
    made = []
    for ident in git(home, "rev-list", "--reverse", f"{before}..{after}").split():
        told = git(home, "log", "-1", "--format=%(trailers:only,unfold)", ident)
        trailers = dict(line.partition(": ")[::2] for line in told.splitlines() if ": " in line)
        raw = git(home, "diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", "-z", ident).split("\0")
        made.append(Made(ident, trailers, tuple(zip(raw[::2], raw[1::2], strict=False))))
    return made


def logged(home: Path) -> list[Row]:
    """Reads the audit's own file."""
    return [json.loads(line) for line in log_text(home).splitlines() if line.strip()]


def log_text(home: Path) -> str:
    """Gives the audit's own file as it is, empty where nothing was audited yet."""
    file = home / ".quorra" / "audit.log"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _head(home: Path) -> str:
    head = (home / ".git" / "HEAD").read_text().strip()
    file = home / ".git" / head.removeprefix("ref: ")
    return (
        file.read_text().strip()
        if head.startswith("ref: ") and file.is_file()
        else git(home, "rev-parse", "HEAD").strip()
    )


def _files(home: Path, top: str) -> Iterator[str]:
    for folder, _, names in os.walk(home / top):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), home)


def _outside(home: Path) -> Iterator[tuple[str, str]]:
    """Gives what lies beside the vault and the facts, and beside the home; Quorra's and git's own folders apart."""
    for file in home.iterdir():
        if file.is_file() or file.is_symlink():
            yield file.name, _hash(file)
        elif file.name not in ("vault", "facts", ".git", ".quorra"):
            yield from ((path, _hash(home / path)) for path in _files(home, file.name))
    for beside in home.parent.iterdir():
        if beside != home:
            yield f"../{beside.name}", ""


def _hash(file: Path) -> str:
    raw = os.readlink(file).encode() if file.is_symlink() else file.read_bytes()
    return hashlib.sha256(raw).hexdigest()[:16]
