"""A sentence read once: its words, names and exact statements, ready to be compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from quorra.agent.reading.numerals import quantities, shared_units
from quorra.agent.reading.quantity import Quantity
from quorra.agent.reading.words import Word, content, contrasts, kin, light, siblings, synonyms, words
from quorra.inference.protocol import Embedder, Vectors

_NEAR = 0.72


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a sentence; ``content`` leaves out stop words and what a quantity already says."""

    text: str
    content: tuple[Word, ...]
    stems: frozenset[str]
    keys: frozenset[str]
    names: frozenset[str]
    quantities: tuple[Quantity, ...]


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Reads one sentence."""
    found = shared_units(text, quantities(text))
    outside = tuple(
        word for word in content(text) if not any(one.start < word.end and word.start < one.end for one in found)
    )
    stems = frozenset(word.stem for word in outside)
    return Reading(text, outside, stems, stems - light(), _names(text, outside), found)


def _names(text: str, outside: Iterable[Word]) -> frozenset[str]:
    """Names are words written large where grammar does not ask for it."""
    first = next(iter(words(text)), None)
    found = set()
    for word in outside:
        lead = first is not None and word.start == first.start
        if word.capital and not (lead and (word.stem in light() or word.text.istitle())):
            found.add(word.lower.removesuffix("'s"))
    return frozenset(found)


def implied(found: Iterable[Quantity]) -> frozenset[str]:
    """Gives the words that a measured thing implies: a bar is a pressure, a euro a cost."""
    stems: set[str] = set()
    for one in found:
        stems |= _IMPLIED.get(one.dimension, frozenset())
    return frozenset(stems)


_IMPLIED: Mapping[str, frozenset[str]] = {
    name: frozenset(text.split())
    for name, text in {
        "pressure": "pressur bar air inflat pump",
        "temperature": "temperatur degre heat hot warm cold cool",
        "count": "numb",
        "money": "cost pric pay charg spend expens euro pound dollar money amount worth",
        "weight": "weight weigh heav kilo kilogram gram gramm",
        "rate": "fast speed quick bandwidth rat",
        "length": "length long height high tall wide width distanc deep depth far measur siz big dimens",
        "volume": "siz big volum capacit litr",
        "duration": "duration long tim last tak wait minut hour day week",
        "months": "duration long month year old age",
        "date": "dat day month year",
        "weekday": "day weekday",
        "time": "tim hour clock",
        "period": "often frequent frequenc oft interval regular month year week day annu",
        "power": "power watt",
        "share": "percent share percentag",
        "code": "numb reach contact ring cal phon",
        "area": "big larg siz area measur",
        "energy": "electricit energ consum",
        "speed": "speed fast",
        "data": "siz larg big",
    }.items()
}


_DEEDS = frozenset(["pay", "charg", "spend", "tak", "wait", "consum"])
"""What an amount may be told with, though it does not tell that it was done."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What may cover a word; only a sentence's own words have synonyms.

    ``own`` are stems with the words they were cut from, ``around`` the note's title
    and headings, ``implied`` what the quantities stand for.
    """

    own: Mapping[str, str]
    around: frozenset[str]
    implied: frozenset[str]


def evidence(text: Iterable[Reading], around: Reading) -> Evidence:
    """Gathers what sentences and the note around them say."""
    readings = list(text)
    own = {word.stem: word.lower for one in readings for word in words(one.text)}
    found = [one for reading in readings for one in reading.quantities]
    return Evidence(own, frozenset(word.stem for word in words(around.text)), implied(found))


def added(base: Evidence, said: Iterable[Word]) -> Evidence:
    """Gives the evidence with a few words more."""
    return replace(base, own={**base.own, **{word.stem: word.lower for word in said}})


class Nearness:
    """Tells whether one word may stand for another: same family, synonym, or close in meaning and no opposite."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def says(self, word: Word, among: Evidence) -> bool:
        """Tells whether the evidence holds a draft's word or one that means just that."""
        stems = frozenset(among.own)
        if known(word.stem, stems) or word.stem in among.around | among.implied:
            return True
        return known(word.stem, among.around) or self._close(word, among)

    def asks(self, word: Word, among: Evidence) -> bool:
        """Tells whether the evidence holds what a question means by a word."""
        if self.says(word, replace(among, implied=among.implied - _DEEDS)):
            return True
        return bool(kin().get(word.stem, frozenset()) & (frozenset(among.own) | among.around))

    def _close(self, word: Word, among: Evidence) -> bool:
        if self._embedder is None or word.capital or len(word.lower) < 4 or word.stem in siblings():
            return False
        apart = contrasts().get(word.stem, frozenset())
        others = sorted(form for stem, form in among.own.items() if stem not in apart and len(form) > 3)
        if not others:
            return False
        rows = self.vectors([word.lower, *others])
        return bool((rows[1:] @ rows[0]).max() >= _NEAR)

    def vectors(self, texts: list[str]) -> Vectors:
        """Embeds texts, each once."""
        assert self._embedder is not None
        fresh = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if fresh:
            self._vectors.update(zip(fresh, self._embedder.embed(fresh), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def known(stem: str, stems: frozenset[str]) -> bool:
    """Tells without a model whether ``stems`` hold a word, a synonym or one of its family."""
    if stem in stems or synonyms().get(stem, frozenset()) & stems:
        return True
    return any(_family(stem, other) for other in stems)


def _family(one: str, other: str) -> bool:
    shared = 0
    if ":" in one or ":" in other:
        return False
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 5 and shared >= 0.75 * max(len(one), len(other))
