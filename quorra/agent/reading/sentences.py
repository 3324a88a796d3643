"""Sentences of a passage or a draft, verbatim, and the same without their markup."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from quorra.agent.reading.words import group
from quorra.index.found import Hit
from quorra.vault import links
from quorra.vault.reading.seen import seen

_OPENS = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]|#{1,6} |\||>")
_CLOSES = re.compile(r"#{1,6} |\|")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[*_`]*[A-Z0-9À-Þ`])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|approx|no|nr|dr|mr|mrs|ms|st|vs|ca|tel|min|max|incl|excl|fig|p|pp|a\.m|p\.m)|(?<![°\w&-])(?-i:[A-Z]))\.[\"')]*\s*$",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|>[ \t]?|#{1,6}[ \t]+)")
_MARKUP = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"<(https?://[^>]*)>"), r"\1"),
    (re.compile(r"(\*\*|__|\*|`|~~)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"^[ \t]*(?:#{1,6}|[-*+]|\d+[.)]|>)[ \t]+(?:\[[ xX]\][ \t]+)?"), ""),
    (re.compile(r"\s*\|\s*"), " | "),
    (re.compile(r"\s+"), " "),
)
_FIRST = re.compile(r" (?:and|but|while|whereas|so|because) |[;:]|, ", re.IGNORECASE)
_BACK, _TAIL = 3, 32
_LABEL = re.compile(r"([A-Z][\w'’-]*(?: [\w'’-]+){0,2})[.:](?: |$)")
_RULE = re.compile(r"[\s|:-]+")
_PRONOUN = re.compile(
    rf"^\W*(?:{group('pronoun')}|{group('its')}|there|then|here|also|the same)\b"
    rf"|\b(?:it|he|she|they|him|them|{group('its')})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """One sentence of a passage: ``text`` verbatim, ``plain`` without markup.

    ``about`` is what a reader knows from elsewhere in the note: title, headings
    and file name, and what its list item opens with. ``told`` is ``plain``, in a
    table with the column's name before each cell. ``before`` is the sentence above it in the passage, which
    ``anaphoric`` says is needed to understand this one. ``lines`` count in the file.
    """

    hit: int
    at: int
    text: str
    plain: str
    lines: tuple[int, int]
    about: str
    told: str
    before: str = ""
    above: int = 0
    anaphoric: bool = False
    heading: bool = False


@cache
def spans(text: str) -> tuple[tuple[int, int], ...]:
    """Gives the start and end of every sentence; list items, headings and table rows end one too."""
    found = []
    for start, end in _blocks(text):
        at = start
        for match in _END.finditer(text, start, end):
            said = text[at : match.start() + len(match[0].rstrip())]
            if said.count("`") % 2 == 0 and not _ABBREVIATION.search(said, max(0, len(said) - _TAIL)):
                found.append((at, match.end()))
                at = match.end()
        found.append((at, end))
    return tuple(pair for pair in (_trim(text, *one) for one in found) if pair[0] < pair[1])


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = at = 0
    closed = False
    for line in text.splitlines(keepends=True):
        if closed or not line.strip() or _OPENS.match(line):
            yield start, at
            start = at
        closed = bool(_CLOSES.match(line)) or not line.strip()
        at += len(line)
    yield start, at


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    marker = _MARKER.match(text[start:end])
    if marker and not marker[0].lstrip().startswith("#"):
        start += marker.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


@cache
def plain(text: str) -> str:
    """Gives a sentence as a reader sees it: no emphasis, link targets or list marks."""
    text = links.shown(text)
    for pattern, instead in _MARKUP:
        text = pattern.sub(instead, text)
    return text.strip(" |")


def split(text: str) -> list[str]:
    """Cuts a draft into its sentences, verbatim."""
    return [text[start:end] for start, end in spans(text)]


def sources(hits: Sequence[Hit]) -> list[Source]:
    """Cuts passages into sentences; the same sentence of two overlapping passages appears once."""
    found: list[Source] = []
    seen: set[tuple[str, int, str]] = set()
    for index, hit in enumerate(hits):
        for one in _sources(index, hit):
            mark = (hit.path, one.lines[0], one.text)
            if mark not in seen and one.plain:
                seen.add(mark)
                found.append(one)
    return found


def _sources(index: int, hit: Hit) -> Iterator[Source]:
    about = f"{hit.title} | {hit.heading} | {_name(hit.path)}"
    before, above, back = "", 0, 0
    shown = seen(hit.text, part=True)
    label, columns = "", list[str]()
    for start, end in spans(shown):
        text = hit.text[start:end]
        clean = plain(shown[start:end])
        first = hit.lines[0] + hit.text.count("\n", 0, start)
        lines = (first, first + text.count("\n"))
        heading = text.startswith("#")
        opens = not shown[shown.rfind("\n", 0, start) + 1 : start].strip(" \t-*+>[]xX.)0123456789")
        columns = (columns or _cells(shown[start:end])) if text.startswith("|") else []
        told = _row(columns, shown[start:end]) if columns else clean
        leans = bool(before) and bool(_PRONOUN.search(_FIRST.split(clean, maxsplit=1)[0]))
        yield Source(
            index, start, text, clean, lines, about if opens else about + label, told, before, above, leans, heading
        )
        named = _LABEL.match(clean) if opens else None
        label = f" | {named[1]}" if named else "" if opens else label
        if heading:
            before, back = "", 0
        elif leans and back < _BACK:
            before, back = f"{before} {clean}", back + 1
        else:
            before, above, back = clean, start, 0


def _cells(row: str) -> list[str]:
    return [plain(cell) for cell in row.strip().strip("|").split("|")]


def _row(columns: list[str], row: str) -> str:
    """Writes a table's row with its columns' names, in small letters so that they are not taken for names."""
    cells = _cells(row)
    if cells == columns or _RULE.fullmatch(row):
        return " | ".join(cells)
    names = [name if name.isupper() else name.lower() for name in columns]
    return " | ".join(f"{name} {cell}".strip() for name, cell in zip(names, cells, strict=False) if cell)


def _name(path: str) -> str:
    return path.removesuffix(".md").replace("/", " | ").replace("-", " ").replace("_", " ")
