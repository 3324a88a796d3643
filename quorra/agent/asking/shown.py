"""What of a note is quoted, and how: the words a reader sees, verbatim, with the list or code that they announce.

Links give their visible text; emphasis, footnotes, block names, list marks and a
fact line's date and tags are left out; a table row names its columns; inline code
keeps its marks. What is cited stays the note's own characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from quorra.agent.reading.sentences import Source
from quorra.index.found import Hit
from quorra.vault import links
from quorra.vault.reading.seen import seen

_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_MARKUP = (
    (re.compile(r"^={3,}[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"\[\^[^\]]+\]"), ""),
    (re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"<(https?://[^>]*)>"), r"\1"),
    (re.compile(r"<br\b[^<>]*>", re.IGNORECASE), " "),
    (re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE), ""),
    (re.compile(r"(?<!\w)(\*\*|__|\*|_|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)", re.DOTALL), r"\2"),
    (re.compile(r"\s\^[\w-]+\s*$"), ""),
    (re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+)", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\[!\w+\]", re.MULTILINE), ""),
)  # fmt: skip
_FACT = re.compile(r"^\d{4}-\d\d-\d\d\s+|(?:\s+#[\w/-]+)+\s*$")
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)(.*)$")
_RULE = re.compile(r"^[ \t]*\|?[ \t:|-]*-[ \t:|-]*$")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_ASKS = re.compile(r"\?[\"'”’)*_\s]*$|[\"“‘`][^\"”`]*\?[\"”’`]")
_CREDIT = re.compile(r"^(?:--|—|–|[Bb]y\b)[^.!?]*$")
_AND = re.compile(r"[;,](?: (?:and|or))?$")
_ITEMS, _LINES = 8, 8


@dataclass(frozen=True, slots=True)
class Piece:
    """What is quoted of a hit, ``start`` to ``end``: ``text`` as it is shown, ``block`` the code behind it."""

    hit: int
    start: int
    end: int
    text: str
    block: str = ""


def sayable(source: Source, hit: Hit) -> bool:
    """Tells whether a sentence states anything: headings, questions, credits, code and a table's head do not."""
    if source.heading or any(start <= source.at < end for start, end in _fences(hit.text)):
        return False
    return not any(mark.search(source.text) for mark in (_ASKS, _RULE, _CREDIT)) and not _head(source, hit)


def visible(text: str) -> str:
    """Gives a text as a reader sees it, on one line; inline code keeps its marks."""
    text = seen(text, part=True)
    kept = [match[0] for match in _CODE.finditer(text)]
    text = links.shown(_CODE.sub("\0", text))
    for pattern, instead in _MARKUP:
        text = pattern.sub(instead, text)
    for code in kept:
        text = text.replace("\0", code, 1)
    return " ".join(text.split())


def piece(source: Source, hit: Hit, *, lead: bool, code: bool) -> Piece:
    """Shows a sentence with the list or code that it announces.

    ``lead`` puts the sentences before it in front, ``code`` takes a block of code
    that follows it even where no colon announces one.
    """
    start, end = source.above if lead else source.at, source.at + len(source.text)
    shown = Piece(source.hit, start, end, _said(seen(hit.text, part=True)[start:end], source, hit))
    if code or source.text.rstrip("*_ ").endswith(":"):
        return _announced(shown, hit)
    return shown


def joined(pieces: Sequence[Piece], hits: Sequence[Hit]) -> list[Piece]:
    """Puts pieces of the same lines together, so that no two citations name one line; the best stays first."""
    found: list[Piece] = []
    for one in pieces:
        at = next((at for at, other in enumerate(found) if _touch(one, other, hits)), None)
        if at is None:
            found.append(one)
        else:
            found[at] = _together(found[at], one, hits)
    return found


def in_order(pieces: Sequence[Piece]) -> list[Piece]:
    """Orders pieces to be read: those of one passage as they stand in it, passages by their best piece."""
    first: dict[int, int] = {}
    for at, one in enumerate(pieces):
        first.setdefault(one.hit, at)
    return sorted(pieces, key=lambda one: (first[one.hit], one.start))


def _touch(one: Piece, other: Piece, hits: Sequence[Hit]) -> bool:
    first, last = sorted((one, other), key=lambda piece: piece.start)
    return one.hit == other.hit and "\n" not in hits[one.hit].text[first.end : last.start]


def _together(one: Piece, other: Piece, hits: Sequence[Hit]) -> Piece:
    first, last = sorted((one, other), key=lambda piece: (piece.start, -piece.end))
    if last.end <= first.end:
        return first
    source = seen(hits[one.hit].text, part=True)
    if last.start < first.end:
        text = visible(source[first.start : last.end])
    else:
        text = f"{first.text} {'… ' if source[first.end : last.start].strip() else ''}{last.text}"
    return replace(first, end=last.end, text=text, block=first.block or last.block)


def _said(text: str, source: Source, hit: Hit) -> str:
    if source.text.startswith("|"):
        return _row(source, hit)
    said = visible(text)
    return _FACT.sub("", said) if hit.path.startswith("/facts/") else said


def _row(source: Source, hit: Hit) -> str:
    cells = _cells(source.text)
    head = next((_cells(line) for line, rule in _rows(hit.text[: source.at]) if rule), None)
    if head is None or len(head) != len(cells):
        return " · ".join(cell for cell in cells if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, cells, strict=True) if cell)


def _cells(line: str) -> list[str]:
    return [visible(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _rows(before: str) -> list[tuple[str, bool]]:
    """Gives the lines above a row, nearest first, each with whether a rule follows it."""
    lines = before.split("\n")
    return [(lines[at - 1], bool(_RULE.match(lines[at]))) for at in range(len(lines) - 1, 0, -1)]


def _head(source: Source, hit: Hit) -> bool:
    if not source.text.startswith("|"):
        return False
    return bool(_RULE.match(hit.text[source.at + len(source.text) :].lstrip("\n").partition("\n")[0] or "x"))


def _announced(shown: Piece, hit: Hit) -> Piece:
    rest = seen(hit.text, part=True)[shown.end :]
    gap = len(rest) - len(rest.lstrip())
    lines = rest[gap:].split("\n")
    fence = _FENCE.match(lines[0])
    if fence:
        return _with_code(shown, lines, fence, gap)
    items = _list(lines)
    if not items or "\n" not in rest[:gap]:
        return shown
    length = len("\n".join(lines[: len(items)]))
    said = "; ".join(_AND.sub("", visible(item)) for item in items)
    return replace(shown, end=shown.end + gap + length, text=f"{shown.text} {said}")


def _with_code(shown: Piece, lines: Sequence[str], fence: "re.Match[str]", gap: int) -> Piece:
    last = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == fence[1]), None)
    if last is None or last - 1 > _LINES:
        return shown
    end = shown.end + gap + len("\n".join(lines[: last + 1]))
    if last == 2:
        return replace(shown, end=end, text=f"{shown.text} `{lines[1].strip()}`")
    return replace(shown, end=end, block="\n".join(lines[: last + 1]))


def _list(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not _ITEM.match(line) or len(found) == _ITEMS:
            break
        found.append(line)
    return found


@cache
def _fences(text: str) -> tuple[tuple[int, int], ...]:
    found, at, opened, mark = [], 0, None, ""
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line.rstrip())
        if fence and opened is None:
            opened, mark = at, fence[1]
        elif fence and fence[1] == mark and not fence[2].strip() and opened is not None:
            found.append((opened, at + len(line)))
            opened = None
        at += len(line)
    return tuple(found if opened is None else [*found, (opened, at)])
