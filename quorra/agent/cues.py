"""Which kind of sentence a question waits for: a name, a place, a reason, something to type, an exact statement."""

import re
from collections.abc import Callable, Sequence

from quorra.agent.reading.quantity import NUMERALS
from quorra.agent.reading.reader import Reading, implied, known, read
from quorra.agent.reading.sentences import Source
from quorra.agent.reading.words import Word, content, empty, members, words
from quorra.agent.verifiers import about
from quorra.agent.verifiers.about import Question

_PERSON = re.compile(
    r"\b(?:person|owner|member|someone|people|everyone|nobody|neighbour|doctor|company)\b", re.IGNORECASE
)
_REASON = re.compile(r"\b(?:because|since|so that|otherwise|therefore|as it|for this reason)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|on|under|behind|beside|above|below|next to|at|inside|between)\b", re.IGNORECASE)
_TYPED = re.compile(r"`|(?:^|\s)--?[a-z]|(?:^|\s)\.[a-z]")


def _named(source: Source, reading: Reading) -> bool:
    return bool(reading.names) or bool(_PERSON.search(source.plain))


_WHO = r"\bwho(?:m|se)?\b|\bwhich \w+(?:ian|ist|er)\b(?=.*\b(?:put|did|made|built|fixed|came)\b)"
_CUES: tuple[tuple[str, Callable[[Source, Reading], bool]], ...] = (
    (_WHO, _named),
    (r"\bwhy\b", lambda source, reading: bool(_REASON.search(source.plain))),
    (
        r"\b(?:command|option|flag|file|folder|directory|path|variable|endpoint|key|code|type)\b"
        r"|\bhow (?:do|can|should|may|would) (?:i|we|you|one)\b",
        lambda source, reading: (
            bool(_TYPED.search(source.text)) or any(one.kind == "code" for one in reading.quantities)
        ),
    ),
    (
        r"\bwhere\b|\bin which\b|\bwhich (?:room|drawer|shelf|place)\b",
        lambda source, reading: bool(_PLACE.search(source.plain)),
    ),
)
_COUNTED = re.compile(r"\bhow many (?:\w+ly )?([a-z]+)", re.IGNORECASE)
_COMPOUND = re.compile(r"(?P<thing>\b[a-z]+-[a-z]+\b)")
_THING = re.compile(
    r"\b(?:which|how many|what(?: is| are|'s)?(?: the)?(?: (?:number|name|colour|kind|type|amount|cost|price) of)?)"
    r"(?: (?:the|our|my|your|a))?(?: \w+'s)? (?P<thing>[a-z]+(?: [a-z]+)?)\b",
    re.IGNORECASE,
)
_META = re.compile(r"^This (?:note|page|file)\b|^(?:See|More)\b.{0,60}$")


def cued(question: str, source: Source) -> bool | None:
    """Tells whether a sentence is of the kind that the question waits for; None where it waits for none."""
    lowered = question.lower()
    for pattern, holds in _CUES:
        if re.search(pattern, lowered):
            return holds(source, read(source.plain))
    return None


def personal(question: str) -> bool:
    """Tells whether a question asks for a person."""
    return bool(re.search(_WHO, question.lower()))


def exact(asked: Question, source: Source) -> bool | None:
    """Tells whether a sentence holds the kind of number, date or time that is asked for; None where none is."""
    parts = [part for part in asked.parts if part.wants]
    if not parts:
        return None
    return any(about.answers(part, read(source.plain)) for part in parts)


def counted(question: str, source: Source) -> bool:
    """Tells whether a sentence speaks of the things that are to be counted, if any are."""
    match = _COUNTED.search(question)
    if not match:
        return True
    stems = frozenset(word.stem for word in words(source.plain))
    return all(known(word.stem, stems) for word in words(match[1])[:1])


def meta(source: Source) -> bool:
    """Tells whether a sentence only says what its note is about."""
    return bool(_META.match(source.plain))


def strangers(question: str, sources: Sequence[Source]) -> list[str]:
    """Gives what a question names and no passage knows: names, compounds, and the very thing that it asks for."""
    texts = [text for source in sources for text in (source.plain, source.about)]
    measured = implied(one for source in sources for one in read(source.plain).quantities)
    there = frozenset(word.stem for text in texts for word in words(text)) | measured
    first = {match.start() for match in re.finditer(r"(?<=[.?!] )\w|^\w", question.strip())}
    found = [word.text for word in read(question).content if _name(word, first) and not known(word.stem, there)]
    for match in (*_COMPOUND.finditer(question), *_THING.finditer(question)):
        parts = [
            word.stem for word in content(match["thing"]) if word.stem not in empty() and word.lower not in NUMERALS
        ]
        typed = any(word.lower in members("type") for word in words(match["thing"]))
        if parts and not typed and not any(known(part, there) for part in parts):
            found.append(match["thing"])
    return found


def _name(word: Word, first: set[int]) -> bool:
    inside = any(letter.isupper() for letter in word.text[1:])
    return inside or (word.capital and len(word.text) > 1 and word.start not in first)
