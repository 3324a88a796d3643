"""Git objects, hashed and written in this process: blobs, trees, commits."""

import hashlib
import os
import re
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from quorra.ledger.plumbing.process import Reader

KEPT = 200_000
FEW = 8
FOLDER = "40000"


class Row(NamedTuple):
    """A path's mode (octal digits) and blob id, as trees and the index hold them."""

    mode: str
    id: str

    @property
    def regular(self) -> bool:
        """Tells whether the path is a regular file."""
        return self.mode in ("100644", "100755")


Tree = dict[bytes, tuple[bytes, bytes]]
Rows = Mapping[str, Row | None]


class Objects:
    """Reads trees through a kept process and a small memory, writes loose objects directly."""

    def __init__(self, reader: Reader, folder: Path, algorithm: str) -> None:
        self.reader = reader
        self.folder = folder
        self.algorithm = algorithm
        self.size = hashlib.new(algorithm).digest_size
        self.none = "0" * (2 * self.size)
        self._record = re.compile(rb"(\d+) ([^\0]+)\0(.{%d})" % self.size, re.DOTALL)
        self._trees: dict[str, Tree] = {}
        self._held = 0
        self._memory = threading.Lock()

    def id_of(self, content: bytes, kind: str = "blob") -> str:
        """Gives the id that git gives to this content."""
        return hashlib.new(self.algorithm, b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()

    def write(self, content: bytes, kind: str = "blob") -> str:
        """Writes a loose object unless it is there, by a temporary file and a rename."""
        text = b"%s %d\0" % (kind.encode(), len(content)) + content
        name = hashlib.new(self.algorithm, text).hexdigest()
        folder = self.folder / name[:2]
        if os.path.exists(f"{folder}/{name[2:]}"):
            return name
        temp = f"{folder}/tmp_obj_{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            out = os.open(temp, flags, 0o444)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            out = os.open(temp, flags, 0o444)
        with os.fdopen(out, "wb") as file:
            file.write(zlib.compress(text, 1))
        os.rename(temp, f"{folder}/{name[2:]}")
        return name

    def write_new(self, contents: Iterable[bytes]) -> list[str]:
        """Writes the blobs that the repository does not hold yet and gives the ids of all."""
        listed = list(contents)
        if len(listed) <= FEW:
            # To ask git first costs more than a second copy beside a pack.
            return [self.write(content) for content in listed]
        named = [(self.id_of(content), content) for content in listed]
        held = self.reader.info([name for name, _ in named])
        for (_, content), known in zip(named, held, strict=True):
            if known is None:
                self.write(content)
        return [name for name, _ in named]

    def tree(self, name: str) -> Tree:
        """Gives a tree's entries by name; the caller must not change them."""
        kept = self._trees.get(name)
        if kept is None:
            ((_, raw),) = self.reader.contents([name])
            kept = {part: (mode, ident) for mode, part, ident in self._record.findall(raw)}
            self._keep(name, kept)
        return kept

    def _keep(self, name: str, tree: Tree) -> None:
        with self._memory:
            if name in self._trees:
                return
            self._held += len(tree)
            while self._held > KEPT and self._trees:
                self._held -= len(self._trees.pop(next(iter(self._trees))))
            self._trees[name] = tree

    def row(self, tree: str | None, path: str) -> Row | None:
        """Finds a path's row in a tree; a folder's row has the folder mode."""
        parts = os.fsencode(path).split(b"/")
        for depth, part in enumerate(parts):
            entry = self.tree(tree).get(part) if tree else None
            if entry is None:
                return None
            # Old versions of git wrote group-writable modes, which the index does not know.
            row = Row("100644" if entry[0] == b"100664" else entry[0].decode(), entry[1].hex())
            if depth == len(parts) - 1:
                return row
            if row.mode != FOLDER:
                return None
            tree = row.id
        return None

    def graft(self, tree: str | None, rows: Rows) -> str:
        """Builds the tree that has these rows put in (None: taken out) and gives its id."""
        nested: dict[bytes, object] = {}
        for path, row in rows.items():
            *folders, name = os.fsencode(path).split(b"/")
            level = nested
            for folder in folders:
                level = level.setdefault(folder, {})  # type: ignore[assignment]
            level[name] = row
        return self._graft(tree, nested) or self._store({})

    def _graft(self, tree: str | None, changes: dict[bytes, object]) -> str | None:
        entries = dict(self.tree(tree)) if tree else {}
        for name, change in changes.items():
            row = change
            if isinstance(change, dict):
                old = entries.get(name)
                inner = old[1].hex() if old and old[0].decode() == FOLDER else None
                made = self._graft(inner, change)
                row = Row(FOLDER, made) if made else None
            if isinstance(row, Row):
                entries[name] = (row.mode.encode(), bytes.fromhex(row.id))
            else:
                entries.pop(name, None)
        return self._store(entries) if entries else None

    def _store(self, entries: Tree) -> str:
        def place(item: tuple[bytes, tuple[bytes, bytes]]) -> bytes:
            return item[0] + b"/" if item[1][0] == FOLDER.encode() else item[0]

        ordered = sorted(entries.items(), key=place)
        name = self.write(b"".join(b"%s %s\0%s" % (mode, part, ident) for part, (mode, ident) in ordered), "tree")
        self._keep(name, dict(ordered))
        return name
