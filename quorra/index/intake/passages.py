"""Cuts a note into passages: at headings and paragraphs, about 120 tokens each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quorra.index.intake import terms
from quorra.vault.note import MONTHS, Block, Note
from quorra.vault.reading.seen import seen

RECIPE = "5"
SIZE = 520
TERSE = 6

_SENTENCE = re.compile(r"(?<=[.!?])[\"'’”)]*\s+|(?<=[。！？])|\n+")


class Passage(NamedTuple):
    """A piece of a note.

    ``text`` is the source's own characters at ``lines``; ``words`` is what
    full text searches, and its first ``embeds`` characters are what is
    embedded (0: nothing is).
    """

    part: int
    lines: tuple[int, int]
    heading: str
    text: str
    words: str
    embeds: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A note's passages and, for full text over whole notes, all its words once."""

    passages: tuple[Passage, ...]
    whole: str


class _Piece(NamedTuple):
    heading: int
    visible: str
    size: int
    terse: bool
    start: int
    end: int
    lines: tuple[int, int]


class _Head(NamedTuple):
    """What stands above the passages of a section: its trail, and title, date and trail as they are searched."""

    trail: str
    text: str
    extras: str


def cut(note: Note) -> Cut:
    """Cuts a note; a note without any text still has one passage, found by its name."""
    groups = list(_groups(list(_pieces(note))))
    about = _about(note)
    first = ", ".join(filter(None, (note.title, day(note.date))))
    heads: dict[int, _Head] = {}
    passages: list[Passage] = []
    whole: list[str] = []
    bare = not any(not piece.terse and piece.visible.strip() for group in groups for piece in group)
    for part, group in enumerate(groups or [()]):
        at = group[0].heading if group else -1
        head = heads.get(at) or heads.setdefault(at, _head(note, at, first))
        visible = "\n".join([piece.visible for piece in group])
        added = _added(visible)
        whole += (visible, added)
        passages.append(_passage(note, part, group, head, about if part == 0 else "", added, bare and part == 0))
    return Cut(tuple(passages), "\n".join([*_top(note, about), *whole]))


def size(text: str) -> int:
    """Estimates a text's length in characters of English, from the tokens that it makes."""
    return len(text) if text.isascii() else len(text) + 3 * terms.wide(text)


def day(date: str | None) -> str:
    """Spells an ISO date as a reader says it, ``8 May 2023``; empty where there is none."""
    if not date or not re.fullmatch(r"\d{4}-\d\d-\d\d", date[:10]) or not 1 <= int(date[5:7]) <= 12:
        return date or ""
    return f"{int(date[8:10])} {MONTHS[int(date[5:7]) - 1]} {date[:4]}"


def _pieces(note: Note) -> Iterator[_Piece]:
    filled = {block.heading for block in note.blocks}
    empty = [at for at in range(len(note.headings)) if at not in filled and not _opens(note, at)]
    for block in note.blocks:
        while empty and empty[0] < block.heading:
            yield _nothing(note, empty.pop(0))
        text = block.text
        terse = block.kind == "task" or (block.kind == "item" and len(text.split(None, TERSE)) < TERSE)
        length = size(text)
        if length <= SIZE * 5 // 4:
            span = block.span
            yield _Piece(block.heading, text, length, terse, span.start, span.end, block.lines)
        else:
            yield from _split(note, block, terse)
    yield from (_nothing(note, at) for at in empty)


def _nothing(note: Note, at: int) -> _Piece:
    """Makes the piece of a heading that has no text of its own."""
    heading = note.headings[at]
    return _Piece(at, "", 0, False, heading.span.start, heading.span.end, (heading.line, heading.line))


def _added(text: str) -> str:
    return " ".join(terms.extras(text))


def _opens(note: Note, at: int) -> bool:
    return at + 1 < len(note.headings) and note.headings[at + 1].level > note.headings[at].level


def _split(note: Note, block: Block, terse: bool) -> Iterator[_Piece]:
    source, at, line = seen(note.text), block.span.start, block.lines[0]
    chunks = list(_chunks(block.text))
    for chunk in chunks:
        end = block.span.end if chunk is chunks[-1] else _reach(source, at, block.span.end, chunk)
        last = min(line + source.count("\n", at, max(at, end - 1)), block.lines[1])
        yield _Piece(block.heading, chunk, size(chunk), terse, at, end, (line, last))
        line = min(line + source.count("\n", at, end), block.lines[1])
        at = end


def _chunks(text: str) -> Iterator[str]:
    sentences = [part for part in _sentences(text) if part]
    total = sum(map(size, sentences))
    share = total / max(1, round(total / SIZE))
    held, room = "", share
    for sentence in sentences:
        if held and size(held) + size(sentence) / 2 > room:
            yield held
            held = ""
        held += sentence
    if held:
        yield held


def _sentences(text: str) -> Iterator[str]:
    at = 0
    for match in _SENTENCE.finditer(text):
        yield from _strips(text[at : match.end()])
        at = match.end()
    yield from _strips(text[at:])


def _strips(sentence: str) -> Iterator[str]:
    while size(sentence) > SIZE:
        room = SIZE if sentence.isascii() else SIZE // 4
        at = sentence.rfind(" ", room // 2, room) + 1 or room
        yield sentence[:at]
        sentence = sentence[at:]
    yield sentence


def _reach(source: str, at: int, end: int, chunk: str) -> int:
    exact = chunk.rstrip()
    if source.startswith(exact, at):
        at += len(exact)
    else:
        for word in chunk.split():
            found = source.find(word, at, min(end, at + 400))
            at = found + len(word) if found >= 0 else at
    while at < end and source[at].isspace():
        at += 1
    return at


def _groups(pieces: Sequence[_Piece]) -> Iterator[tuple[_Piece, ...]]:
    held: list[_Piece] = []
    filled = 0
    for piece in pieces:
        if held and (piece.heading != held[0].heading or filled + piece.size > SIZE):
            yield tuple(held)
            held, filled = [], 0
        held.append(piece)
        filled += piece.size
    if held:
        yield tuple(held)


def _head(note: Note, at: int, first: str) -> _Head:
    trail = _trail(note, at)
    shown = " > ".join(name for name in trail if name != note.title)
    text = f"{first}\n{shown}" if first and shown else first or shown
    return _Head(" > ".join(trail), text, _added(text))


def _passage(
    note: Note, part: int, group: Sequence[_Piece], head: _Head, about: str, added: str, bare: bool
) -> Passage:
    prose = _prose(group)
    embedded = ""
    rest = [piece.visible for piece in group if piece.terse or not prose]
    if prose or bare:
        embedded = f"{head.text}\n{prose}" if head.text and prose else head.text or prose
    else:
        rest.append(head.text)
    rest += [added, note.date or "", head.extras]
    if about:
        rest += [about, _added(about)]
    lines, text = _source(note, group)
    more = " ".join(filter(None, rest))
    words = f"{embedded}\n{more}" if embedded and more else embedded or more
    return Passage(part, lines, head.trail, text, words, len(embedded))


def _prose(group: Sequence[_Piece]) -> str:
    if len(group) == 1:
        return "" if group[0].terse else group[0].visible.strip()
    return "\n".join(text for piece in group if not piece.terse and (text := piece.visible.strip()))


def _source(note: Note, group: Sequence[_Piece]) -> tuple[tuple[int, int], str]:
    if not group:
        return (1, max(1, note.text.count("\n") + (not note.text.endswith("\n")))), note.text
    lines = (group[0].lines[0], max(piece.lines[1] for piece in group))
    return lines, note.text[group[0].start : group[-1].end].rstrip()


def _trail(note: Note, at: int) -> tuple[str, ...]:
    trail: list[str] = []
    level = 7
    while at >= 0 and level > 1:
        if note.headings[at].level < level:
            level = note.headings[at].level
            trail.append(note.headings[at].text)
        at -= 1
    return tuple(reversed(trail))


def _top(note: Note, about: str) -> list[str]:
    """Gives what a note says above its text: title, date, name, metadata, headings."""
    head = [note.title, day(note.date), note.date or "", about]
    head += [heading.text for heading in note.headings if heading.text != note.title]
    return [*head, _added(" ".join(head))]


def _about(note: Note) -> str:
    name = note.path.removesuffix(".md").strip("/")
    return "\n".join([name.replace("/", " "), *_strings(note.metadata, note.title)])


def _strings(value: Any, title: str) -> Iterator[str]:
    if isinstance(value, str):
        if value != title:
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each, title)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _strings(each, title)
