"""A home's notes as a whole: one by name, now or then; all of them checked; their links both ways."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from quorra.errors import QuorraError
from quorra.vault import links, parse, validate
from quorra.vault.note import Issue, Link, Note
from quorra.vault.texts import Place, Texts

Sees = Callable[[str], bool]


class NoNote(QuorraError):
    """No note of this name is there, now or at the revision asked for."""

    code = "no_note"

    def __init__(self, name: str, revision: str = "") -> None:
        at = f" at {revision}" if revision else ""
        super().__init__(f"There is no note {name}{at}.", "Look for it with: quorra search")


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

    def read(self, name: str, sees: Sees) -> Read:
        """Reads a note as it is on disk, or at the revision behind ``@``; raises NoNote."""
        places = self.texts.places()
        found = _named(name, places)
        if found and sees(found):
            place = places[found]
            return Read(parse.note(found, self.texts.read(place)), place.commit, place.blob)
        path, at, revision = name.rpartition("@")
        if not at or not path:
            raise NoNote(name)
        return self._then(path, revision, sees)

    def _then(self, name: str, revision: str, sees: Sees) -> Read:
        commit = self.texts.ledger.resolve(revision)
        tree = self.texts.tree(commit)
        for path in (name, f"{name}.md"):
            blob = tree.get(self.texts.settings.inside(path))
            if blob and sees(path):
                return Read(parse.note(path, self.texts.ledger.blob(blob)), commit, blob)
        raise NoNote(name, revision)

    def judge(self, note: Note) -> tuple[Issue, ...]:
        """Gives the issues that a note would have if it lay in the vault now."""
        names = links.Names([*self.texts.places(), note.path])
        return tuple(validate.note(note, partial(_resolve, note.path, names)))

    def check(self, wanted: Sequence[str], sees: Sees) -> Checked:
        """Validates the named notes, or all that may be seen; raises NoNote."""
        places = self.texts.places()
        names = links.Names(places)
        chosen = [self._one(name, places, sees) for name in wanted] or [p for p in places if _is_note(p) and sees(p)]
        findings: list[Finding] = []
        dangling: list[Dangling] = []
        for note in self._parsed(sorted(chosen), places):
            found = validate.note(note, partial(_resolve, note.path, names))
            findings += [Finding(note.path, issue.line, issue.severity, issue.code, issue.message) for issue in found]
            dangling += [
                Dangling(note.path, link.line, link.target)
                for link in note.links
                if links.resolve(link, note.path, names) is None
            ]
        return Checked(len(chosen), tuple(findings), tuple(dangling))

    def links(self, name: str, sees: Sees) -> tuple[tuple[Outgoing, ...], tuple[Incoming, ...]]:
        """Gives what a note links to and what links to it; raises NoNote."""
        places = self.texts.places()
        names = links.Names(places)
        wanted = self._one(name, places, sees)
        out: list[Outgoing] = []
        incoming: list[Incoming] = []
        for note in self._parsed(sorted(path for path in places if _is_note(path) and sees(path)), places):
            for link in note.links:
                target = links.resolve(link, note.path, names)
                if note.path == wanted:
                    out.append(Outgoing(link.line, link.text, _written(link), target))
                elif target == wanted:
                    incoming.append(Incoming(note.path, link.line))
        return tuple(out), tuple(incoming)

    def _one(self, name: str, places: dict[str, Place], sees: Sees) -> str:
        found = _named(name, places)
        if not found or not sees(found):
            raise NoNote(name)
        return found

    def _parsed(self, paths: Sequence[str], places: dict[str, Place]) -> Iterator[Note]:
        committed = dict(self.texts.blobs({places[path].blob for path in paths if places[path].commit}))
        for path in paths:
            place = places[path]
            yield parse.note(path, committed[place.blob] if place.commit else self.texts.read(place))


def _resolve(source: str, names: links.Names, link: Link) -> str | None:
    return links.resolve(link, source, names)


def _written(link: Link) -> str:
    return link.target + link.anchor


def _named(name: str, places: dict[str, Place]) -> str | None:
    return next((path for path in (name, f"{name}.md") if path in places), None)


def _is_note(path: str) -> bool:
    return path.endswith(".md")
