"""Two locks: the ledger's own, which the kernel frees with its process, and git's ``index.lock``."""

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quorra.ledger.plumbing.disk import Blocked

PATIENCE = 30.0
INDEX_PATIENCE = 2.0
LEFT = "Try again in a moment. If no git is running, a crashed one left that file, and it can be removed."


class Locks:
    """The locks of one work tree; ``folder`` is the ledger's own, inside git's."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self.index_lock = index.with_name(index.name + ".lock")

    @contextmanager
    def hold(self, name: str = "lock") -> Iterator[None]:
        """Holds the ledger's lock, or another of its own; raises Blocked after half a minute."""
        self.folder.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + PATIENCE
        path = self.folder / name
        with open(path, "ab") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        message = f"Another Quorra process has held {path} for {PATIENCE:.0f} seconds."
                        raise Blocked("busy", str(path), message) from None
                    time.sleep(random.uniform(0.0005, 0.003))
            yield

    @contextmanager
    def hold_index(self) -> Iterator[None]:
        """Holds git's index lock, as a link whose inode proves it ours; raises Blocked after two seconds."""
        own = self.folder / f"own-{os.getpid()}-{os.urandom(4).hex()}"
        own.touch(exist_ok=False)
        try:
            self._link(own)
            try:
                yield
            finally:
                self._unlink(own)
        finally:
            own.unlink(missing_ok=True)

    def _link(self, own: Path) -> None:
        until = time.monotonic() + INDEX_PATIENCE
        while True:
            try:
                os.link(own, self.index_lock)
                return
            except FileExistsError:
                if time.monotonic() > until:
                    message = f"{self.index_lock} is held by another git command."
                    raise Blocked("busy", str(self.index_lock), message, LEFT) from None
                time.sleep(0.01)

    def _unlink(self, own: Path) -> None:
        try:
            if os.path.samestat(os.lstat(own), os.lstat(self.index_lock)):
                os.unlink(self.index_lock)
        except FileNotFoundError:
            pass

    def sweep(self) -> None:
        """Frees the index lock that a dead process of ours left; call it with the ledger's lock held."""
        for own in self.folder.glob("own-*"):
            self._unlink(own)
            own.unlink(missing_ok=True)
