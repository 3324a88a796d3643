"""Whether a sentence speaks of what a question asks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quorra.agent.reading.reader import Evidence, Nearness, Reading, read
from quorra.agent.reading.words import Word, siblings

_PART = re.compile(
    r"\?\s+|,?\s+and\s+(?=(?:what|when|where|who|how|which|why|is|are|does|do|can|may|at|in|on|by)\b)|;\s+",
    re.IGNORECASE,
)
_WANTS = (
    (r"\bhow many\b", "count"),
    (r"\bhow (?:much|expensive)\b|\bwhat\b.*\b(?:cost|price|fee|rent)s?\b|\bpay\b|\bcost", "money"),
    (r"\bpressure\b", "pressure"),
    (r"\btemperature\b|\bhow (?:hot|warm|cold)\b", "temperature"),
    (r"\bhow (?:heavy|much .* weigh)\b|\bweigh", "weight"),
    (r"\bhow (?:tall|high|wide|deep|far|big)\b", "length"),
    (r"\bhow long\b", "duration months length date number"),
    (r"\bhow often\b|\bfrequently\b", "period count number weekday"),
    (r"\bhow old\b", "months date"),
    (r"\b(?:what|which) time\b", "time"),
    (r"\b(?:what|which) (?:week)?day\b|\bon which day\b", "weekday date"),
    (r"\b(?:what|which) month\b", "date"),
    (r"\b(?:what|which) (?:year|date)\b", "date"),
    (r"\bwhen\b|\bby when\b|\buntil when\b", "date time weekday period duration months"),
    (r"\b(?:serial|phone|telephone|account|licence) number\b|\bnumber plate\b", "code number count"),
)
_NUMERIC = {"count", "money", "pressure", "temperature", "weight", "length", "duration", "months", "number"}


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


@lru_cache(maxsize=64)
def ask(question: str) -> Question:
    """Reads a question."""
    texts = [text for text in _PART.split(question) if text.strip()]
    whole = _part(question)
    parts = tuple(part for part in map(_part, texts) if part.keys) if len(texts) > 1 else ()
    return Question(read(question), parts if len(parts) > 1 else (whole,))


def _part(text: str) -> Part:
    reading = read(text)
    keys = {word.stem: word for word in reading.content if word.stem in reading.keys}
    lowered = text.lower()
    wants = {name for pattern, names in _WANTS if re.search(pattern, lowered) for name in names.split()}
    return Part(text, tuple(keys.values()), frozenset(wants))


def missing(part: Part, carried: Evidence, near: Nearness) -> list[Word]:
    """Gives the key words of a part that the evidence does not carry."""
    return [word for word in part.keys if not near.covered(word, carried)]


def about(part: Part, missed: Sequence[Word]) -> bool:
    """Tells whether enough of a part's key words are carried: all but one in three, no name and no kind among the rest."""
    if not part.keys:
        return True
    hard = [word for word in missed if word.stem in siblings() or (word.capital and word.start > 0)]
    return not hard and len(missed) * 3 <= len(part.keys)


def answers(part: Part, reading: Reading) -> bool:
    """Tells whether a sentence holds a statement of the kind that is wanted."""
    if not part.wants:
        return True
    kinds = {one.dimension for one in reading.quantities} | {one.kind for one in reading.quantities}
    return bool(kinds & part.wants) or ("count" in part.wants and bool(kinds & _NUMERIC))
