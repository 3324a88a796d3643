"""What is on disk, by one ``git status`` and the ids of the files that it names."""

import os
import threading
from collections.abc import Callable, Sequence

from quorra.ledger.change import Snapshot
from quorra.ledger.plumbing.disk import Blocked, Disk
from quorra.ledger.plumbing.repository import Repository

STATUS = (
    *("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "-uall"),
    *("--no-renames", "--ignore-submodules=all"),
)
# Bytes of an index of some thousand files: below, the threads that git would start cost more than they save.
SMALL = 300_000
ALONE = ("-c", "core.preloadIndex=false")
SETTLED = 1_000_000_000
REGULAR = (b"100644", b"100755", b"100664")

Signature = tuple[int, int, int, int]


class Watch:
    """Takes snapshots of one repository, remembering the ids of files that stay as they are."""

    def __init__(self, repo: Repository, roots: Sequence[str], now: Callable[[], int]) -> None:
        self.repo = repo
        self.roots = tuple(roots)
        self.now = now
        # Folders that are kept open belong to one thread at a time: a commit has its own.
        self.disk = Disk(repo.root, repo.disk.tray)
        self._known: dict[str, tuple[Signature, str]] = {}
        self._lock = threading.Lock()

    def take(self) -> Snapshot:
        """Gives head and dirty files."""
        with self._lock, self.disk.keeping():
            before, found = self._status()
            head = self.repo.head()
            if head != before:
                self._catch_up(found, before, head)
            return Snapshot(head, self._dirty(found))

    def _catch_up(self, found: dict[str, str | None], before: str | None, head: str | None) -> None:
        """Sets what HEAD has where the branch moved while git was looking."""
        old, new = self.repo.tree_of(before), self.repo.tree_of(head)
        empty = self.repo.objects.graft(None, {})
        for _, _, name in self.repo.differ.changes(old or empty, new or empty):
            self._note(found, name, None)
        for path in found:
            row = self.repo.objects.row(new, path)
            found[path] = row.id if row and row.regular else None

    def _status(self) -> tuple[str | None, dict[str, str | None]]:
        """Gives head and, for every path that may differ, the id of the regular file that HEAD has there."""
        head: str | None = None
        found: dict[str, str | None] = {}
        alone = ALONE if self._small() else ()
        for record in self.repo.git.run(*alone, *STATUS).split(b"\0"):
            kind = record[:1]
            if kind == b"#":
                words = record.split(b" ")
                if words[1] == b"branch.oid" and words[2] != b"(initial)":
                    head = words[2].decode()
            elif kind in (b"1", b"u"):
                parts = record.split(b" ", 8 if kind == b"1" else 10)
                # HEAD's side: third mode and seventh field of an ordinary record, stage 2 of a conflict.
                mode, ident = (parts[3], parts[6]) if kind == b"1" else (parts[4], parts[8])
                self._note(found, parts[-1], ident.decode() if mode in REGULAR else None)
            elif kind == b"?" and not record.endswith(b"/"):
                self._note(found, record[2:], None)
        return head, found

    def _small(self) -> bool:
        try:
            return os.stat(self.repo.index_file).st_size < SMALL
        except FileNotFoundError:
            return True

    def _note(self, found: dict[str, str | None], name: bytes, ident: str | None) -> None:
        path = os.fsdecode(name)
        if visible(path, self.roots):
            found[path] = found.get(path) or ident

    def _dirty(self, found: dict[str, str | None]) -> dict[str, str | None]:
        dirty: dict[str, str | None] = {}
        known: dict[str, tuple[Signature, str]] = {}
        for path, ident in found.items():
            now = self._id(path, known)
            if now != ident:
                dirty[path] = now
        self._known = known
        return dirty

    def _id(self, path: str, known: dict[str, tuple[Signature, str]]) -> str | None:
        kept = self._known.get(path)
        if kept and kept[0] == self._now(path):
            known[path] = kept
            return kept[1]
        try:
            file = self.disk.read(path)
        except Blocked:
            return None
        if file is None:
            return None
        ident = self.repo.objects.id_of(file.content)
        # A file as young as this could change again without its stat showing it.
        if file.stat.st_ctime_ns < self.now() - SETTLED:
            known[path] = (signature(file.stat), ident)
        return ident

    def _now(self, path: str) -> Signature | None:
        try:
            return signature(os.lstat(f"{self.repo.root}/{path}"))
        except OSError:
            return None


def signature(stat: os.stat_result) -> Signature:
    """Gives what tells that a file was written since."""
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


def hidden(path: str) -> bool:
    """Tells whether a part of the path begins with a dot, as editors' own folders do."""
    return path.startswith(".") or "/." in path


def visible(path: str, roots: Sequence[str]) -> bool:
    """Tells whether a path lies under one of the roots and in no hidden folder."""
    return not hidden(path) and any(not root or path.startswith(root + "/") for root in roots)
