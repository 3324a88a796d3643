"""The ledger: the only way in for a change, and the way to read what is and what was."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from quorra.errors import QuorraError
from quorra.ledger import message, refusal
from quorra.ledger.change import Applied, ChangeSet, Edit, Entry, Origin, Outcome, Refused, Snapshot, Stale
from quorra.ledger.commit.files import Steps
from quorra.ledger.commit.plan import Planner, distinct
from quorra.ledger.commit.publish import Publisher
from quorra.ledger.far import joint
from quorra.ledger.far.joint import Joint, spread
from quorra.ledger.far.remote import Far
from quorra.ledger.plumbing.disk import Blocked, Disk
from quorra.ledger.plumbing.process import GitFailed
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.refusal import guarded
from quorra.ledger.snapshot import Watch, visible

PROPOSALS = "refs/quorra/proposals/"


class UnknownRevision(QuorraError):
    """No commit has this name."""

    code = "revision"

    def __init__(self, rev: str) -> None:
        super().__init__(f"No commit is called {rev!r} here.", "See the commits with: quorra log")


def local() -> datetime:
    """Gives the moment with its offset."""
    # Alone among the lower rooms this one reads the clock, as git does for every commit and every look at the disk:
    # what it compares with are the stamps that this machine's file system gives to files.
    return datetime.now().astimezone()


class Ledger:
    """One git repository as Quorra's memory; safe to share between threads and beside other processes.

    ``roots`` are the repository paths that snapshots look at, "" for all of it;
    ``owner`` is the person in whose name hand edits are committed; ``steps``
    hears the name of every step of a commit. ``rescued`` names the files in
    which a hand edit lies that met another one while a commit was cut short;
    ``far`` reaches other people's git.
    """

    def __init__(
        self,
        root: Path,
        roots: tuple[str, ...],
        owner: tuple[str, str],
        *,
        clock: Callable[[], datetime] = local,
        steps: Steps = lambda name: None,
    ) -> None:
        self.root = root
        self.roots = roots
        self.owner = owner
        self.clock = clock
        self.steps = steps
        self._repo = Repository(root)
        self.far = Far(self._repo)
        self._watch = Watch(self._repo, roots, lambda: int(clock().timestamp() * 1e9))
        self._files = Disk(self._repo.root, self._repo.disk.tray)
        self._lock = threading.RLock()
        self.rescued: list[str] = []

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

    def difference(self, commit: str) -> str:
        """Gives what a commit changed, as git shows it."""
        return self._repo.git.run("diff", "--no-color", "--find-renames", f"{commit}^", commit).decode(
            "utf-8", "replace"
        )

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
        try:
            with self._lock, self._repo.hold():
                if publisher.file.exists():
                    with self._repo.locks.hold_index():
                        publisher.recover()
                publisher.sweep()
        except (Blocked, OSError, GitFailed) as error:
            return refusal.of(error)
        return None

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

    def head(self) -> str | None:
        """Gives the commit at the top, None before the first."""
        return self._repo.head()

    def resolve(self, rev: str) -> str:
        """Gives the commit that a revision names; raises UnknownRevision."""
        name = rev if rev.startswith(":/") else f"{rev}^{{commit}}"  # git looks for all that follows ":/" in messages
        found = None if not rev or set("\n\0") & set(rev) else self._repo.reader.info([name])[0]
        if found is None:
            raise UnknownRevision(rev)
        return found[0]

    def tree(self, rev: str, roots: Sequence[str] | None = None) -> Mapping[str, str]:
        """Gives the blob id of every visible regular file at a revision, under the watched or the given roots."""
        wanted = self.roots if roots is None else tuple(roots)
        limits = [] if "" in wanted else ["--", *(root + "/" for root in wanted)]
        raw = self._repo.git.run("ls-tree", "-r", "-z", "--full-tree", self.resolve(rev), *limits)
        found: dict[str, str] = {}
        for record in raw.split(b"\0")[:-1]:
            head, _, name = record.partition(b"\t")
            mode, _, ident = head.split(b" ")
            path = os.fsdecode(name)
            if mode.startswith(b"100") and visible(path, wanted):
                found[path] = ident.decode()
        return found

    def changes(self, old: str | None, new: str) -> Mapping[str, str | None]:
        """Gives the watched paths that differ between two commits: the new blob id, None where gone."""
        if old is None:
            return dict(self.tree(new))
        before, after = (self._repo.tree_of(self.resolve(rev)) for rev in (old, new))
        assert before is not None
        assert after is not None
        found: dict[str, str | None] = {}
        for mode, ident, name in self._repo.differ.changes(before, after):
            path = os.fsdecode(name)
            if visible(path, self.roots):
                found[path] = ident if mode.startswith("100") else None
        return found

    def blob(self, id: str) -> bytes:
        """Gives a blob's bytes."""
        ((_, content),) = self._repo.reader.contents([id])
        return content

    def at(self, commit: str, path: str) -> bytes | None:
        """Gives a file's bytes at a commit, None where it has no regular file there."""
        row = self._repo.objects.row(self._repo.tree_of(commit), path)
        return self.blob(row.id) if row and row.regular else None

    def union(self, ours: bytes, base: bytes, theirs: bytes) -> bytes:
        """Merges two versions of a text; where both changed the same lines, both stand, ours first."""
        with TemporaryDirectory(dir=self._repo.own) as folder:
            return self._repo.git.run("merge-file", "--union", "--stdout", *spread(Path(folder), (ours, base, theirs)))

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Gives many blobs' bytes in order, through one pipe."""
        return self._repo.reader.contents(ids)

    def id_of(self, content: bytes) -> str:
        """Gives the blob id of some bytes; stores nothing."""
        return self._repo.objects.id_of(content)

    def log(self, path: str | None = None, limit: int = 50, *, follow: bool = True) -> list[Entry]:
        """Gives the history, newest first; of one file, through its renames where ``follow`` is set."""
        head = self.head()
        return message.log(self._repo.git, head, path, limit, follow) if head else []

    def touching(self, path: str | None, limit: int) -> list[tuple[Entry, set[str]]]:
        """Gives the history, newest first, each commit with all the paths that it touched; no rename is followed."""
        head = self.head()
        return message.touching(self._repo.git, head, path, limit) if head else []

    def removed(self, old: str, new: str) -> set[str]:
        """Gives the paths that any commit from ``old`` to ``new`` took away, be they there again or not."""
        asked = ("--format=", "--name-only", "-z", "-m", "--no-renames", "--diff-filter=D")
        raw = self._repo.git.run("log", *asked, f"{old}..{new}")
        return {os.fsdecode(path) for path in raw.split(b"\0") if path}

    def parents(self, commit: str) -> list[str]:
        """Gives the commits that a commit follows."""
        return self._repo.git.run("rev-list", "--parents", "--max-count=1", commit).decode().split()[1:]

    def subject(self, commit: str) -> str:
        """Gives the first line of a commit's message."""
        return self._repo.git.run("log", "--max-count=1", "--format=%s", commit).decode("utf-8", "replace").strip()

    def folders(self, commit: str) -> tuple[list[str], list[str]]:
        """Gives the watched folders that a commit says it made, and those that it removed."""
        form = "--format=%(trailers:key=Quorra-Folders,valueonly,unfold)"
        told = message.folders(self._repo.git.run("log", "--max-count=1", form, commit).decode("utf-8", "replace"))
        made, gone = ([name for name in names if visible(name, self.roots)] for names in told)
        return made, gone

    def missing(self, folders: Iterable[str]) -> list[str]:
        """Gives those of some folders, and of the ones that hold them, that are not on disk."""
        return self._files.missing(f"{folder}/." for folder in folders)

    def touched(self, commit: str) -> list[str]:
        """Gives the paths that a commit changed."""
        raw = self._repo.git.run("diff-tree", "--root", "-r", "-z", "-m", "--no-commit-id", "--name-only", commit)
        return sorted({os.fsdecode(path) for path in raw.split(b"\0")[:-1]})

    def behind(self, old: str | None, new: str | None) -> int:
        """Counts the commits that lead from ``old``, where that is known still, to ``new``."""
        if new is None or old == new:
            return 0
        known = old is not None and self._repo.reader.info([f"{old}^{{commit}}"])[0] is not None
        return int(self._repo.git.run("rev-list", "--count", f"{old}..{new}" if known else new))

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
            listed = self.git("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")[:-1]
            notes = [path for path in map(os.fsdecode, listed) if path[-1] != "/" and visible(path, self.roots)]
            taken = self.adopt([path for path in notes if not (self.root / path).is_symlink()], origin)
            if isinstance(taken, Refused) and taken.code != "empty":
                return taken
        new = {path: content for path, content in files.items() if not os.path.lexists(self.root / path)}
        edits = tuple(Edit(path, content, None) for path, content in new.items())
        return self.commit(ChangeSet(edits, "Make this folder a home", origin))

    def git(self, *words: str) -> bytes:
        """Runs a git command that only reads and gives its output."""
        return self._repo.git.run(*words)

    def folder(self, name: str) -> Path:
        """Gives a path inside git's own folder."""
        return self._repo.common / name

    def close(self) -> None:
        """Ends the git processes that were kept."""
        self._repo.close()
