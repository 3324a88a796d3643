"""Files in the work tree: walked to without following a link, exchanged without a moment of absence."""

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from quorra.errors import QuorraError

NOREPLACE = 1
EXCHANGE = 2
KEPT = 64
UNABLE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_libc = ctypes.CDLL(None, use_errno=True)


class Blocked(QuorraError):
    """A path can't be read or written, or a lock can't be had; ``code`` is one of a refusal's."""

    def __init__(self, code: str, path: str, message: str, advice: str = "") -> None:
        super().__init__(message, advice)
        self.code = code
        self.path = path


def settle(places: Iterable[Path]) -> int:
    """Puts on the medium what anyone wrote so far to the file systems of these folders; gives how many those are."""
    call = getattr(_libc, "syncfs", None)
    apart = {os.stat(place).st_dev: place for place in places}
    for place in apart.values():
        if call is None:
            os.sync()
            break
        at = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if call(at):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), str(place))
        finally:
            os.close(at)
    return len(apart)


@dataclass(frozen=True, slots=True)
class Seen:
    """A regular file as it was read."""

    content: bytes
    stat: os.stat_result


class Disk:
    """The work tree under ``root``, and the tray where temporaries wait, on the same file system."""

    def __init__(self, root: Path, tray: Path) -> None:
        self.root = root
        self.tray = tray
        self._kept: dict[str, int] | None = None

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Keeps folders open that are asked for more than once; for one thread, and for a moment."""
        self._kept = {}
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            for at in kept.values():
                os.close(at)

    @contextmanager
    def folder(self, path: str, make: bool = False) -> Iterator[tuple[int, str]]:
        """Opens the folder that holds ``path``, part by part; raises Blocked at a link or a nested repository."""
        parent, _, name = path.rpartition("/")
        kept = self._kept
        if kept is None:
            at = self._walk(parent, path, make)
            try:
                yield at, name
            finally:
                os.close(at)
            return
        # Taken out and put back at the end, so that those asked for longest ago go first and none goes that is in use.
        at = kept.pop(parent) if parent in kept else self._walk(parent, path, make)
        while len(kept) >= KEPT:
            os.close(kept.pop(next(iter(kept))))
        kept[parent] = at
        yield at, name

    def _walk(self, parent: str, path: str, make: bool) -> int:
        at = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        for folder in parent.split("/") if parent else ():
            try:
                step = self._step(at, folder, path, make)
            finally:
                os.close(at)
            at = step
        return at

    def _step(self, at: int, folder: str, path: str, make: bool) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        try:
            step = os.open(folder, flags, dir_fd=at)
        except FileNotFoundError:
            if not make:
                raise
            with suppress(FileExistsError):
                os.mkdir(folder, dir_fd=at)
            step = os.open(folder, flags, dir_fd=at)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            link = stat.S_ISLNK(os.lstat(folder, dir_fd=at).st_mode)
            what = "a symbolic link, which is not followed" if link else "a file, not a folder"
            raise Blocked("symlink" if link else "path", path, f"{folder} on the way to {path} is {what}.") from error
        if _there(".git", step):
            os.close(step)
            raise Blocked("nested", path, f"{path} lies in a repository of its own ({folder}).")
        return step

    def read(self, path: str) -> Seen | None:
        """Reads a regular file, None where there is nothing; raises Blocked for anything else."""
        try:
            with self.folder(path) as (at, name):
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Blocked("symlink", path, f"{path} is a symbolic link, which is not followed.") from error
            raise Blocked("disk", path, f"{path} can't be read: {error.strerror}.") from error
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            os.close(file)
            raise Blocked("path", path, f"{path} is not a regular file.")
        with os.fdopen(file, "rb") as stream:
            return Seen(stream.read(), seen)

    def lstat(self, path: str) -> os.stat_result | None:
        """Gives a path's own stat, None where it can't be reached."""
        try:
            with self.folder(path) as (at, name):
                return os.lstat(name, dir_fd=at)
        except (OSError, Blocked):
            return None

    def runnable(self, path: str, yes: bool) -> None:
        """Lets a file be run as a program by whoever may read it, or by nobody."""
        with suppress(OSError, Blocked), self.folder(path) as (at, name):
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
            try:
                mode = stat.S_IMODE(os.fstat(file).st_mode)
                wanted = mode | (mode & 0o444) >> 2 if yes else mode & ~0o111
                if wanted != mode:
                    os.fchmod(file, wanted)
            finally:
                os.close(file)

    def stage(self, temp: str, content: bytes, like: os.stat_result | None) -> os.stat_result:
        """Writes a temporary on the tray with the mode, and where allowed the owner, of the file it will replace."""
        out = os.open(f"{self.tray}/{temp}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _write(out, content)
            if like is not None:
                now = os.fstat(out)
                if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
                    with suppress(PermissionError):
                        os.fchown(out, like.st_uid, like.st_gid)
                os.fchmod(out, stat.S_IMODE(like.st_mode))
            return os.fstat(out)
        finally:
            os.close(out)

    def exchange(self, path: str, temp: str) -> None:
        """Puts the temporary in the file's place and the file in the temporary's."""
        with self.folder(path) as (at, name), self._tray() as tray:
            if not _rename(tray, temp, at, name, EXCHANGE):
                side = temp + ".side"
                os.link(name, side, src_dir_fd=at, dst_dir_fd=tray, follow_symlinks=False)
                os.rename(temp, name, src_dir_fd=tray, dst_dir_fd=at)
                os.rename(side, temp, src_dir_fd=tray, dst_dir_fd=tray)

    def place(self, path: str, temp: str) -> None:
        """Puts the temporary where no file is; raises FileExistsError where one is."""
        with self.folder(path, make=True) as (at, name), self._tray() as tray:
            if not _rename(tray, temp, at, name, NOREPLACE):
                os.link(temp, name, src_dir_fd=tray, dst_dir_fd=at)
                os.unlink(temp, dir_fd=tray)

    def take(self, path: str, temp: str) -> None:
        """Takes a file away to the tray."""
        with self.folder(path) as (at, name), self._tray() as tray:
            os.rename(name, temp, src_dir_fd=at, dst_dir_fd=tray)

    def move(self, source: str, path: str) -> None:
        """Renames a file to where no file is; raises FileExistsError where one is."""
        with self.folder(source) as (here, old), self.folder(path, make=True) as (there, new):
            if not _rename(here, old, there, new, NOREPLACE):
                os.link(old, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
                os.unlink(old, dir_fd=here)

    def waiting(self, temp: str) -> bytes | None:
        """Reads a temporary, None where there is none."""
        try:
            with open(f"{self.tray}/{temp}", "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def mend(self, temp: str) -> None:
        """Ends an exchange that was cut short where the system can't make one in a single step."""
        side = f"{self.tray}/{temp}.side"
        if os.path.lexists(f"{self.tray}/{temp}"):
            self.drop(temp + ".side")
            return
        with suppress(FileNotFoundError):
            os.rename(side, f"{self.tray}/{temp}")

    def drop(self, temp: str) -> None:
        """Removes a temporary if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self.tray}/{temp}")

    def missing(self, paths: Iterable[str]) -> list[str]:
        """Gives the folders on the way to these paths that are not there yet, outermost first."""
        folders: set[str] = set()
        for parent in {path.rpartition("/")[0] for path in paths}:
            parts = parent.split("/")
            folders.update("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return sorted(folder for folder in folders if not os.path.lexists(f"{self.root}/{folder}"))

    def make(self, folder: str) -> None:
        """Makes a folder and those that it lies in, where they are missing."""
        with self.folder(f"{folder}/.", make=True):
            pass

    def prune(self, folder: str) -> bool:
        """Removes a folder if it is empty; tells whether it did."""
        try:
            with self.folder(folder) as (at, name):
                os.rmdir(name, dir_fd=at)
        except (OSError, Blocked):
            return False
        return True

    @contextmanager
    def _tray(self) -> Iterator[int]:
        at = os.open(self.tray, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield at
        finally:
            os.close(at)


def _write(out: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(out, rest) :]


def _there(name: str, at: int) -> bool:
    try:
        os.lstat(name, dir_fd=at)
    except OSError:
        return False
    return True


def _rename(source: int, old: str, target: int, new: str, flag: int) -> bool:
    """Calls renameat2; False where this system or file system can't do it."""
    call = getattr(_libc, "renameat2", None)
    if call is None:
        return False
    if call(source, os.fsencode(old), target, os.fsencode(new), ctypes.c_uint(flag)) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNABLE:
        return False
    raise OSError(code, os.strerror(code), new)
