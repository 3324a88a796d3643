"""What of a note's text a reader sees: comments and the markers of a merge are no text, except in code."""

import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(
    r"""
      ^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<fence>`{3,}|~{3,})(?:(?<=~)[^\n]*|[^`\n]*)$
    | (?P<ticks>`+)
    | (?P<opens>%%|<!--)
    | ^(?P<marker><{7}|\|{7}|={7}|>{7})(?:[ ][^\n]*|\r)?$
    """,
    re.VERBOSE | re.MULTILINE,
)
_BREAK = re.compile(r"\n[ \t>]*\r?\n|\Z")
_CLOSES = {"%%": "%%", "<!--": "-->"}
_SIGNS = (*_CLOSES, "<<<<<<< ", "||||||| ", ">>>>>>> ")
_SHOWN = re.compile(r"[^\r\n]")


@lru_cache(512)
def seen(text: str, *, part: bool = False) -> str:
    """Blanks what a reader does not see, every place and line kept; the text itself where all of it is seen.

    A ``part`` of a note may begin amid a conflict, so that ``=======`` needs no marker before it.
    """
    if not any(sign in text for sign in _SIGNS) and not (part and "=======" in text):
        return text
    parts, last = [], 0
    for start, end in sorted(_hidden(text, part)):
        parts += [text[last:start], _SHOWN.sub(" ", text[start:end])]
        last = end
    return "".join(parts) + text[last:] if parts else text


def _hidden(text: str, inside: bool) -> Iterator[tuple[int, int]]:
    """Finds comments and the lines of markers; ``=======`` is one between two others, and else underlines a title."""
    at, rest, missing = 0, 0, set[str]()
    middle = None
    while token := _TOKEN.search(text, at):
        at = token.end()
        opens, marker = token["opens"], token["marker"]
        if opens and opens not in missing:
            end = text.find(_CLOSES[opens], at) + len(_CLOSES[opens])
            if end < at:
                missing.add(opens)
            else:
                yield token.start(), end
                at = end
        elif marker == "=======" and not inside:
            middle = token.span()
        elif marker:
            if marker[0] == ">" and middle:
                yield middle
            yield token.span()
            inside, middle = marker[0] != ">", None
        elif token["fence"]:
            at = _past_fence(text, at, token["fence"])
        elif token["ticks"]:
            rest = rest if rest >= at else _paragraph(text, at)
            at = _past_ticks(text, at, rest, token["ticks"])


def _paragraph(text: str, at: int) -> int:
    found = _BREAK.search(text, at)
    return found.start() if found else len(text)


def _past_fence(text: str, at: int, mark: str) -> int:
    """Gives where a block of code ends; one that is never closed runs to the end."""
    found = re.compile(rf"^[ \t>]*{mark}[{mark[0]}]*[ \t]*\r?$", re.MULTILINE).search(text, at)
    return found.end() if found else len(text)


def _past_ticks(text: str, at: int, rest: int, mark: str) -> int:
    """Gives where a span of code ends, within its paragraph; one that is never closed is none."""
    found = re.compile(rf"(?<!`){mark}(?!`)").search(text, at, rest)
    return found.end() if found else at
