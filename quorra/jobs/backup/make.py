"""Makes a backup of a home, which may be in use and written to meanwhile."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from quorra import __version__
from quorra.errors import QuorraError
from quorra.home import Home
from quorra.jobs.backup.archive import PIECE, Writer
from quorra.jobs.backup.beside import beside, settle
from quorra.ledger.keep.kept import Keeper, Kept
from quorra.settings import FILE
from quorra.state import database
from quorra.state.database import STATE

FREE, TRIES = 2, 6
NEVER = (0, 0, 0, 0)


class BadPlace(QuorraError):
    """The backup can't be put there."""

    code = "place"


class Restless(QuorraError):
    """The home changed under every look at it."""

    code = "busy"

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"The files of {home} changed too fast to be kept as they were at one moment.", "Try again in a moment."
        )


@dataclass(frozen=True, slots=True)
class Made:
    """What was kept: how many files of the home, in how large a file; ``apart`` are repositories left out."""

    file: Path
    commit: str | None
    files: int
    bytes: int
    apart: tuple[str, ...] = ()


def make(home: Home, file: Path, *, replace: bool = False) -> Made:
    """Writes a backup to ``file``, whole or not at all; raises BadPlace, Restless and StateError."""
    _place(home.settings.home, file, replace)
    with closing(Keeper(home.settings.home, home.ledger.roots)) as keeper:
        return _made(home, keeper, file, replace)


def _made(home: Home, keeper: Keeper, file: Path, replace: bool) -> Made:
    with beside(file.parent, file.name) as work:
        temp = work / "backup"
        with open(os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:
            writer = Writer(out)
            manifest, kept = _fill(home, keeper, writer, work)
            manifest["made"] = home.ledger.clock().isoformat(timespec="seconds")
            writer.close(manifest)
        if not replace and os.path.lexists(file):
            raise _taken(file)
        os.replace(temp, file)
        settle(file.parent)
    return Made(file, kept.commit, manifest["files"], file.stat().st_size, kept.apart)


def _place(home: Path, file: Path, replace: bool) -> None:
    if not file.parent.is_dir():
        raise BadPlace(f"There is no folder {file.parent}.", "Make it first, or name another place.")
    if os.path.lexists(file) and not (replace and file.is_file()):
        raise _taken(file)
    if file.parent.resolve().is_relative_to(home):
        message = f"{file} lies inside the home; it would be lost with it, and be a part of the next backup."
        raise BadPlace(message, "Put the backup outside of the home.")


def _taken(file: Path) -> BadPlace:
    if file.is_dir():
        return BadPlace(f"{file} is a folder.", "Name a file in it.")
    if not file.is_file():
        return BadPlace(f"{file} is there already and is no ordinary file.", "Name another file.")
    return BadPlace(f"{file} is there already and was left as it is.", "Name another file, or overwrite it: --replace")


def _fill(home: Home, keeper: Keeper, writer: Writer, work: Path) -> tuple[dict[str, Any], Kept]:
    """Writes every member but the last ones. State comes first: what it tells of is then in the history."""
    state = home.settings.private / STATE
    if state.is_file():
        database.copy(state, work / STATE)
        writer.add(STATE, _read(work / STATE))
        os.unlink(work / STATE)
    kept, files = _files(home.settings.home, keeper, writer)
    for name, content in keeper.info().items():
        writer.add(f"info/{name}", [content])
    rescued = list(keeper.rescued().items())
    for number, (_, content) in enumerate(rescued, 1):
        writer.add(f"rescued/{number}", [content])
    writer.add("index", [kept.index])
    writer.add("history.bundle", keeper.bundle(kept))
    paths = {os.fsdecode(row.partition(b"\t")[2]) for row in kept.index.split(b"\0")[:-1]}
    paths = (paths | kept.changed.keys() | kept.links.keys()) - {*kept.gone}
    fields = asdict(kept)
    told = {key: fields[key] for key in ("head", "commit", "gone", "links", "folders", "symbolic", "stash")}
    return {
        "quorra": __version__,
        **told,
        "config": keeper.settings(),
        "rescued": [name for name, _ in rescued],
        "changed": files,
        "files": len(paths) + state.is_file(),
    }, kept


def _files(home: Path, keeper: Keeper, writer: Writer) -> tuple[Kept, list[dict[str, Any]]]:
    """Writes the files that differ from git's index, all from one moment: the home looks the same before and after.

    While others keep committing it holds the ledger's lock from the third try on; and then a file that never rests,
    such as a log, is kept as it was when it was read.
    """
    kept, mark = keeper.look(FILE), writer.mark()
    for number in range(TRIES):
        with nullcontext() if number < FREE else keeper.holding():
            kept = keeper.look(FILE) if number >= FREE else kept
            files = [_file(keeper, writer, path, place) for place, path in enumerate(kept.changed, 1)]
            again = keeper.look(FILE)
        same = again == kept or (number >= FREE and _paths(again) == _paths(kept))
        if same and None not in files:
            return again, [entry for entry in files if entry]
        kept = again
        writer.back(mark)
    raise Restless(home)


def _paths(kept: Kept) -> Kept:
    """Gives what was seen without when each file was written."""
    return replace(kept, changed=dict.fromkeys(kept.changed, NEVER))


def _file(keeper: Keeper, writer: Writer, path: str, number: int) -> dict[str, Any] | None:
    with keeper.opened(path) as file:
        if file is None:
            return None
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return None
        name = f"files/{number}"
        writer.add(name, _stream(file, seen.st_size))
        return {"member": name, "path": path, "mode": stat.S_IMODE(seen.st_mode), "when": seen.st_mtime_ns}


def _read(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from _stream(file, os.fstat(file.fileno()).st_size)


def _stream(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Gives no more than there was at first: a file that grows is looked at again, not followed for ever."""
    while size > 0 and (piece := file.read(min(PIECE, size))):
        size -= len(piece)
        yield piece
