"""A place to work in beside what is to be made, so that it appears at once and whole."""

import errno
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

LOCK = "lock"
UNABLE = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def beside(folder: Path, name: str) -> Iterator[Path]:
    """Makes a private folder in ``folder`` for as long as the work takes.

    Those that killed processes left for the same name are removed first; a
    kernel lock tells them from the ones in use.
    """
    sweep(folder, name)
    place, lock = _make(folder, name)
    with lock:
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def sweep(folder: Path, name: str) -> None:
    """Removes what killed processes left."""
    for place in folder.glob(f".{glob.escape(name)}.*.part"):
        with suppress(OSError):
            os.rmdir(place)
        with suppress(OSError):
            # The lock is made first, so that what lies there without one was left while it was cleared.
            if set(os.listdir(place)) - {LOCK} and not (place / LOCK).exists():
                shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError), open(place / LOCK, "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)


def _make(folder: Path, name: str) -> tuple[Path, IO[bytes]]:
    while True:
        place = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=folder))
        # Another process may sweep the folder before it is locked.
        with suppress(FileNotFoundError):
            lock = open(place / LOCK, "xb")  # noqa: SIM115  it is held as long as the folder is used
            if _held(lock) and os.path.samestat(os.stat(place / LOCK), os.fstat(lock.fileno())):
                return place, lock
            lock.close()


def _held(lock: IO[bytes]) -> bool:
    """Takes the lock; goes without where the file system of a stick or a share has none, and nothing is swept there."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in UNABLE:
            raise
    return True


def settle(folder: Path) -> None:
    """Puts a rename in this folder on the medium."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(at)
    except OSError as error:
        if error.errno not in UNABLE:
            raise
    finally:
        os.close(at)
