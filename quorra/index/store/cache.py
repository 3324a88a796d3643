"""Vectors by content: SQLite rows under keyed hashes, so that a text is embedded once wherever it moves."""

import contextlib
import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from quorra.errors import QuorraError
from quorra.inference.protocol import Vectors

_AT_ONCE = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (model TEXT, key BLOB, vector BLOB, PRIMARY KEY (model, key)) WITHOUT ROWID
"""


class Cache:
    """The embedding cache of a home; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _keyed(self) -> hmac.HMAC:
        self.folder.mkdir(parents=True, exist_ok=True)
        return hmac.new(_secret(self.folder / "key"), digestmod=hashlib.sha256)

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

    @contextmanager
    def _base(self) -> Iterator[sqlite3.Connection]:
        """Opens the file for one transaction; one that is damaged is begun anew. Raises CacheAway."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "vectors.db"
        try:
            base = _opened(file)
        except sqlite3.OperationalError as error:
            raise CacheAway(file, error) from error
        except sqlite3.DatabaseError:
            for left in self.folder.glob("vectors.db*"):
                left.unlink()
            base = _opened(file)
        try:
            with base:
                yield base
        except sqlite3.Error as error:
            raise CacheAway(file, error) from error
        finally:
            base.close()


class CacheAway(QuorraError):
    """The cache of vectors can't be read or written."""

    code = "cache_away"

    def __init__(self, file: Path, error: sqlite3.Error) -> None:
        super().__init__(f"{file}: {error}.", "Make room, or remove the file: it is only a cache.")


def _opened(file: Path) -> sqlite3.Connection:
    base = sqlite3.connect(file, timeout=30)
    try:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA secure_delete = ON")
        base.execute("PRAGMA synchronous = NORMAL")
        base.execute(_TABLE)
    except sqlite3.Error:
        base.close()
        raise
    return base


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
