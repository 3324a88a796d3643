"""Simulates moves: follows every link before and after, and spells it anew where it would miss its target."""

import codecs
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from quorra.ledger.change import Refused
from quorra.vault import links
from quorra.vault.links import EXTERNAL, SELF, Names
from quorra.vault.note import Link, Note
from quorra.vault.reading import parse
from quorra.vault.reorg.moves import Moves
from quorra.vault.reorg.spelling import Way, spell

_PLAIN = re.compile(r"[\w/.-]+")
_APART = (None, EXTERNAL, SELF)
_DEAD = ("dead", "obsolete", "superseded")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """A vault's files and each note's links; of a link only kind and target matter here."""

    files: Sequence[str]
    links: Mapping[str, Sequence[Link]]


@dataclass(frozen=True, slots=True)
class Reorganized:
    """What a reorganization would do; ``texts`` holds the new bytes of notes by where they lie afterwards."""

    moves: Moves
    texts: Mapping[str, bytes]
    rewritten: tuple[tuple[str, int], ...]
    dangling_before: int
    dangling_after: int


@dataclass(frozen=True, slots=True)
class Dangles(Refused):
    """A refusal that knows how many links lead nowhere before, and how many would afterwards."""

    before: int = 0
    after: int = 0


def reorganize(moves: Moves, graph: LinkGraph, read: Callable[[str], bytes]) -> Reorganized | Refused:
    """Follows every link that the moves may touch; refused where one would dangle, naming file, line and target.

    ``read`` gives the bytes of a file by its path before the moves.
    """
    for path in sorted(moves.gone):
        if not dead(parse.note(path, read(path))):
            reason = f"{path} holds text; only a dead or empty note can be removed."
            helps = "Set status: dead in its frontmatter first, or delete the file by hand: it is adopted."
            return Refused("not_dead", reason, path, helps)
    world = _World(moves, graph)
    survey = world.survey()
    texts: dict[str, bytes] = {}
    rewritten: list[tuple[str, int]] = []
    for path in survey.suspects:
        edited = _Edit(parse.linked(path, read(path)), world).made()
        if isinstance(edited, Refused):
            return survey.told(edited)
        if edited:
            texts[world.at(path)] = edited[0]
            rewritten.append((world.at(path), edited[1]))
    return Reorganized(moves, texts, tuple(sorted(rewritten)), survey.lost, survey.lost - survey.mended)


def dead(note: Note) -> bool:
    """Tells whether a note may be removed: it has no text, or its frontmatter calls it dead."""
    return not note.body.strip() or str(note.metadata.get("status", "")).lower() in _DEAD


class Reach(NamedTuple):
    """The file that a link reaches, whether no reader could mean another, and whether by its very names."""

    file: str | None
    firm: bool
    exact: bool


class _Survey(NamedTuple):
    """Notes with a link that would miss its target, how many links are lost, and how many of those are mended.

    A lost link leads nowhere; it is mended where it finds a file afterwards, and where its note goes. The ``doomed``
    lead to what goes.
    """

    suspects: list[str]
    lost: int
    mended: int
    doomed: int

    def told(self, refused: Refused) -> Refused:
        """Adds to a refusal for links that would dangle how many there are."""
        if refused.code != "dangling" or not self.doomed:
            return refused
        after = self.lost - self.mended + self.doomed
        return Dangles(refused.code, refused.reason, refused.path, refused.advice, self.lost, after)


class _World:
    """The vault's names before and after, and which links to look at."""

    def __init__(self, moves: Moves, graph: LinkGraph) -> None:
        self.moves, self.graph = moves, graph
        self.old = Names(graph.files)
        self.new = Names(after for path in graph.files if (after := moves.after(path)) is not None)
        self._known: dict[tuple[bool, str, str], Reach] = {}

    @cached_property
    def touched(self) -> frozenset[str]:
        """The last parts by which a link may name what moves, or what it moves beside."""
        paths = [*self.moves.to, *self.moves.to.values(), *self.moves.gone]
        opened = [posixpath.dirname(path) for path in paths if _key(path) in links.OPENINGS]
        return frozenset(map(_key, [*paths, *opened]))

    def at(self, path: str) -> str:
        """Gives where a note that stays or moves lies afterwards."""
        return self.moves.to.get(path, path)

    def before(self, link: Link, path: str) -> Reach:
        """Follows a link as things lie."""
        if link.kind == "autolink":
            return Reach(EXTERNAL, True, True)
        key = link.kind in links.WIKI, link.target, path.rpartition("/")[0]
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _reach(link, path, self.old)
        return found

    def wanted(self, link: Link, path: str) -> Reach:
        """Tells where a link has to lead afterwards: to no file where its target is gone or never was."""
        return self._moved(self.before(link, path))

    def _moved(self, reach: Reach) -> Reach:
        file, firm, exact = reach
        return reach if file in _APART else Reach(self.moves.after(str(file)), firm, exact)

    def right(self, link: Link, path: str, wanted: Reach) -> bool:
        """Tells whether a link, as it is spelled, leads where it has to, no less firmly and exactly than before."""
        file, firm, exact = _reach(link, self.at(path), self.new)
        return file == wanted.file and firm >= wanted.firm and exact >= wanted.exact

    def survey(self) -> _Survey:
        """Looks at every link once."""
        suspects: dict[str, None] = {}
        lost = mended = doomed = 0
        for path, held in self.graph.links.items():
            gone, moved = path in self.moves.gone, path in self.moves.to
            for link in held:
                file = links.resolve(link, path, self.old)
                near = moved or _key(link.target) in self.touched
                if file is None:
                    lost += 1
                    mended += gone or (near and _reach(link, self.at(path), self.new).file is not None)
                elif near and not gone and self.misses(link, path):
                    suspects[path] = None
                    doomed += file in self.moves.gone
        return _Survey(list(suspects), lost, mended, doomed)

    def misses(self, link: Link, path: str) -> bool:
        """Tells whether a link to a file would miss it if it stayed as it is spelled."""
        there = self.before(link, path)
        return there.file not in _APART and not self.right(link, path, self._moved(there))


class _Edit:
    """One note while its links are spelled anew."""

    def __init__(self, note: Note, world: _World) -> None:
        self.note, self.world = note, world
        self.path = world.at(note.path)
        self.ways: dict[int, Iterator[str]] = {}
        self.chosen: dict[tuple[int, int], str] = {}

    def made(self) -> tuple[bytes, int] | Refused | None:
        """Gives the note's new bytes and how many links were spelled anew.

        A spelling that holds more than plain letters is read back before it counts.
        """
        old = self.note.links
        wrong = [at for at, link in enumerate(old) if self.world.misses(link, self.note.path)]
        content = self.note.raw
        while wrong:
            for at in wrong:
                if not self._choose(at):
                    return _dangles(self.note, old[at])
            edited = _replaced(self.note, self.chosen)
            if edited is None:
                reason = f"{self.note.path} is not UTF-8; its links can't be edited."
                return Refused("not_utf8", reason, self.note.path, "Save it as UTF-8 and try again.")
            content = edited
            if all(map(_PLAIN.fullmatch, self.chosen.values())):
                break
            again = parse.linked(self.path, content)
            if len(again.links) == len(old) and _broken(again) <= _broken(self.note):
                wrong = [at for at, link in enumerate(again.links) if self._off(link, old[at])]
        return (content, len(self.ways)) if self.ways else None

    def _off(self, link: Link, old: Link) -> bool:
        """Tells whether an edited link, read back, is not what it has to be; one that dangled is as it was."""
        if (link.anchor, link.alias) != (old.anchor, old.alias):
            return True
        wanted = self.world.wanted(old, self.note.path)
        if wanted.file in _APART:
            return link.target != old.target
        return not self.world.right(link, self.note.path, wanted)

    def _choose(self, at: int) -> bool:
        """Takes the next way to spell a link, a plain one only if it leads there; False where there is none."""
        link = self.note.links[at]
        wanted = self.world.wanted(link, self.note.path)
        if wanted.file in _APART:
            return False
        if at not in self.ways:
            way = Way(self.path, str(wanted.file), str(self.world.before(link, self.note.path).file))
            self.ways[at] = spell(link, self.note.text, way, self.world.new)
        for spelled in self.ways[at]:
            self.chosen[link.span] = spelled
            plain = _PLAIN.fullmatch(spelled)
            if not plain or self.world.right(link._replace(target=spelled), self.note.path, wanted):
                return True
        return False


def _reach(link: Link, path: str, names: Names) -> Reach:
    file, firm = links.reach(link, path, names)
    if file is None:
        return Reach(None, firm, False)
    return Reach(file, firm, file in (link.target, f"{link.target}.md") or _exact(link.target, file))


def _exact(target: str, file: str) -> bool:
    """Tells whether all names in a link's path are spelled as the file's are, or its folder's where it opens one."""
    tail = "/".join(part for part in target.split("/") if part not in ("", ".", ".."))
    folder = file.rpartition("/")[0] if _key(file) in links.OPENINGS else file
    return any(f"/{path}".endswith(f"/{tail}") for path in (file, file.removesuffix(".md"), folder))


def _broken(note: Note) -> int:
    return sum(issue.severity == "error" for issue in note.issues)


def _dangles(note: Note, link: Link) -> Refused:
    reason = f"{note.path}:{link.line} links to {link.target}, which would lead nowhere."
    return Refused("dangling", reason, note.path, "Take that link out or point it elsewhere first.")


def _replaced(note: Note, chosen: Mapping[tuple[int, int], str]) -> bytes | None:
    """Puts texts in the place of spans, all other bytes kept; None for an encoding that can't be written back."""
    mark = next((mark for mark in _UTF16 if note.raw.startswith(mark)), b"")
    bom = mark or (codecs.BOM_UTF8 if note.raw.startswith(codecs.BOM_UTF8) else b"")
    coding, errors = (_UTF16[mark], "strict") if mark else ("utf-8", "surrogateescape")
    try:
        text = note.raw[len(bom) :].decode(coding, errors)
        if len(text) != len(note.text) or bom + text.encode(coding, errors) != note.raw:
            return None
    except UnicodeError:
        return None
    parts, last = [], 0
    for (start, end), way in sorted(chosen.items()):
        parts += [text[last:start], way]
        last = end
    return bom + "".join([*parts, text[last:]]).encode(coding, errors)


def _key(path: str) -> str:
    name = links.fold(path.rstrip("/").rpartition("/")[2])
    return name.removesuffix(".md")
