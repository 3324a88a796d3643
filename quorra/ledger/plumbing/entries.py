"""Git's index: read and patched in place where it is plain, left to git where it is not.

Plain is version 2 with no extension but the cached trees; other versions and
split, sparse or watched indexes are sealed. Layout as in git's
gitformat-index(5): a 12 byte header, entries padded to 8 bytes in order of
their names, extensions, a checksum.
"""

import hashlib
import os
import re
import struct
from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from quorra.ledger.plumbing.objects import Row
from quorra.ledger.plumbing.process import Git

HEAD = 12
FIXED = 62
HASH = 20
MODES = frozenset(mode.to_bytes(4, "big") for mode in (0o100644, 0o100755, 0o120000, 0o160000))
EMPTY = b"DIRC" + struct.pack(">LL", 2, 0)
LONG = 0xFFF
FEW = 40
NODE = re.compile(rb"([^\0]*)\0(?:-1 (\d+)\n|(\d+) (\d+)\n(.{20}))", re.DOTALL)

Ids = Callable[[bytes], bytes | None]


class NotPlain(Exception):
    """The index has a version or an extension that only git should write."""


class Node(NamedTuple):
    """A folder in the cached trees: entries below it, folders in it, its tree's id; no id where it is not known."""

    name: bytes
    entries: int
    folders: int
    id: bytes | None


class Entries:
    """One reading of a plain index; raises NotPlain."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw or EMPTY + hashlib.sha1(EMPTY).digest()
        if self.raw[:8] != EMPTY[:8] or len(self.raw) < HEAD + HASH:
            raise NotPlain
        self.count = int.from_bytes(self.raw[8:12], "big")
        self.end, self.trees = self._bounds()
        self._asked = 0
        self._names: list[bytes] = []
        self._starts: list[int] = []

    def _bounds(self) -> tuple[int, bytes]:
        raw, last = self.raw, len(self.raw) - HASH
        end = last
        at = raw.rfind(b"TREE", HEAD, last)
        while at >= 0:
            if at + 8 + int.from_bytes(raw[at + 4 : at + 8], "big") == last:
                end = at
                break
            at = raw.rfind(b"TREE", HEAD, at)
        if self.count == 0:
            closed = end == HEAD
        else:
            # The last entry must end where the extension starts; else something else lies between.
            starts = range(end - 64, max(HEAD, end - 4200) - 1, -1)
            closed = any((at - HEAD) % 8 == 0 and self._next(at, end) == end for at in starts)
        if not closed:
            raise NotPlain
        return end, raw[end + 8 : last] if end < last else b""

    def _next(self, at: int, end: int | None = None) -> int:
        """Gives where the entry at ``at`` ends, 0 where none starts there."""
        raw, end = self.raw, self.end if end is None else end
        if raw[at + 24 : at + 28] not in MODES:
            return 0
        length = int.from_bytes(raw[at + 60 : at + 62], "big") & LONG
        stop = raw.find(b"\0", at + FIXED, end)
        size = stop - at - FIXED
        if size < 1 or (size != length and not (length == LONG and size >= LONG)):
            return 0
        after = at + ((FIXED + size + 8) & ~7)
        return after if after <= end else 0

    def _start(self, at: int, limit: int) -> int:
        """Finds the first entry at or after ``at``; two in a row must fit, so that no text is taken for one."""
        at += -(at - HEAD) % 8
        while at < limit:
            after = self._next(at)
            if after and (after == self.end or self._next(after)):
                return at
            at += 8
        return limit

    def name(self, at: int) -> bytes:
        """Gives the path of the entry at ``at``."""
        return self.raw[at + FIXED : self.raw.find(b"\0", at + FIXED)]

    def find(self, path: bytes) -> int:
        """Finds where the first entry stands whose path is not before ``path``."""
        self._asked += 1
        if self._asked > FEW + self.count // 1000:
            if not self._starts:
                self._walk()
            return self._starts[bisect_left(self._names, path)]
        low, high = HEAD, self.end
        while low < high:
            middle = (low + high) // 2
            at = self._start(middle, high)
            if at >= high:
                high = middle
            elif self.name(at) < path:
                low = self._next(at)
            else:
                high = at
        return low

    def _walk(self) -> None:
        """Notes every entry; worth it where many are asked for."""
        raw, at = self.raw, HEAD
        while at < self.end:
            stop = raw.index(b"\0", at + FIXED)
            self._names.append(raw[at + FIXED : stop])
            self._starts.append(at)
            at += (stop - at + 8) & ~7
        self._starts.append(self.end)

    def row(self, path: str) -> Row | None:
        """Gives a path's row; stages of a conflict have the mode ``unmerged``."""
        name = os.fsencode(path)
        at = self.find(name)
        if at >= self.end or self.name(at) != name:
            return None
        flags = int.from_bytes(self.raw[at + 60 : at + 62], "big")
        if flags & 0x3000:
            return Row("unmerged", "")
        return Row(f"{int.from_bytes(self.raw[at + 24 : at + 28], 'big'):o}", self.raw[at + 40 : at + 60].hex())

    def inside(self, path: str) -> bool:
        """Tells whether there are entries below a path."""
        start = os.fsencode(path) + b"/"
        at = self.find(start)
        return at < self.end and self.name(at).startswith(start)

    def patched(self, rows: Mapping[str, tuple[Row, os.stat_result | None] | None], old: Ids, new: Ids) -> bytes:
        """Gives the index with these rows put in (None: taken out).

        ``old`` and ``new`` give the tree id of a folder before and after: cached
        trees that were right stay right, and others are marked as not known.
        """
        pieces = [b""]
        cursor, moved = HEAD, {}
        for name, row in sorted((os.fsencode(path), row) for path, row in rows.items()):
            at = self.find(name)
            there = at < self.end and self.name(at) == name
            pieces.append(self.raw[cursor:at])
            if row is not None:
                pieces.append(_entry(name, *row))
            cursor = self._next(at) if there else at
            moved[name] = (row is not None) - there
        pieces.append(self.raw[cursor : self.end])
        pieces[0] = EMPTY[:8] + struct.pack(">L", self.count + sum(moved.values()))
        if self.trees:
            trees = _retree(self.trees, moved, old, new)
            pieces.append(b"TREE" + struct.pack(">L", len(trees)) + trees)
        body = b"".join(pieces)
        return body + hashlib.sha1(body).digest()


class Sealed:
    """An index that git alone should write: the same questions and changes as ``Entries``, each by a git command."""

    def __init__(self, git: Git, copy: Path, raw: bytes, none: str) -> None:
        self.git = git
        self.copy = copy
        self.raw = raw
        self.none = none

    def row(self, path: str) -> Row | None:
        """Gives a path's row; stages of a conflict have the mode ``unmerged``."""
        listed = self.git.run("ls-files", "--stage", "--full-name", "-z", "--", path)
        for record in listed.split(b"\0")[:-1]:
            head, _, name = record.partition(b"\t")
            if os.fsdecode(name) == path:
                mode, ident, stage = head.decode().split(" ")
                return Row(mode, ident) if stage == "0" else Row("unmerged", "")
        return None

    def inside(self, path: str) -> bool:
        """Tells whether there are entries below a path."""
        return bool(self.git.run("ls-files", "-z", "--full-name", "--", path + "/"))

    def patched(self, rows: Mapping[str, tuple[Row, os.stat_result | None] | None], old: Ids, new: Ids) -> bytes:
        """Gives the index with these rows put in (None: taken out), made by git on a copy."""
        if self.raw:
            self.copy.write_bytes(self.raw)
        within = {"GIT_INDEX_FILE": str(self.copy)}
        lines = []
        for path, row in rows.items():
            mode, ident = (row[0].mode, row[0].id) if row else ("0", self.none)
            lines.append(f"{mode} {ident}\t".encode() + os.fsencode(path))
        try:
            self.git.run("update-index", "-z", "--index-info", stdin=b"\0".join([*lines, b""]), within=within)
            self.git.run("update-index", "-q", "--refresh", within=within, good=(0, 1))
            return self.copy.read_bytes()
        finally:
            self.copy.unlink(missing_ok=True)
            self.copy.with_name(self.copy.name + ".lock").unlink(missing_ok=True)


def _entry(name: bytes, row: Row, seen: os.stat_result | None) -> bytes:
    numbers = [0] * 6
    tail = [0] * 3
    if seen is not None:
        numbers = [
            *divmod(seen.st_ctime_ns, 10**9),
            *divmod(seen.st_mtime_ns, 10**9),
            seen.st_dev,
            seen.st_ino,
        ]
        tail = [seen.st_uid, seen.st_gid, seen.st_size]
    fields = [number & 0xFFFFFFFF for number in (*numbers, int(row.mode, 8), *tail)]
    flags = min(len(name), LONG)
    fixed = struct.pack(">10L", *fields) + bytes.fromhex(row.id) + struct.pack(">H", flags) + name
    return fixed + b"\0" * (8 - len(fixed) % 8)


def _retree(raw: bytes, moved: Mapping[bytes, int], old: Ids, new: Ids) -> bytes:
    delta: dict[bytes, int] = {}
    for name, by in moved.items():
        parts = name.split(b"/")
        for depth in range(len(parts)):
            folder = b"/".join(parts[:depth])
            delta[folder] = delta.get(folder, 0) + by
    nodes = []
    for name, unknown, count, folders, ident in NODE.findall(raw):
        nodes.append(Node(name, int(count or -1), int(unknown or folders), ident or None))
    if not nodes:
        return b""
    return _subtree(nodes, 0, b"", delta, old, new)[0]


def _subtree(
    nodes: list[Node], at: int, path: bytes, delta: Mapping[bytes, int], old: Ids, new: Ids
) -> tuple[bytes, int]:
    node, at = nodes[at], at + 1
    inner: list[bytes] = []
    for _ in range(node.folders):
        below = path + b"/" + nodes[at].name if path else nodes[at].name
        text, at = _subtree(nodes, at, below, delta, old, new)
        if text:
            inner.append(text)
    count, ident = node.entries, node.id
    if path in delta:
        after = new(path)
        if path and after is None:
            return b"", at
        known = ident is not None and after is not None and ident == old(path)
        count, ident = (count + delta[path], after) if known else (-1, None)
    text = node.name + b"\0" + b"%d %d\n" % (count, len(inner)) + (ident or b"")
    return text + b"".join(inner), at
