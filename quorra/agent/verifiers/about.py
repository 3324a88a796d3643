"""Whether a sentence speaks of what a question asks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quorra.agent.reading.reader import Evidence, Nearness, Reading, read
from quorra.agent.reading.words import Word, contrasts, empty, group, light, siblings

_PART = re.compile(
    r"\?\s+|,?\s+and\s+(?=(?:what|when|where|who|how|which|why|is|are|does|do|can|may|at|in|on|by)\b)|;\s+",
    re.IGNORECASE,
)
_BOTH = re.compile(r",?\s+and\s+", re.IGNORECASE)
_POLAR = re.compile(
    r"^\W*(?:is|are|was|were|am|can|could|may|might|must|shall|should|will|would|do|does|did|has|have|had|need)\b",
    re.IGNORECASE,
)
_MONEY = rf"\b(?:{group('money')})"
_WHEN = rf"(?:^|[,.?!;:]\s+|\b(?:and|by|until|since|till)\s+)when\b|\bwhen (?:{group('aux')})\b"
_WANTS = (
    (r"\bhow many\b", "count any"),
    (rf"\bhow much\b(?=.*{_MONEY})|\bhow expensive\b|\bwhat\b.*\b(?:cost|price|fee|rent)", "money share"),
    (rf"\bhow much\b(?!.*{_MONEY})", "any"),
    (r"\bpressure\b", "pressure"),
    (r"\btemperature\b|\bhow (?:hot|warm|cold)\b", "temperature"),
    (r"\bhow heavy\b|\bweigh", "weight"),
    (r"\bhow (?:tall|wide|deep|far)\b", "length"),
    (r"\bhow high\b", "any"),
    (r"\bhow big\b", "length area volume data"),
    (r"\bhow long\b", "duration months length date period"),
    (r"\bhow often\b|\bhow frequently\b", "period count weekday ordinal"),
    (r"\bhow old\b", "months date"),
    (r"\b(?:what|which) time\b", "time"),
    (r"\b(?:what|which) (?:week)?day\b|\bon which day\b", "weekday date"),
    (r"\b(?:what|which) (?:month|year|date)\b", "date"),
    (_WHEN, "date time weekday period duration months ordinal moment"),
    (rf"\bwhat is the number of\b|\b(?:{group('numbered')}) number\b|\bnumber plate\b", "code count"),
)
_WHO = re.compile(r"\b(?:who(?:m|se)?|which)\b", re.IGNORECASE)
_MOMENT = re.compile(rf"\b(?:{group('moment')})\b", re.IGNORECASE)
_PLAIN = {"date", "time", "weekday", "period", "ordinal", "code"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its parts; each part has key words and the kinds of statement that would answer it."""

    reading: Reading
    parts: tuple["Part", ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing asked."""

    text: str
    keys: tuple[Word, ...]
    wants: frozenset[str]
    polar: bool


@lru_cache(maxsize=64)
def ask(question: str) -> Question:
    """Reads a question; what is joined by “and” is asked in parts."""
    whole = _part(question, "")
    for joint, rest in ((_PART, ""), (_BOTH, question)):
        parts = tuple(part for text in joint.split(question) if (part := _part(text, rest)).keys)
        if len(parts) > 1:
            return Question(read(question), (whole, *parts))
    return Question(read(question), (whole,))


def _part(text: str, whole: str) -> Part:
    reading = read(text)
    keys = {word.stem: word for word in reading.content if word.stem not in empty()}
    keys = keys or {word.stem: word for word in reading.content if word.stem not in light()}
    return Part(text, tuple(keys.values()), _wants(text) or _wants(whole), bool(_POLAR.match(whole or text)))


def _wants(text: str) -> frozenset[str]:
    lowered = text.lower()
    return frozenset(name for pattern, names in _WANTS if re.search(pattern, lowered) for name in names.split())


def person(text: str) -> bool:
    """Tells whether a question asks who or which."""
    return bool(_WHO.search(text))


def missing(part: Part, carried: Evidence, near: Nearness) -> list[Word]:
    """Gives the key words of a part that the evidence does not carry; to a yes or no, opposites count too."""
    return [word for word in part.keys if not (near.asks(word, carried) or (part.polar and _opposed(word, carried)))]


def _opposed(word: Word, carried: Evidence) -> bool:
    return bool(contrasts().get(word.stem, frozenset()) & frozenset(carried.own))


def about(part: Part, missed: Sequence[Word], carried: Evidence) -> bool:
    """Tells whether enough key words of a part are carried: two in three, half for a yes or no, and every name.

    None may be missing whose like is there: a cellar where an attic was asked for.
    """
    there = frozenset(carried.own) | carried.around
    hard = [
        word for word in missed if siblings().get(word.stem, frozenset()) & there or (word.capital and word.start > 0)
    ]
    return not hard and len(missed) * (2 if part.polar else 3) <= len(part.keys)


def answers(part: Part, reading: Reading) -> bool:
    """Tells whether a sentence holds a statement of the kind that is wanted."""
    if not part.wants:
        return True
    kinds = {one.dimension for one in reading.quantities}
    bounded = any(one.bound for one in reading.quantities)
    if "moment" in part.wants and (bounded or _MOMENT.search(reading.text)):
        return True
    return bool(kinds & part.wants) or ("any" in part.wants and bool(kinds - _PLAIN))
