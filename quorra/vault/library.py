"""A home's notes as a whole: one by name, now or then; all of them checked; their links both ways."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quorra.errors import QuorraError
from quorra.ledger.change import Entry
from quorra.vault import links, past, validate
from quorra.vault.note import Issue, Link, Note
from quorra.vault.past import View
from quorra.vault.reading import parse
from quorra.vault.reorg.reorganize import LinkGraph
from quorra.vault.texts import Place, Texts, complete, named, notes, plain

_DEEPER = 10
# Notes that are parsed in the time that a new process needs to load what reads an index.
_MANY = 500

Known = Mapping[str, tuple[str, Sequence[Link]]]


class NoNote(QuorraError):
    """No note of this name is there, now or at the revision asked for."""

    code = "no_note"

    def __init__(self, name: str, revision: str = "", counted: str | None = None) -> None:
        at = f" at {revision}" if revision else ""
        helps = "Look for it with: quorra search"
        if counted:
            helps = f"Paths count from the vault: try {counted}, or look for it with: quorra search"
        super().__init__(f"There is no note {name}{at}.", helps)


@dataclass(frozen=True, slots=True)
class Read:
    """A note with where its text stands; ``commit`` None while it is not committed."""

    note: Note
    commit: str | None
    blob: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An issue with the note it is in."""

    path: str
    line: int
    severity: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Dangling:
    """A link that leads nowhere."""

    path: str
    line: int
    target: str


@dataclass(frozen=True, slots=True)
class Checked:
    """How many notes were checked and what was found."""

    notes: int
    issues: tuple[Finding, ...]
    dangling: tuple[Dangling, ...]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A link of a note; ``resolves`` is a path, None where it dangles, EXTERNAL or SELF."""

    line: int
    text: str
    target: str
    resolves: str | None


@dataclass(frozen=True, slots=True)
class Incoming:
    """A place that links to a note."""

    path: str
    line: int


class Library:
    """Notes by name, read from the texts as they stand when asked."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def read(self, name: str, view: View, at: str | None = None) -> Read:
        """Reads a note as it is on disk, or at a revision: ``at`` or, else, the one behind ``@``; raises NoNote."""
        if at is not None:
            return self._then(name, at, view)
        read = _read(self.texts, name, view)
        if read:
            return read
        path, mark, revision = name.rpartition("@")
        if not mark or not path:
            raise self._none(name)
        return self._then(path, revision, view)

    def _then(self, name: str, revision: str, view: View) -> Read:
        """Reads a note as it was; only what lies in the view today, too, is shown of the past."""
        read = _read(past.at(self.texts, revision, view), name, view)
        if not read:
            raise self._none(name, revision)
        return read

    def log(self, name: str | None, limit: int, view: View) -> list[Entry]:
        """Gives the newest commits first, of one note or of all; of the past, only what the view shows."""
        paths = [None] if name is None else [self.texts.settings.inside(found) for found in self._past(name, view)]
        ledger = self.texts.ledger
        if view.whole:
            return next((entries for path in paths if (entries := ledger.log(path, limit))), [])
        whole = ledger.touching(paths[0], _DEEPER * limit)
        return [entry for entry, touched in whole if self._shown(touched, view)][:limit]

    def _past(self, name: str, view: View) -> list[str]:
        """Gives what a name may have meant: a note that is there, or, to whom nothing is hidden, one that was."""
        found = _found(name, self.texts.places(), view)
        if found:
            return [found]
        if view.whole and plain(name):
            return [name, complete(name)]
        raise self._none(name)

    def _shown(self, touched: Iterable[str], view: View) -> bool:
        """Tells whether all that a commit touched may be seen; one that touched nothing may be about anything."""
        names = [self.texts.settings.public(path) for path in touched]
        return bool(names) and all(name is not None and view.sees(name) for name in names)

    def graph(self, known: Callable[[], Known] = dict, *, many: int = _MANY) -> LinkGraph:
        """Gives every note's links, for a reorganization.

        ``known`` tells the blob and the links of notes by name; it is asked where there are ``many``, and a note that
        it does not know by the blob that lies there now is parsed.
        """
        places = self.texts.places()
        there = notes(places)
        told = known() if len(there) >= many else {}
        held = {path: told[path][1] for path in there if path in told and told[path][0] == places[path].blob}
        left = self._texts([path for path in there if path not in held], places)
        held |= {path: parse.linked(path, raw).links for path, raw in left}
        return LinkGraph(list(places), {path: held[path] for path in there})

    def folder(self, name: str) -> bool:
        """Tells whether a folder of the vault has this name, with or without anything in it."""
        folder = name.rstrip("/")
        return self.texts.lies(folder) is not None or any(path.startswith(f"{folder}/") for path in self.texts.places())

    def judge(self, note: Note, places: Iterable[str]) -> tuple[Issue, ...]:
        """Gives the issues that a note would have if it lay in the vault now."""
        there = {*places, note.path}
        names = links.Names(there)
        found = validate.note(note, lambda link: links.resolve(link, note.path, names))
        return (*validate.copied(note, there.__contains__), *found)

    def double(self, name: str, places: Iterable[str]) -> str | None:
        """Gives the file or folder that a new path would double but for case or Unicode form."""
        parts = name.split("/")
        for depth in range(1, len(parts) + 1):
            wanted = "/".join(parts[:depth])
            there = {"/".join(path.split("/")[:depth]) for path in places}
            if wanted not in there:
                folded = links.fold(wanted)
                return min((other for other in there if links.fold(other) == folded), default=None)
        return None

    def check(self, wanted: Sequence[str], view: View) -> Checked:
        """Validates the named notes, or all that may be seen; raises NoNote."""
        places = self.texts.places()
        names = links.Names(path for path in places if view.sees(path))
        chosen = [self._one(name, places, view) for name in wanted] or list(filter(view.sees, notes(places)))
        findings: list[Finding] = []
        dangling: list[Dangling] = []
        for path, raw in self._texts(sorted(chosen), places):
            note = parse.note(path, raw)
            resolved = {link: links.resolve(link, note.path, names) for link in note.links}
            found = validate.note(note, resolved.__getitem__)
            findings += [Finding(note.path, issue.line, issue.severity, issue.code, issue.message) for issue in found]
            dangling += [Dangling(note.path, link.line, link.target) for link in note.links if resolved[link] is None]
        return Checked(len(chosen), tuple(findings), tuple(dangling))

    def links(
        self, name: str, view: View, graph: LinkGraph | None = None
    ) -> tuple[tuple[Outgoing, ...], tuple[Incoming, ...]]:
        """Gives what a note links to and what links to it; ``graph`` spares reading the others. Raises NoNote."""
        places = self.texts.places()
        names = links.Names(path for path in places if view.sees(path))
        wanted = self._one(name, places, view)
        out: list[Outgoing] = []
        incoming: list[Incoming] = []
        for path, raw in self._texts(_near(wanted, graph or self.graph(), view, names), places):
            note = parse.linked(path, raw)
            for link in note.links:
                target = links.resolve(link, note.path, names)
                if note.path == wanted:
                    out.append(Outgoing(link.line, link.text, link.target + link.anchor, target))
                elif target == wanted:
                    incoming.append(Incoming(note.path, link.line))
        return tuple(out), tuple(incoming)

    def lost(self, gone: Collection[str], before: Iterable[str], graph: LinkGraph) -> tuple[Dangling, ...]:
        """Gives the links that lead nowhere since files are ``gone``; ``before`` names what there was until then."""
        places = self.texts.places()
        old, now = links.Names(before), links.Names(places)

        def misses(link: Link, path: str) -> bool:
            return links.resolve(link, path, now) is None and links.resolve(link, path, old) in gone

        near = [path for path, held in graph.links.items() if any(misses(link, path) for link in held)]
        return tuple(
            Dangling(path, link.line, link.target)
            for path, raw in self._texts([path for path in near if path in places], places)
            for link in parse.linked(path, raw).links
            if misses(link, path)
        )

    def _none(self, name: str, revision: str = "") -> NoNote:
        return NoNote(name, revision, self.texts.counted(name))

    def _one(self, name: str, places: dict[str, Place], view: View) -> str:
        found = _found(name, places, view)
        if not found:
            raise self._none(name)
        return found

    def _texts(self, paths: Sequence[str], places: dict[str, Place]) -> Iterator[tuple[str, bytes]]:
        committed = dict(self.texts.blobs({places[path].blob for path in paths if places[path].commit}))
        for path in paths:
            place = places[path]
            yield path, committed[place.blob] if place.commit else self.texts.read(place)


def _read(texts: Texts, name: str, view: View) -> Read | None:
    places = texts.places()
    found = _found(name, places, view)
    if not found:
        return None
    place = places[found]
    return Read(parse.note(found, texts.read(place)), place.commit, place.blob)


def _found(name: str, places: Mapping[str, Place], view: View) -> str | None:
    """Gives the file that a name means among those that may be seen, so that no other one makes it ambiguous."""
    return named(name, places if view.whole else [path for path in places if view.sees(path)])


def _near(wanted: str, graph: LinkGraph, view: View, names: links.Names) -> list[str]:
    """Gives a note and those that link to it."""
    return [
        path
        for path, held in graph.links.items()
        if view.sees(path) and (path == wanted or any(links.resolve(link, path, names) == wanted for link in held))
    ]
