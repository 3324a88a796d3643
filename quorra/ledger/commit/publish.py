"""One commit from journal to branch, and what to do about one that was cut short.

The order is that of a person's own edit, add and commit (disk, index, branch),
so that every point of it is a state that git knows. Before the first file is
touched, the new objects, the staged files and the journal are on the medium:
a power cut is then no worse than a kill, and no text is taken away whose new
place could still be lost. A commit of the last seconds may be undone by a power
cut, file by file as it was before; it is never half there. A disk that lies
about having written is not guarded against.
"""

import os
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from quorra.ledger.change import Applied, Outcome, Refused, Stale
from quorra.ledger.commit.files import Files, Steps
from quorra.ledger.commit.journal import Draft, Journal, Work, load
from quorra.ledger.message import commit
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.entries import Entries, Sealed
from quorra.ledger.plumbing.lock import LEFT
from quorra.ledger.plumbing.objects import Row
from quorra.ledger.plumbing.process import GitFailed
from quorra.ledger.plumbing.repository import Repository

REF_PATIENCE = 2.0


class Publisher:
    """Carries plans out in one repository; call it with both locks held.

    Folders that a change empties are removed, except those in ``keep``; for
    ``rescued`` see Files.
    """

    def __init__(self, repo: Repository, steps: Steps, keep: Collection[str], rescued: list[str]) -> None:
        self.repo = repo
        self.keep = keep
        self.steps = steps
        self.files = Files(repo, steps, rescued)
        self.file = repo.own / "journal"

    def publish(self, work: Work) -> Outcome:
        """Makes the commits, or leaves everything as it was and says why."""
        disk = self.repo.disk
        made = work.onto or self.chain(work.head, work.drafts, work.when)
        stats = {
            touch.path: disk.stage(touch.temp, work.contents[touch.temp], work.like.get(touch.path))
            for touch in work.touches
            if touch.new and not touch.source
        }
        self.steps("files staged")
        folders = disk.missing(touch.path for touch in work.touches if touch.old is None)
        journal = Journal(work.branch, work.head, made, work.when, work.drafts, work.touches, work.rows, folders)
        self._save(journal)
        self.steps("journal written")
        try:
            stopped = self.files.change(journal)
            if stopped is not None:
                self._undo(journal)
                return stopped
            self.steps("files written")
            self._index(journal, work.index, forward=True, stats={**work.like, **stats})
            self.steps("index written")
            return self._move(journal)
        except (OSError, GitFailed):
            journal = load(self.file) or journal
            if self.repo.head() == journal.commit:
                return Applied(journal.commit)
            self._undo(journal)
            raise

    def _save(self, journal: Journal) -> None:
        journal.save(self.file, (self.repo.objects.folder, self.repo.disk.tray))

    def chain(self, head: str | None, drafts: list[Draft], when: str) -> str:
        """Writes the commits of some drafts one on the other and gives the last one's id."""
        objects = self.repo.objects
        tree, parent = self.repo.tree_of(head), head
        for draft in drafts:
            tree = objects.graft(tree, draft.rows)
            parents = (parent, draft.joins)
            parent = objects.write(commit(tree, parents, draft.author, when, draft.message), "commit")
            self.repo.know(parent, tree)
        assert parent is not None
        return parent

    def _index(
        self, journal: Journal, index: Entries | Sealed, *, forward: bool, stats: Mapping[str, os.stat_result]
    ) -> None:
        """Sets the rows that still are what they were before (or, backward, after)."""
        rows: dict[str, tuple[Row, os.stat_result | None] | None] = {}
        for path, pair in journal.rows.items():
            source, target = pair if forward else pair[::-1]
            if target and target.mode != (source.mode if source else "100644"):
                self.repo.disk.runnable(path, target.mode == "100755")
            if index.row(path) == source and (source != target or path in stats):
                rows[path] = (target, self._stat(path, stats.get(path))) if target else None
        if rows:
            old, new = self.repo.tree_of(journal.head), self._made(journal.commit)
            self.repo.set_index(index, rows, *((old, new) if forward else (new, old)))

    def _made(self, commit: str) -> str | None:
        """Gives the tree of a commit of ours, None where it never came to be; git then finds out what it must know."""
        try:
            return self.repo.tree_of(commit)
        except GitFailed:
            return None

    def _stat(self, path: str, known: os.stat_result | None) -> os.stat_result | None:
        """Gives the file's stat if it still is the file that was hashed; else git is left to look for itself."""
        now = self.repo.disk.lstat(path)
        if now is None or known is None:
            return None
        same = (now.st_ino, now.st_mtime_ns, now.st_size) == (known.st_ino, known.st_mtime_ns, known.st_size)
        return now if same else None

    def _move(self, journal: Journal) -> Outcome:
        until = time.monotonic() + REF_PATIENCE
        while not self.repo.refs.move(journal.commit, journal.head or self.repo.objects.none):
            head = self.repo.head()
            if head == journal.commit:
                break
            if head == journal.head and self.repo.branch() == journal.branch:
                if time.monotonic() > until:
                    self._undo(journal)
                    lock = self.repo.common / f"{journal.branch}.lock"
                    return Refused("busy", f"{journal.branch} is locked by another git command ({lock}).", None, LEFT)
                time.sleep(0.01)
                continue
            moved = self._rebuild(journal, head)
            if moved is None:
                self._undo(journal)
                path = next(iter(journal.rows), "")
                return Stale(path, f"The branch moved while {path} was being committed.")
            journal = moved
        self.steps("branch moved")
        with suppress(OSError):
            # The commit stands; what can't be tidied now is tidied at the next start.
            self._finish(journal)
        return Applied(journal.commit)

    def _rebuild(self, journal: Journal, head: str | None) -> Journal | None:
        """Puts the commits on top of a branch that moved, where none of their paths did."""
        if not journal.drafts or self.repo.branch() != journal.branch:
            return None
        objects, old, new = self.repo.objects, self.repo.tree_of(journal.head), self.repo.tree_of(head)
        if any(objects.row(old, path) != objects.row(new, path) for path in journal.rows):
            return None
        moved = replace(journal, head=head, commit=self.chain(head, journal.drafts, journal.when))
        self._save(moved)
        return moved

    def _finish(self, journal: Journal) -> None:
        """Forgets a journal whose commit stands, with its temporaries and the folders it emptied."""
        self.file.unlink(missing_ok=True)
        self.steps("journal removed")
        for touch in journal.touches:
            self.repo.disk.drop(touch.temp)
        left = (touch.source or touch.path for touch in journal.touches if touch.source or touch.new is None)
        gone = {path.rpartition("/")[0] for path in left}
        for folder in sorted(gone, reverse=True):
            self._prune(folder)

    def _prune(self, folder: str) -> None:
        while folder and folder not in self.keep and self.repo.disk.prune(folder):
            folder = folder.rpartition("/")[0]

    def _undo(self, journal: Journal) -> None:
        """Puts files and index back as they were, except where a hand has been at them since."""
        for touch in reversed(journal.touches):
            self.repo.disk.mend(touch.temp)
            self.files.restore(touch)
        self.files.rescue(journal, stands=False)
        for folder in reversed(journal.made):
            self.repo.disk.prune(folder)
        self._index(journal, self.repo.index(), forward=False, stats={})
        self.file.unlink(missing_ok=True)
        for touch in journal.touches:
            self.repo.disk.drop(touch.temp)

    def recover(self) -> None:
        """Finishes or undoes what a dead process left; call it with both locks held."""
        journal = load(self.file)
        if journal is None:
            return
        for touch in journal.touches:
            self.repo.disk.mend(touch.temp)
        head = self.repo.head()
        if head is not None and self._stands(journal, head):
            self.files.rescue(journal, stands=self.repo.inside(journal.commit, head))
            self._finish(journal)
            return
        if head != journal.head:
            moved = self._rebuild(journal, head)
            if moved is None:
                self._undo(journal)
                return
            journal = moved
        if not self._settled(journal) or not self.files.resume(journal):
            self._undo(journal)
            return
        self._index(journal, self.repo.index(), forward=True, stats={})
        self._move(journal)

    def _settled(self, journal: Journal) -> bool:
        try:
            return self.repo.settled() == journal.branch and self._made(journal.commit) is not None
        except Blocked:
            return False

    def _stands(self, journal: Journal, head: str) -> bool:
        if head == journal.commit:
            return True
        if head == journal.head:
            return False
        rows, tree = self.repo.objects, self.repo.tree_of(head)
        return self.repo.inside(journal.commit, head) or all(
            rows.row(tree, path) == new for path, (_, new) in journal.rows.items()
        )

    def sweep(self) -> None:
        """Drops temporaries that belong to no journal, and what was half written when a disk was full."""
        for temp in (*self.repo.disk.tray.glob("t-*"), *self.repo.own.glob("*-new"), *self.repo.own.glob("index-*")):
            temp.unlink(missing_ok=True)
