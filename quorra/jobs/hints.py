"""Hints that something happened under some folders: inotify by way of watchdog; never followed, never the truth."""

import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorra.vault import strays

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD, WatchDescriptor

LIMITS = {
    errno.ENOSPC: ("the system watches no more folders for this user", "fs.inotify.max_user_watches"),
    errno.EMFILE: ("the system opens no more watchers for this user", "fs.inotify.max_user_instances"),
}


class Hints:
    """Calls ``wake`` when a file that is not hidden changes in any folder under ``roots`` that is not hidden either.

    No link is followed, and no repository inside is entered. ``degraded`` says
    why some folders are not watched, None while all are.
    """

    def __init__(self, roots: Sequence[Path], wake: Callable[[], None]) -> None:
        self.roots = roots
        self.wake = wake
        self.degraded: str | None = None
        self._file: InotifyFD | None = None
        self._known: dict[tuple[int, int], WatchDescriptor] = {}
        self._stale = threading.Event()
        self._lock = threading.Lock()

    @property
    def stale(self) -> bool:
        """Tells whether there may be folders that are not watched yet."""
        return self._stale.is_set()

    def renew(self) -> None:
        """Watches every folder that is there now, as far as the system lets us."""
        self._stale.clear()
        try:
            self._open()
            for folder in self._folders():
                self._add(folder)
            self.degraded = None
        except OSError as error:
            self.degraded = _sentence(error)
        except ImportError:
            self.degraded = "Watching is degraded: this system tells of no changes; files are looked at now and then."

    def close(self) -> None:
        """Ends watching."""
        if self._file is not None:
            self._file.stop()
            self._file.join()
            self._file = None

    def on_event(self, event: "InotifyEvent") -> None:
        """Hears of one change; called by watchdog's thread."""
        if event.is_directory:
            self._stale.set()
        name = os.fsdecode(event.name)
        if not name or not strays.passing(name):
            self.wake()

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:
        """Forgets a folder that is gone; called by watchdog's thread."""
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if each != wd}
        self._stale.set()  # another folder may have its number by now

    def on_queue_overflow(self) -> None:
        """Takes lost events for a change; called by watchdog's thread."""
        self._stale.set()
        self.wake()

    def _open(self) -> None:
        if self._file is None:
            from watchdog.observers.inotify_c import InotifyFD

            logging.getLogger("watchdog").setLevel(logging.CRITICAL)  # what it warns of is met here
            self._file = InotifyFD()
            self._file.start()

    def _add(self, folder: str) -> None:
        from watchdog.observers.inotify_c import CallbackId, Mask
        from watchdog.observers.inotify_c import InotifyConstants as Inotify

        try:
            seen = os.lstat(folder)
            key = seen.st_dev, seen.st_ino
            if self._file is None or key in self._known:
                return
            changes = (
                Inotify.IN_CREATE | Inotify.IN_DELETE | Inotify.IN_MOVE | Inotify.IN_MODIFY | Inotify.IN_CLOSE_WRITE
            )
            only = Inotify.IN_ONLYDIR | Inotify.IN_DONT_FOLLOW | Inotify.IN_EXCL_UNLINK
            wd = self._file.add_callback(os.fsencode(folder), Mask(changes | only), self, CallbackId(id(self)))
        except (FileNotFoundError, NotADirectoryError):
            return
        with self._lock:
            self._known[key] = wd

    def _folders(self) -> Iterator[str]:
        for root in self.roots:
            for folder, names, files in os.walk(root):
                if folder != str(root) and ".git" in (*names, *files):
                    names.clear()
                    continue
                names[:] = [name for name in names if not name.startswith(".")]
                yield folder


def _sentence(error: OSError) -> str:
    why, name = LIMITS.get(error.errno or 0, (error.strerror or str(error), ""))
    helps = f"; raise {name} with sysctl" if name else ""
    return f"Watching is degraded: {why}{helps}. Until then files are looked at now and then."
