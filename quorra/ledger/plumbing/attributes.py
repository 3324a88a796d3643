"""Filters such as git-crypt or LFS, which commits by plumbing would bypass."""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from quorra.ledger.plumbing.process import Git

FILE = ".gitattributes"
Signature = tuple[int, int, int, int]


def filtered(git: Git, paths: Iterable[str], where: Sequence[str] = ()) -> tuple[str, str] | None:
    """Asks git for the first of these paths that has a filter; gives it with the filter's name."""
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = git.run(*where, "check-attr", "-z", "--stdin", "filter", stdin=stdin).split(b"\0") if stdin else []
    for path, value in zip(fields[0::3], fields[2::3], strict=False):
        if value not in (b"unspecified", b"unset"):
            return os.fsdecode(path), os.fsdecode(value)
    return None


def sentence(path: str, name: str) -> str:
    """Says why a path with a filter is not written."""
    return f"{path} has the git filter {name}, which Quorra's commits would bypass."


class Attributes:
    """Which files of a work tree can give a path a filter, read again only where they changed.

    The machine's own attributes are looked at when a home is made, and no more.
    """

    def __init__(self, git: Git, root: Path, common: Path) -> None:
        self.git = git
        self.root = str(root)
        self.own = f"{common}/info/attributes"
        self._known: dict[str, tuple[Signature, bool]] = {}

    def filtered(self, paths: Sequence[str]) -> tuple[str, str] | None:
        """Gives the first path that has a filter, with the filter's name."""
        folders = {folder for path in paths for folder in _above(path)}
        files = [self.own, *(f"{self.root}/{folder}{FILE}" for folder in folders)]
        # A filter can only come from a file that holds the word, be it by way of a macro.
        return filtered(self.git, paths) if any(self._speaks(file) for file in files) else None

    def _speaks(self, file: str) -> bool:
        try:
            seen = os.stat(file)
        except OSError:
            return False
        if not stat.S_ISREG(seen.st_mode):
            return False
        now = seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino
        known = self._known.get(file)
        if known is None or known[0] != now:
            known = self._known[file] = now, b"filter" in Path(file).read_bytes()
        return known[1]


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("".join(part + "/" for part in parts[:depth]) for depth in range(len(parts)))
