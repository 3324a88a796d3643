"""Vectors by content: SQLite rows under keyed hashes, so that a text is embedded once wherever it moves."""

import contextlib
import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
_AT_ONCE = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, PRIMARY KEY (model, key)) WITHOUT ROWID
"""


class Cache:
    """The embedding cache of a home; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._keyed = hmac.new(_secret(folder / "key"), digestmod=hashlib.sha256)

    def key(self, text: str) -> bytes:
        """Gives the keyed hash of a text, which tells nothing to who lacks the home's key."""
        keyed = self._keyed.copy()
        keyed.update(text.encode(errors="surrogatepass"))
        return keyed.digest()[:20]

    def get(self, model: str, keys: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Gives the vectors that are known for some keys."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        with self._base() as base:
            for at in range(0, len(wanted), _AT_ONCE):
                some = wanted[at : at + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                sql = f"SELECT key, vector FROM vectors WHERE model = ? AND key IN ({marks})"
                found.update(base.execute(sql, [model, *some]).fetchall())
        return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in found.items()}

    def put(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Keeps vectors for good."""
        rows: Sequence[tuple[str, bytes, bytes]] = [
            (model, key, np.ascontiguousarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()
        ]
        with self._base() as base:
            base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def _base(self) -> "_Open":
        return _Open(self.folder / "vectors.db")


class _Open:
    """A connection for one transaction, closed behind it."""

    def __init__(self, file: Path) -> None:
        self._base = sqlite3.connect(file, timeout=30)

    def __enter__(self) -> sqlite3.Connection:
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA secure_delete = ON")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute(_TABLE)
        return self._base

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._base.commit()
        finally:
            self._base.close()


def _secret(file: Path) -> bytes:
    """Reads the home's cache key, made on first use; two processes that start at once agree on one."""
    if not file.exists():
        fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
        fresh.write_bytes(secrets.token_bytes(32))
        fresh.chmod(0o600)
        with contextlib.suppress(FileExistsError):
            os.link(fresh, file)
        fresh.unlink()
    return file.read_bytes()
