"""The ledger: the only way in for a change, and the way to read what is and what was."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Outcome, Refused, Snapshot, Stale
from quorra.ledger.commit.files import Steps
from quorra.ledger.commit.plan import Planner, check, distinct
from quorra.ledger.commit.publish import Publisher
from quorra.ledger.history import History
from quorra.ledger.plumbing.disk import Blocked, Disk
from quorra.ledger.plumbing.process import GitFailed
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.refusal import guarded
from quorra.ledger.remotes import joint
from quorra.ledger.remotes.joint import Joint
from quorra.ledger.remotes.remote import Remotes
from quorra.ledger.snapshot import Watch, visible

PROPOSALS = "refs/quorra/proposals/"


class Ledger(History):
    """One git repository as Quorra's memory; safe to share between threads and beside other processes.

    ``roots`` are the repository paths that snapshots look at, "" for all of it;
    ``owner`` is the person in whose name hand edits are committed; ``steps``
    hears the name of every step of a commit. ``rescued`` names the files in
    which a hand edit lies that met another one while a commit was cut short;
    ``remotes`` reaches other people's git.
    """

    def __init__(
        self,
        root: Path,
        roots: tuple[str, ...],
        owner: tuple[str, str],
        *,
        steps: Steps = lambda name: None,
    ) -> None:
        super().__init__(Repository(root), roots)
        self.root = root
        self.owner = owner
        self.steps = steps
        self.remotes = Remotes(self._repo)
        self._watch = Watch(self._repo, roots, lambda: int(self.clock().timestamp() * 1e9))
        self._files = Disk(self._repo.root, self._repo.disk.tray)
        self._lock = threading.RLock()
        self.rescued: list[str] = []

    def clock(self) -> datetime:
        """Gives the moment with its offset."""
        # Alone among the lower rooms this one reads the clock, as git does for every commit and every look at the disk:
        # what it compares with are the stamps that this machine's file system gives to files.
        return datetime.now().astimezone()

    def commit(self, change: ChangeSet) -> Outcome:
        """Writes a change to disk, index and branch, or nothing at all."""

        def done() -> Outcome:
            told, outcome = self._prepare(change), None
            try:
                for folder in told.folders:
                    self._files.make(folder)
                outcome = self._turn(lambda planner: planner.change(told))
            finally:
                for folder in sorted(told.emptied if isinstance(outcome, Applied) else told.folders, reverse=True):
                    self._files.prune(folder)
            return outcome

        return guarded(done)

    def render(self, name: str, change: ChangeSet) -> str | Refused | Stale:
        """Keeps what a change would make of today's tree as a commit under ``refs/quorra/proposals``; gives its id.

        Nothing else is written: no file, no index, no branch.
        """

        def made() -> str | Refused | Stale:
            told = self._prepare(change)
            with self._lock, self._repo.hold():
                planner = Planner(self._repo, self.owner, self.clock())
                stopped = planner.change(told)
                if stopped is not None:
                    return stopped
                work = planner.work
                commit = self._publisher().chain(work.head, work.drafts, work.when) if work.drafts else work.head or ""
            self._repo.git.run("update-ref", PROPOSALS + name, commit)
            return commit

        return guarded(made)

    def _prepare(self, change: ChangeSet) -> ChangeSet:
        """Stores the new texts, and leaves of the folders those that have to be made."""
        distinct(change.edits)
        for folder in change.folders:
            check(folder)
        self._repo.objects.write_new(edit.content for edit in change.edits if edit.content is not None)
        self.steps("blobs written")
        return replace(change, folders=tuple(self.missing(change.folders)))

    def withdraw(self, name: str) -> None:
        """Drops the rendering of a proposal, if there is one."""
        self._repo.git.run("update-ref", "-d", PROPOSALS + name)

    def renderings(self) -> dict[str, str]:
        """Gives the commit of every proposal's rendering by its name."""
        raw = self._repo.git.run("for-each-ref", "--format=%(refname) %(objectname)", PROPOSALS)
        rows = (line.partition(" ") for line in raw.decode().splitlines())
        return {name.removeprefix(PROPOSALS): commit for name, _, commit in rows}

    def adopt(self, paths: Sequence[str], origin: Origin) -> Outcome:
        """Commits hand edits as they are, as the person's own commit."""
        return guarded(lambda: self._turn(lambda planner: planner.adopt(paths, origin)))

    def join(self, theirs: str) -> Joint | Refused:
        """Puts another history together with ours as a value; nothing is changed."""

        def found() -> Joint | Refused:
            with self._lock, self._repo.hold():
                planner = Planner(self._repo, self.owner, self.clock())
                if planner.head is None:
                    return Refused("empty", "There is no commit yet.")
                made = joint.join(self._repo, planner.head, theirs)
                if made is None:
                    return Refused("unrelated", "The two histories have no commit in common.")
                return replace(made, edited=planner.edited(made.changes))

        return guarded(found)

    def merge(self, found: Joint, subject: str, origin: Origin) -> Outcome:
        """Moves the branch on to another history, or joins the two in a commit; stale where either moved meanwhile."""
        return guarded(lambda: self._turn(lambda planner: planner.merge(found, subject, origin)))

    def _turn(self, plan: Callable[[Planner], Refused | Stale | None]) -> Outcome:
        with self._lock, self._repo.hold():
            self.steps("lock taken")
            with self._repo.locks.hold_index(), self._repo.disk.keeping():
                self.steps("index locked")
                outcome, young = self._locked(plan)
            if young:
                # What is said of a commit that stands doesn't hang on the care of git's index after it.
                with suppress(OSError, GitFailed):
                    self._repo.age_index(young)
            return outcome

    def _publisher(self) -> Publisher:
        return Publisher(self._repo, self.steps, self.roots, self.rescued)

    def _locked(self, plan: Callable[[Planner], Refused | Stale | None]) -> tuple[Outcome, int]:
        """Gives what came of it and how many index entries are younger than the index now."""
        publisher = self._publisher()
        publisher.recover()
        publisher.sweep()
        planner = Planner(self._repo, self.owner, self.clock())
        stopped = plan(planner)
        if stopped is not None:
            return stopped, 0
        if planner.work.drafts or planner.work.onto:
            return publisher.publish(planner.work), planner.work.young
        if planner.head is None:
            return Refused("empty", "There is nothing to commit and no commit yet."), 0
        return Applied(planner.head), 0

    def recover(self) -> Refused | None:
        """Finishes or undoes what a process that died left behind; says what stands in the way of that.

        Where nothing was left, nothing is written.
        """
        publisher = self._publisher()
        self.rescued += map(str, self._repo.disk.tray.glob("kept-*"))
        if not any(self._repo.left()):
            return None

        def done() -> None:
            with self._lock, self._repo.hold():
                if publisher.file.exists():
                    with self._repo.locks.hold_index():
                        publisher.recover()
                publisher.sweep()

        return guarded(done)

    def snapshot(self) -> Snapshot:
        """Gives the head and every watched file that differs from it on disk; writes nothing."""
        return self._watch.take()

    def on_disk(self, path: str) -> bytes | None:
        """Reads a file as it is now, None where no regular file is; no link on the way is followed."""
        try:
            seen = self._files.read(path)
        except Blocked:
            return None
        return seen.content if seen else None

    def union(self, ours: bytes, base: bytes, theirs: bytes) -> bytes:
        """Merges two versions of a text; where both changed the same lines, both stand, ours first."""
        return joint.union(self._repo, ours, base, theirs)

    def missing(self, folders: Iterable[str]) -> list[str]:
        """Gives those of some folders, and of the ones that hold them, that are not on disk."""
        return self._files.missing(f"{folder}/." for folder in folders)

    def maintain(self, loose: int = 6700) -> None:
        """Lets git pack what has gathered once about ``loose`` objects lie about; plumbing never does so itself."""
        told = ("-c", f"gc.auto={loose}", "-c", "gc.autoDetach=false")
        self._repo.git.run(*told, "maintenance", "run", "--auto", "--quiet")

    def readable(self) -> bool:
        """Tells whether git answers for this repository."""
        try:
            return bool(self._repo.git.run("rev-parse", "--git-dir"))
        except GitFailed:
            return False

    def begin(self, files: Mapping[str, bytes], origin: Origin) -> Outcome:
        """Makes the first commits of a home: unknown notes as the owner's own where there is no history, then files.

        A file that is there already is left as it is, and a symbolic link is not followed. Only ``create.init``
        calls this.
        """
        if self.head() is None:
            listed = self._repo.git.run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")[:-1]
            notes = [path for path in map(os.fsdecode, listed) if path[-1] != "/" and visible(path, self.roots)]
            taken = self.adopt([path for path in notes if not (self.root / path).is_symlink()], origin)
            if isinstance(taken, Refused) and taken.code != "empty":
                return taken
        new = {path: content for path, content in files.items() if not os.path.lexists(self.root / path)}
        edits = tuple(Edit(path, content, None) for path, content in new.items())
        return self.commit(ChangeSet(edits, "Make this folder a home", origin))

    def folder(self, name: str) -> Path:
        """Gives a path inside git's own folder."""
        return self._repo.common / name

    def close(self) -> None:
        """Ends the git processes that were kept."""
        self._repo.close()
