"""Citations: which characters of which hit carry a sentence, and where they stand in the file."""

from collections.abc import Sequence

from quorra.agent.asking.answer import Citation
from quorra.agent.reading.sentences import Source
from quorra.index.found import Hit

Span = tuple[int, int, int]
"""A hit with the start and end of what is quoted from it."""


def span(source: Source, whole: bool = False) -> Span:
    """Gives where a sentence stands, from the one above it on where that is needed to understand it."""
    return source.hit, source.above if whole else source.at, source.at + len(source.text)


def quote(number: int, place: Span, hits: Sequence[Hit]) -> Citation:
    """Cites what stands at a place."""
    hit, text = hits[place[0]], hits[place[0]].text[place[1] : place[2]]
    first = hit.lines[0] + hit.text.count("\n", 0, place[1])
    return citation(number, hit, text, (first, first + text.count("\n")))


def citation(number: int, hit: Hit, text: str, lines: tuple[int, int]) -> Citation:
    """Cites some lines of a hit."""
    return Citation(number, hit.path, lines, hit.commit, hit.blob, text)
