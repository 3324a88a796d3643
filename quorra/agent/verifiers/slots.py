"""Which words a number belongs to, where a sentence states several of one kind."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import Reading, known, read
from quorra.agent.verifiers.polarity import sided

_CUT = re.compile(r"[,;:()/|–—]|\.\s|\s(?:and|but|or|while|whereas|then|plus|versus)\s", re.IGNORECASE)
_Marks = tuple[tuple[int, str], ...]


@lru_cache(maxsize=4096)
def marks(reading: Reading) -> _Marks:
    """Lists what a sentence mentions, word stems and exact statements, by place."""
    found = [(word.start, word.stem) for word in reading.content]
    found += [(one.start, f"{one.kind}:{one.value}") for one in reading.quantities]
    return tuple(sorted(found))


def misplaced(claim: Reading, source: Reading, question: Reading) -> str | None:
    """Names a statement of the claim that belongs to something else in the source; None where all are in place."""
    asked = frozenset(mark for _, mark in marks(question))
    for one in claim.quantities:
        mine = [other for other in source.quantities if carries(other, one)]
        said = _said(one, claim)
        if mine and not any(_placed(one, own, source, said, asked) and _side(claim, one, source, own) for own in mine):
            return one.text
    return None


def _rivals(one: Quantity, source: Reading) -> list[Quantity]:
    return [other for other in source.quantities if other.dimension == one.dimension and not carries(other, one)]


def _said(one: Quantity, claim: Reading) -> frozenset[str]:
    """What the claim says of a statement: its own stretch where there are several, else all of it."""
    same = [other for other in claim.quantities if other.dimension == one.dimension]
    start, end = _stretch(claim, one, same)
    return frozenset(mark for at, mark in marks(claim) if start <= at < end and at != one.start)


def _stretch(reading: Reading, one: Quantity, same: Sequence[Quantity]) -> tuple[int, int]:
    """Gives the part of the sentence that belongs to one of several statements of a kind."""
    start, end = 0, len(reading.text)
    for other in same:
        if other.end <= one.start:
            start = max(start, _border(reading.text, other, one))
        elif one.end <= other.start:
            end = min(end, _border(reading.text, one, other))
    return start, end


def _border(text: str, left: Quantity, right: Quantity) -> int:
    cuts = [match.end() for match in _CUT.finditer(text, left.end, right.start + 1) if match.end() <= right.start + 1]
    return min(cuts[-1], right.start) if cuts else right.start


def _placed(one: Quantity, own: Quantity, source: Reading, said: frozenset[str], asked: frozenset[str]) -> bool:
    rivals = _rivals(one, source)
    start, end = _stretch(source, own, [own, *rivals])
    here = [mark for at, mark in marks(source) if start <= at < end and at != own.start]
    for rival in rivals:
        begin, stop = _stretch(source, rival, [own, *rivals])
        there = [mark for at, mark in marks(source) if begin <= at < stop and at != rival.start]
        later = rival.start > own.start
        judged = _taken(here, there, said, later)
        if judged is None:
            judged = _taken(here, there, said | asked, later)
        if judged:
            return False
    return True


def _taken(here: list[str], there: list[str], said: frozenset[str], later: bool) -> bool | None:
    """Tells whether a rival's words are used in the place of this statement's; None where neither's are.

    Words of an earlier stretch carry over to a later one that leaves them out,
    never the other way round.
    """
    told: bool | None = None
    for tag, a, b, c, d in SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        theirs = [mark for mark in there[c:d] if mark not in here and known(mark, said)]
        ours = [mark for mark in here[a:b] if mark not in there and known(mark, said)]
        if tag in {"replace", "insert"} and theirs and (later or (tag == "replace" and not ours)):
            return True
        if ours:
            told = False
    return told


def _side(claim: Reading, one: Quantity, source: Reading, own: Quantity) -> bool:
    """Tells whether a time is where the source has it: at the beginning or at the end of something."""
    sides = {sided(claim.text, one.start), sided(source.text, own.start)}
    return sides != {"from", "to"}


def stretch_of(text: str, at: int) -> str:
    """Gives the comma-bounded part of a text around a place."""
    cuts = [0, *(match.end() for match in _CUT.finditer(text)), len(text)]
    start = max(cut for cut in cuts if cut <= at)
    return text[start : next((cut for cut in cuts if cut > at), len(text))]


__all__ = ["marks", "misplaced", "read", "stretch_of"]
