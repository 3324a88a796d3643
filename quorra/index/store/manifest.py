"""The one file that says which catalogue and which table versions belong together, and the writers' lock."""

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from quorra.errors import QuorraError

FORMAT = 3
FILE = "manifest.json"
KEEP = 3600.0
PATIENCE = 300.0


class IndexBusy(QuorraError):
    """Another process holds the index's lock for longer than the caller waits."""

    code = "index_busy"

    def __init__(self, folder: Path) -> None:
        super().__init__(f"Another process is writing the index in {folder}.", "Try again in a moment.")


class IndexBroken(QuorraError):
    """What is on disk of the index can't be read or written; it is derived, and can be made again."""

    code = "index_broken"

    def __init__(self, why: Exception) -> None:
        super().__init__(
            f"The index can't be used ({type(why).__name__}).",
            "See that the disk has room, then: rm -r .quorra/index and quorra sync",
        )


def trouble(error: Exception) -> QuorraError | OSError:
    """Tells a full disk, where making the index again is of no use, from an index that can't be used."""
    full = os.strerror(errno.ENOSPC)
    return OSError(errno.ENOSPC, full) if full in str(error) else IndexBroken(error)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One domain's table: its name, the version that belongs to this manifest, and what is in it.

    ``rows`` counts passages, ``keyed`` those that are to be embedded, ``stale``
    the rows added or removed and ``edits`` the writes since the table was
    compacted, ``loose`` the vectors added since their index was ``trained``.
    """

    table: str
    version: int
    rows: int = 0
    keyed: int = 0
    vectors: int = 0
    stale: int = 0
    loose: int = 0
    edits: int = 0
    trained: bool = False

    @property
    def fresh(self) -> bool:
        """Tells whether nothing was ever published of this table."""
        return self.version == 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """A published state of the index.

    ``dirty`` is the snapshot's: paths from the repository's root, with the
    blob that was indexed; ``uncommitted`` are their public names. ``left``
    counts the notes that a first build has still to add. ``embedder`` is empty
    until a first text is embedded.
    """

    recipe: str
    generation: int = 0
    commit: str | None = None
    dirty: Mapping[str, str | None] = field(default_factory=dict)
    uncommitted: Sequence[str] = ()
    catalogue: str = ""
    shelves: Mapping[str, Shelf] = field(default_factory=dict)
    embedder: str = ""
    dim: int = 0
    documents: int = 0
    problems: int = 0
    left: int = 0
    format: int = FORMAT

    @property
    def passages(self) -> int:
        """Counts passages."""
        return sum(shelf.rows for shelf in self.shelves.values())

    @property
    def keyed(self) -> int:
        """Counts passages that are to be embedded."""
        return sum(shelf.keyed for shelf in self.shelves.values())

    @property
    def pending(self) -> int:
        """Counts passages that are to be embedded and are not yet."""
        return self.keyed - sum(shelf.vectors for shelf in self.shelves.values())


def read(folder: Path, recipe: str) -> Manifest | None:
    """Reads the last published manifest; None where there is none that this version understands."""
    try:
        # Not validate_json: a name that is not UTF-8 lies in the file as half a surrogate, which only json reads.
        found = _shape().validate_python(json.loads((folder / FILE).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None
    return found if found.format == FORMAT and found.recipe == recipe else None


@cache
def _shape() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def publish(folder: Path, manifest: Manifest) -> None:
    """Makes a manifest the one that readers open, all at once."""
    fresh = folder / f"{FILE}.new"
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(folder / FILE)


@contextmanager
def locked(folder: Path, wait: float | None = None) -> Iterator[None]:
    """Holds the writers' lock; raises IndexBusy after ``wait`` seconds, five minutes with None."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + (PATIENCE if wait is None else wait)
    try:
        while not _taken(file):
            if time.monotonic() >= until:
                raise IndexBusy(folder)
            time.sleep(0.01)
        yield
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def generation(folder: Path) -> int:
    """Gives the number of the last generation, of whatever format; 0 where there is none."""
    try:
        table = json.loads((folder / FILE).read_bytes())
        return int(table["generation"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0


def sweep(folder: Path, manifest: Manifest) -> None:
    """Removes catalogues and tables that were superseded more than an hour ago, and what dead writers left.

    The lock must be held. An empty file under ``superseded`` keeps the time since when one is; now is when the
    manifest was published.
    """
    now = (folder / FILE).stat().st_mtime
    kept = {manifest.catalogue, *(f"{shelf.table}.lance" for shelf in manifest.shelves.values())}
    for file in (*folder.glob("catalogue-*.duckdb"), *folder.glob("tables/*.lance")):
        mark = folder / "superseded" / file.name
        if file.name in kept:
            mark.unlink(missing_ok=True)
        elif not mark.exists():
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        elif now - mark.stat().st_mtime > KEEP:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
            mark.unlink()
