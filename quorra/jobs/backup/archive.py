"""The file of a backup: an ordinary tar of plain members, the last of which holds the checksums of the others."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from quorra.errors import QuorraError

FORMAT = 1
BLOCK = tarfile.BLOCKSIZE
PIECE = 1 << 20
LARGEST = 1 << 28
FIRST, MANIFEST, SEAL = "quorra-backup", "manifest.json", "manifest.sha256"


class Damaged(QuorraError):
    """The file is no whole backup."""

    code = "damaged"

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(f"{file} is no whole backup of Quorra's: {what}. Nothing was written.", "Take another one.")


class Newer(QuorraError):
    """The backup was made by a version that keeps more than this one knows."""

    code = "newer"

    def __init__(self, file: Path, found: str) -> None:
        message = f"{file} has format {found}, and this Quorra knows up to {FORMAT}. Nothing was written."
        super().__init__(message, "Install the newer Quorra and try again.")


class Writer:
    """Writes members one after the other; what has no known length yet is counted while it is written."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out = out
        self.members: dict[str, str] = {}
        self.add(FIRST, [f"{FORMAT}\n".encode()])

    def add(self, name: str, pieces: Iterable[bytes]) -> int:
        """Adds a member and gives its size in bytes."""
        start, found, size = self.out.tell(), hashlib.sha256(), 0
        self.out.write(bytes(BLOCK))
        for piece in pieces:
            self.out.write(piece)
            found.update(piece)
            size += len(piece)
        self.out.write(bytes(-size % BLOCK))
        stop = self.out.tell()
        head = tarfile.TarInfo(name)
        head.size, head.mode = size, 0o600
        self.out.seek(start)
        self.out.write(head.tobuf(tarfile.GNU_FORMAT))
        self.out.seek(stop)
        self.members[name] = found.hexdigest()
        return size

    def mark(self) -> tuple[int, dict[str, str]]:
        """Gives a point to come back to."""
        return self.out.tell(), dict(self.members)

    def back(self, mark: tuple[int, dict[str, str]]) -> None:
        """Takes back what was added since."""
        self.out.seek(mark[0])
        self.out.truncate()
        self.members = dict(mark[1])

    def close(self, manifest: Mapping[str, Any]) -> None:
        """Adds the manifest with all checksums, and ends the file on the medium."""
        text = json.dumps({**manifest, "format": FORMAT, "members": self.members}, indent=1).encode()
        self.add(MANIFEST, [text])
        self.add(SEAL, [hashlib.sha256(text).hexdigest().encode()])
        end = self.out.tell()
        self.out.write(bytes(_whole(end) - end))
        self.out.flush()
        os.fsync(self.out.fileno())


@dataclass(frozen=True, slots=True)
class Reader:
    """A backup that was looked through from end to end: its manifest, and where each member lies."""

    file: IO[bytes]
    manifest: Mapping[str, Any]
    places: Mapping[str, tuple[int, int]]

    def pieces(self, name: str) -> Iterator[bytes]:
        """Gives a member's bytes, piece by piece; call it for one member at a time."""
        start, size = self.places[name]
        self.file.seek(start)
        return _pieces(self.file, size)

    def stream(self, name: str) -> IO[bytes]:
        """Gives a member as a file of its own; read nothing else meanwhile."""
        start, size = self.places[name]
        self.file.seek(start)
        return io.BufferedReader(_Part(self.file, size))

    def content(self, name: str) -> bytes:
        """Gives a small member's bytes."""
        return b"".join(self.pieces(name))


def read(path: Path, file: IO[bytes]) -> Reader:
    """Checks a backup, every byte of it; raises Damaged and Newer."""
    places = dict(_members(path, file))
    reader = Reader(file, {}, places)
    if next(iter(places), None) != FIRST:
        raise Damaged(path, "it does not begin like one")
    known = reader.content(FIRST).strip().decode("ascii", "replace") if places[FIRST][1] < BLOCK else "?"
    if known != str(FORMAT):
        raise Newer(path, known)
    manifest, sums = _sealed(path, reader)
    if list(sums) != list(places)[:-2]:
        raise Damaged(path, "its members are not those of its list")
    for name, wanted in sums.items():
        if _sum(reader.pieces(name)) != wanted:
            raise Damaged(path, f"{name} in it was changed")
    return Reader(file, manifest, places)


def _sealed(path: Path, reader: Reader) -> tuple[dict[str, Any], dict[str, str]]:
    """Reads the manifest, and from it the checksum of each member; raises Damaged."""
    places = reader.places
    if list(places)[-2:] != [MANIFEST, SEAL] or places[MANIFEST][1] > LARGEST or places[SEAL][1] > BLOCK:
        raise Damaged(path, "its list of checksums is missing")
    text = reader.content(MANIFEST)
    if hashlib.sha256(text).hexdigest().encode() != reader.content(SEAL):
        raise Damaged(path, "its list of checksums was changed")
    try:
        manifest = json.loads(text)
        return manifest, dict(manifest["members"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(path, "its list of checksums can't be read") from error


class _Part(io.RawIOBase):
    """A stretch of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        piece = self.file.read(min(len(view), self.left))
        view[: len(piece)] = piece
        self.left -= len(piece)
        return len(piece)


def _members(path: Path, file: IO[bytes]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Walks the tar without trusting it: plain files alone, each name once, to the very last byte."""
    total, at, seen = os.fstat(file.fileno()).st_size, 0, set()
    while True:
        file.seek(at)
        block = file.read(BLOCK)
        if block == bytes(BLOCK):
            break
        try:
            head = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise Damaged(path, "it ends early or was changed") from error
        if head.type != tarfile.REGTYPE or head.size < 0 or head.name in seen:
            raise Damaged(path, "it holds what no backup holds")
        seen.add(head.name)
        yield head.name, (at + BLOCK, head.size)
        at += BLOCK + head.size
        file.seek(at)
        rest = -head.size % BLOCK
        if file.read(rest) != bytes(rest):
            raise Damaged(path, "it ends early or was changed")
        at += rest
    if total != _whole(at) or any(file.read()):
        raise Damaged(path, "it ends early or goes on where it should end")


def _whole(end: int) -> int:
    """Gives the length of a tar whose last member ends there."""
    return -(-(end + 2 * BLOCK) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE


def _pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (piece := file.read(min(size, PIECE))):
        size -= len(piece)
        yield piece


def _sum(pieces: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
