"""An index that git alone should write (other versions, split, sparse, watched): asked and changed through git."""

import os
from collections.abc import Mapping
from pathlib import Path

from quorra.ledger.plumbing.entries import Ids
from quorra.ledger.plumbing.objects import Row
from quorra.ledger.plumbing.process import Git


class Sealed:
    """The same questions and changes as ``Entries``, each by a git command."""

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
