"""One look at what hands did to the files: what has settled is committed as theirs, the rest is told of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorra.access import gate, hands
from quorra.home import Home
from quorra.jobs.conflicts import AT_ONCE, SURFACE, Conflict, Conflicts
from quorra.ledger.change import Applied, Hand, Origin, Refused, Snapshot, Stale
from quorra.vault import strays
from quorra.vault.library import Dangling

REASON = "a hand edit, committed as it was once the files were quiet"
_AGAIN = 300.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """Hand edits of one author that became one commit; ``paths`` has a file that moved twice, ``subject`` once."""

    commit: str
    paths: tuple[str, ...]
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class Left:
    """A file, or with an empty path all of them, that was left as it is, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Round:
    """What a look found; ``again`` tells in how many seconds there will be more to do, None where all is done."""

    adopted: tuple[Adopted, ...] = ()
    left: tuple[Left, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dangling: tuple[Dangling, ...] = ()
    again: float | None = None

    @property
    def told(self) -> bool:
        """Tells whether there is anything to tell of."""
        return bool(self.adopted or self.left or self.conflicts or self.dangling)

    @property
    def stuck(self) -> bool:
        """Tells whether something stands in the way of every hand edit."""
        return any(not each.path for each in self.left)

    def joined(self, other: "Round") -> "Round":
        """Gives what this look and the next one found together."""
        return Round(
            self.adopted + other.adopted,
            self.left + other.left,
            self.conflicts + other.conflicts,
            self.dangling + other.dangling,
            other.again,
        )


@dataclass(slots=True)
class _Work:
    """What one look has gathered so far."""

    snapshot: Snapshot
    adopted: list[Adopted] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    again: float | None = None


class Rounds:
    """Looks at one home; what was told of once is not told of again while it stays so.

    ``quiet`` is in seconds; ``clock`` counts them from anywhere.
    """

    def __init__(self, home: Home, quiet: float, clock: Callable[[], float]) -> None:
        self.home = home
        self.quiet = quiet
        self.clock = clock
        self._left: set[Left] = set()
        self._conflicts = Conflicts(home)
        self._stuck: dict[str, tuple[str | None, str, float]] = {}

    def look(self, late: bool = False) -> Round:
        """Adopts hand edits if all have been quiet; ``late`` no longer waits, except for a text that was just emptied.

        Raises QuorraError and OSError.
        """
        texts = self.home.texts
        snapshot = texts.standing()
        copies = texts.copies(snapshot)
        edited = {path: blob for path, blob in snapshot.dirty.items() if path not in copies and self._ours(path)}
        fresh = self._conflicts.fresh(copies, snapshot)
        ages = _Ages(self.home)
        young = [path for path in (*edited, *fresh) if ages.of(path) < self.quiet]
        if young and not late:
            return Round(again=self.quiet - min(map(ages.of, young)))
        emptied = self._emptied([path for path in young if path in edited], snapshot)
        work = _Work(snapshot, again=self.quiet if emptied else None)
        self._adopt({path: blob for path, blob in edited.items() if path not in emptied}, work, late)
        if len(fresh) > AT_ONCE:
            work.again = self.quiet
        conflicts = self._conflicts.meet(fresh[:AT_ONCE], copies, snapshot)
        return self._told(work, conflicts)

    def _ours(self, path: str) -> bool:
        return not strays.passing(path) and self.home.settings.public(path) is not None

    def _emptied(self, young: Iterable[str], snapshot: Snapshot) -> set[str]:
        """Gives the files that hold nothing just now but held text before: more may be on its way."""
        nothing, head = self.home.ledger.id_of(b""), snapshot.head
        empty = [path for path in young if snapshot.dirty[path] == nothing]
        return {path for path in empty if head and self.home.ledger.at(head, path)}

    def _adopt(self, edited: Mapping[str, str | None], work: _Work, late: bool) -> None:
        """Commits what is edited, one commit an author, except what has to be left."""
        paths = self._free(edited, work)
        if not paths:
            return
        whose = self._whose(paths, work.snapshot)
        if not late:
            # In a storm the text may well be another one by now, and is wanted all the same.
            whose = {path: replace(hand, blob=edited[path]) for path, hand in whose.items()}
        origin = Origin(hands.UNKNOWN, SURFACE, REASON, hands=whose)
        groups: dict[tuple[str, tuple[str, str]], list[str]] = {}
        for path in paths:
            groups.setdefault((whose[path].principal, whose[path].author), []).append(path)
        for (_, author), some in sorted(groups.items()):
            self._commit(some, edited, author[0], origin, work)

    def _free(self, edited: Mapping[str, str | None], work: _Work) -> list[str]:
        """Gives what may be adopted: neither staged nor refused a while ago."""
        if not edited:
            return []
        staged, now, free = self.home.ledger.staged(), self.clock(), []
        self._stuck = {path: why for path, why in self._stuck.items() if edited.get(path, "") == why[0]}
        for path, blob in edited.items():
            known = self._stuck.get(path)
            if path in staged:
                work.left.append(Left(self._name(path), "it has changes staged for a commit of your own"))
            elif known and known[0] == blob and known[2] > now:
                work.left.append(Left(self._name(path), known[1]))
            else:
                free.append(path)
        return free

    def _whose(self, paths: Iterable[str], snapshot: Snapshot) -> dict[str, Hand]:
        """Tells whose the edits are; a file that went and came elsewhere with the same text was moved by one hand."""
        found = hands.whose(self.home.settings, paths)
        came = {blob: path for path in found if (blob := snapshot.dirty[path])}
        gone = [path for path in found if snapshot.dirty[path] is None]
        if came and gone and snapshot.head:
            tree = self.home.ledger.tree(snapshot.head)
            for path in gone:
                mover = found.get(came.get(tree.get(path, ""), ""))
                if mover:
                    found[path] = replace(mover, file=found[path].file)
        return found

    def _commit(
        self, paths: list[str], edited: Mapping[str, str | None], author: str, origin: Origin, work: _Work
    ) -> None:
        """Commits one author's edits; a file that stands in the way is left, and the others tried again."""
        while paths:
            before = self.home.ledger.head()
            match gate.adopt(paths, origin, self.home.texts):
                case Applied(commit):
                    touched = set(self.home.ledger.touched(commit)) & set(paths) if commit != before else set()
                    if touched:
                        names, subject = tuple(sorted(map(self._name, touched))), self.home.ledger.subject(commit)
                        work.adopted.append(Adopted(commit, names, author, subject))
                        work.gone |= {path for path in touched if edited[path] is None}
                    self._rest(set(paths) - touched, edited, work)
                    return
                case Refused(_, reason, path) if path in paths:
                    self._stuck[path] = (edited[path], reason, self.clock() + _AGAIN)
                    work.left.append(Left(self._name(path), reason))
                    paths = [each for each in paths if each != path]
                case Refused(_, reason):
                    work.left.append(Left("", reason))
                    work.again = max(self.quiet, 1.0)
                    return
                case Stale():
                    work.again = self.quiet
                    return

    def _rest(self, paths: Iterable[str], edited: Mapping[str, str | None], work: _Work) -> None:
        """Sees to what was passed over: it changed again, and its quiet begins anew, or git sees no change in it."""
        for path in paths:
            now = self.home.texts.now(path)
            if (now[0] if now else None) == edited[path]:
                self._stuck[path] = (edited[path], "git sees no change in it", self.clock() + _AGAIN)
            else:
                work.again = self.quiet

    def _dangling(self, work: _Work) -> tuple[Dangling, ...]:
        """Gives the links that lead nowhere since files were removed by hand."""
        head = work.snapshot.head
        gone = {self._name(path) for path in work.gone}
        if not gone or head is None:
            return ()
        graph = self.home.graph()
        before = {*graph.files, *filter(None, map(self.home.settings.public, self.home.ledger.tree(head)))}
        return self.home.library.lost(gone, before, graph)

    def _told(self, work: _Work, conflicts: tuple[Conflict, ...]) -> Round:
        fresh = tuple(each for each in work.left if each not in self._left)
        self._left = set(work.left)
        return Round(tuple(work.adopted), fresh, conflicts, self._dangling(work), work.again)

    def _name(self, path: str) -> str:
        return self.home.settings.public(path) or path


class _Ages:
    """For how many seconds files have been as they are, by the stamps that the file system gave them."""

    def __init__(self, home: Home) -> None:
        self.root = home.settings.home
        self.now = home.ledger.clock().timestamp()
        self._seen: dict[Path, float] = {}

    def of(self, path: str) -> float:
        """Gives the least age of a file and of the folders on the way to it, one of which may have been moved."""
        file = self.root / path
        folders = [folder for folder in file.parents if folder.is_relative_to(self.root)]
        return min(map(self._age, (file, *folders)))

    def _age(self, file: Path) -> float:
        if file not in self._seen:
            try:
                self._seen[file] = self.now - file.lstat().st_ctime
            except OSError:
                self._seen[file] = float("inf")
        return self._seen[file]
