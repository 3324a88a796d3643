"""One git repository, opened: its processes, objects, files, index and locks."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from quorra.ledger.plumbing.attributes import Attributes
from quorra.ledger.plumbing.disk import Blocked, Disk
from quorra.ledger.plumbing.entries import Entries, NotPlain, Sealed
from quorra.ledger.plumbing.lock import Locks
from quorra.ledger.plumbing.objects import Objects, Row
from quorra.ledger.plumbing.process import PLAIN, Differ, Git, GitFailed, Reader, Refs
from quorra.settings import PRIVATE

YOUNG = 128
KNOWN = 64
UNDERWAY = {
    "MERGE_HEAD": "A merge",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "sequencer": "A sequence of picks",
}


class Repository:
    """A work tree and its git folder; raises GitFailed where git will not have it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.git = Git(self.root)
        self.folder, self.common, self.index_file = self._locate()
        self.reader = Reader(self.git)
        self.differ = Differ(self.git)
        self.refs = Refs(self.git)
        algorithm = self.git.run("rev-parse", "--show-object-format").decode().strip()
        self.objects = Objects(self.reader, self.common / "objects", algorithm)
        self.own = self.folder / "quorra"
        self.disk = Disk(self.root, self._tray())
        self.attributes = Attributes(self.git, self.root, self.common)
        self.locks = Locks(self.own, self.index_file)
        self._trees: dict[str, str] = {}
        self._memory = threading.Lock()

    def _locate(self) -> tuple[Path, Path, Path]:
        words = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--git-path", "index")
        top, folder, common, index = os.fsdecode(self.git.run("rev-parse", *words)).split("\n")[:4]
        if Path(top).resolve() != self.root:
            raise GitFailed(f"{self.root} is not the root of a git repository.", "Make a home with: quorra init DIR")
        if (self.root / index).resolve() != (Path(folder) / "index").resolve():
            raise GitFailed("GIT_INDEX_FILE points at another index.", "Unset GIT_INDEX_FILE and try again.")
        return Path(folder), (self.root / common).resolve(), Path(folder) / "index"

    def _tray(self) -> Path:
        same = os.stat(self.folder).st_dev == os.stat(self.root).st_dev
        return self.own / "tray" if same else self.root / PRIVATE / "tray"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Holds the ledger's lock with a tray to work on; raises Blocked and OSError."""
        with self.locks.hold():
            self.disk.tray.mkdir(parents=True, exist_ok=True)
            self.locks.sweep()
            yield

    def left(self) -> Iterator[Path]:
        """Gives what a process that is at work, or died at it, has left: journal, temporaries, lock."""
        for pattern in ("journal*", "index-*", "own-*"):
            yield from self.own.glob(pattern)
        yield from self.disk.tray.glob("t-*")

    def head(self) -> str | None:
        """Gives the commit that HEAD names, None before the first one."""
        branch = self.branch()
        try:
            # A ref in a file of its own overrules every other place, and needs no process to read.
            loose = (self.common / branch).read_text(encoding="ascii").strip() if branch else ""
        except (OSError, UnicodeDecodeError):
            loose = ""
        if len(loose) == 2 * self.objects.size and not loose.strip("0123456789abcdef"):
            return loose
        found = self.reader.info(["HEAD"])[0]
        return found[0] if found else None

    def branch(self) -> str | None:
        """Gives the branch that HEAD names, None where it is detached."""
        text = (self.folder / "HEAD").read_text(encoding="utf-8", errors="surrogateescape")
        return text[5:].strip() if text.startswith("ref: ") else None

    def tree_of(self, commit: str | None) -> str | None:
        """Gives the tree of a commit, which is named by its full id."""
        if commit is None:
            return None
        known = self._trees.get(commit)
        if known is not None:
            return known
        found = self.reader.info([f"{commit}^{{tree}}"])[0]
        if found is None:
            raise GitFailed(f"Commit {commit} is not in the repository.", "Look at it with: git fsck")
        self.know(commit, found[0])
        return found[0]

    def know(self, commit: str, tree: str) -> None:
        """Remembers a commit's tree, so that git need not be asked."""
        with self._memory:
            while len(self._trees) >= KNOWN:
                del self._trees[next(iter(self._trees))]
            self._trees[commit] = tree

    def inside(self, commit: str, head: str) -> bool:
        """Tells whether a commit is in the history of another."""
        return commit == head or self.git.run("rev-list", "--max-count=1", commit, f"^{head}") == b""

    def settled(self) -> str:
        """Gives the branch; raises Blocked on a detached HEAD or in the middle of a merge or the like."""
        for name, what in UNDERWAY.items():
            if (self.folder / name).exists():
                raise Blocked("merging", name, f"{what} is in progress in {self.root}.")
        branch = self.branch()
        if branch is None:
            message = f"HEAD of {self.root} is detached, so no branch would hold the commit."
            raise Blocked("detached", "HEAD", message)
        for file in self._others():
            if file != self.folder / "HEAD" and file.read_text(errors="surrogateescape").strip() == f"ref: {branch}":
                message = f"{branch} is checked out in another work tree too, whose files would fall behind ({file})."
                raise Blocked("elsewhere", "HEAD", message)
        return branch

    def _others(self) -> Iterator[Path]:
        """Gives the HEAD of every work tree of this repository; there is only one as a rule."""
        if (self.common / "worktrees").is_dir():
            yield from (self.common / "HEAD", *self.common.glob("worktrees/*/HEAD"))

    def index(self) -> Entries | Sealed:
        """Reads the index as it is now."""
        try:
            raw = self.index_file.read_bytes()
        except FileNotFoundError:
            raw = b""
        try:
            if self.objects.algorithm != "sha1":
                raise NotPlain
            return Entries(raw)
        except NotPlain:
            return Sealed(self.git, self.own / "index-copy", raw, self.objects.none)

    def set_index(
        self,
        index: Entries | Sealed,
        rows: Mapping[str, tuple[Row, os.stat_result | None] | None],
        old: str | None,
        new: str | None,
    ) -> None:
        """Renames the index with these rows into place; call it with git's index lock held."""

        def folder(tree: str | None, path: bytes) -> bytes | None:
            if tree is None or not path:
                return bytes.fromhex(tree) if tree else None
            row = self.objects.row(tree, os.fsdecode(path))
            return bytes.fromhex(row.id) if row and row.mode == "40000" else None

        raw = index.patched(rows, lambda path: folder(old, path), lambda path: folder(new, path))
        temp = self.own / "index-new"
        temp.write_bytes(raw)
        try:
            was = os.stat(self.index_file)
        except FileNotFoundError:
            pass
        else:
            # Git takes a file for changed if it is as young as the index. A younger index would
            # make edits that happened in the same tick as the old one invisible, so its age is kept.
            os.utime(temp, ns=(was.st_atime_ns, was.st_mtime_ns))
            os.chmod(temp, was.st_mode & 0o777)
        os.replace(temp, self.index_file)

    def age_index(self, more: int) -> None:
        """Counts entries younger than the index and lets git write it afresh before they slow git down.

        Call it with the ledger's lock held and git's index lock free.
        """
        file = self.own / "young"
        try:
            young = int(file.read_text(encoding="ascii")) + more
        except (FileNotFoundError, ValueError):
            young = more
        if young >= YOUNG:
            young = 0
            Git(self.root, PLAIN).run("status", "--porcelain", "-uno", "--ignore-submodules=all")
        file.write_text(str(young), encoding="ascii")

    def close(self) -> None:
        """Ends the kept processes."""
        for pipe in (self.reader, self.differ, self.refs):
            pipe.close()
