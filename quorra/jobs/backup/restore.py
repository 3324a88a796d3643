"""Brings a home back from its backup, into a folder that holds nothing yet."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quorra.errors import QuorraError
from quorra.jobs.backup import archive
from quorra.jobs.backup.archive import Damaged, Reader
from quorra.jobs.backup.beside import beside, settle, sweep
from quorra.ledger import create
from quorra.ledger.keep.rebuild import Rebuild
from quorra.ledger.plumbing import disk
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.process import GitFailed
from quorra.settings import FILE, PRIVATE
from quorra.state import database
from quorra.state.database import STATE, StateError

WITHIN = "restore"
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
UNWRITTEN = re.compile(r"No space left|Out of diskspace|(?:unable|failed) to (?:write|create)|could not (?:write|set)")


class Unfit(QuorraError):
    """The home can't be put there."""

    code = "unfit"

    def __init__(self, folder: Path, what: str, next: str = "Name an empty or a new folder with --home.") -> None:
        super().__init__(f"{folder} {what}; nothing was written.", next)


class NoBackup(QuorraError):
    """There is no such file, or it can't be read."""

    code = "no_backup"


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back: how many files, from how large a backup."""

    home: Path
    commit: str | None
    files: int
    bytes: int


def restore(file: Path, folder: Path) -> Restored:
    """Brings a home back into ``folder``; raises Unfit, NoBackup, Damaged, Newer and StateError.

    Every byte of the backup is checked before anything is written.
    """
    _free(folder)
    try:
        source = open(file, "rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise NoBackup(f"{file} can't be read: {error.strerror}.", "Name a file that quorra backup made.") from error
    with source, _doubt(file, folder):
        reader = archive.read(file, source)
        # A folder that is there already, and may be somebody's working directory, stays the same one.
        place = (folder, WITHIN) if folder.is_dir() else (folder.parent, folder.name)
        with beside(*place) as work:
            built = work / "home"
            built.mkdir()
            _build(reader, built)
            _publish(built, folder)
        told = reader.manifest
        return Restored(folder.resolve(), told["commit"], told["files"], os.fstat(source.fileno()).st_size)


def _free(folder: Path) -> None:
    refused = create.check(folder)
    if refused is not None:
        raise Unfit(folder, f"can't hold a home: {refused.reason.rstrip('.')}")
    if not folder.parent.is_dir():
        raise Unfit(folder, f"can't be made, as there is no {folder.parent}")
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise Unfit(folder, "is a file")
    sweep(folder, WITHIN)
    if any(os.scandir(folder)):
        raise Unfit(folder, "is not empty")


@contextmanager
def _doubt(file: Path, folder: Path) -> Iterator[None]:
    """Tells of a backup that is whole and yet makes no home."""
    try:
        yield
    except StateError as error:
        found = re.sub(rf"^\S*/{re.escape(STATE)}", f"The database in {file}", error.message)
        raise StateError(f"{found} Nothing was written.", error.next) from error
    except (GitFailed, Blocked) as error:
        if UNWRITTEN.search(error.message):
            # Every byte of the backup was found right before: it is the disk's fault, and another backup is no help.
            raise Unfit(folder, f"can't be filled: {error.message.rstrip('.')}", "Make room and try again.") from error
        raise Damaged(file, error.message.rstrip(".")) from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Damaged(file, "its list does not say what a home needs") from error


def _build(reader: Reader, root: Path) -> None:
    told, made = reader.manifest, Rebuild(root)
    made.history(reader.stream("history.bundle"), told["head"])
    for name in ("attributes", "exclude"):
        if f"info/{name}" in reader.places:
            made.info(name, reader.pieces(f"info/{name}"))
    made.checkout(reader.content("index"))
    made.told(told["config"], told["symbolic"], told["stash"])
    for path in told["gone"]:
        made.remove(path)
    for entry in told["changed"]:
        made.put(entry["path"], reader.pieces(entry["member"]), entry["mode"], entry["when"])
    for path, target in told["links"].items():
        made.link(path, target)
    for path in told["folders"]:
        made.folder(path)
    for number, name in enumerate(told["rescued"], 1):
        made.rescued(name, reader.pieces(f"rescued/{number}"))
    _state(reader, root / PRIVATE)
    if not (root / FILE).is_file():
        raise KeyError(FILE)
    made.prove()


def _state(reader: Reader, private: Path) -> None:
    private.mkdir()
    if STATE not in reader.places:
        return
    with open(os.open(private / STATE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.writelines(reader.pieces(STATE))
    database.open(private / STATE).close()


def _publish(built: Path, folder: Path) -> None:
    """Puts what was built in its place: a new folder at once, in one that was there the settings last."""
    disk.settle((built,))
    if built.parent.parent != folder:
        try:
            os.rename(built, folder)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
            raise Unfit(folder, "was made by somebody else meanwhile") from error
        settle(folder.parent)
        return
    if set(os.listdir(folder)) != {built.parent.name}:
        raise Unfit(folder, "is not empty any more")
    for name in sorted(os.listdir(built), key=lambda name: (name == FILE, name)):
        os.rename(built / name, folder / name)
    settle(folder)
