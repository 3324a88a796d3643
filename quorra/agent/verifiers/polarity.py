"""Whether two sentences say yes to the same thing: negation, opposites, quantifiers, modality, direction."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import known, read
from quorra.agent.reading.words import Word, contrasts, group, members, past, stops, words
from quorra.agent.verifiers import claims

_NEGATOR = re.compile(rf"\b(?:{group('no')})\b", re.IGNORECASE)
_NOT_ONLY = re.compile(r"\bnot (?:only|just)\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never)\s+(?:\w+\s+)?\w+\W*$|\w+n['’]t\s+(?:\w+\s+)?\w+\W*$", re.IGNORECASE)
_EXCEPTION = re.compile(rf"\b(?:{group('except')})\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\W*(?:(?:and|but|so|because|since|as|if|when)\s+)?(it|they|those|these|that|he|she|them)\b", re.IGNORECASE
)
_STRONG = re.compile(
    rf"[;()—–]|:\s|\.\s|\b(?:{group('turn')})\b"
    rf"|,?\s+\b(?:and|then)\b(?=\s+(?:\w+\s+){{0,3}}?(?:{group('aux')}|not|never|no|\w+n['’]t)\b)"
    rf"|,\s+(?=(?:{group('own')}|not|never|no|nothing|nobody|none|and|or|so)\b)",
    re.IGNORECASE,
)
_CLASSES = ("must", "may", "doubt", "only", "all", "some", "cause", "past", "future")
_CLASS = {name: re.compile(rf"\b(?:{group(name)})\b", re.IGNORECASE) for name in _CLASSES}
_EVERY = re.compile(r"\bevery\b", re.IGNORECASE)
_OPPOSED = (("must", "may"), ("all", "some"), ("future", "past"))
_CONTRADICT = tuple(pair for one, other in _OPPOSED for pair in ((one, other), (other, one)))
_WILL = re.compile(r"\b(?:will|going to)\b|['’]ll\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a sentence within which one negation reaches."""

    text: str
    stems: frozenset[str]
    quantities: tuple[Quantity, ...]
    negative: bool

    def holds(self, mark: str | Quantity) -> bool:
        """Tells whether a word or an exact statement stands in the stretch."""
        if isinstance(mark, str):
            return known(mark, self.stems)
        return any(carries(one, mark) for one in self.quantities)


@cache
def units(text: str) -> tuple[Unit, ...]:
    """Cuts a sentence where a negation stops reaching; a stretch that opens with a pronoun knows what it means."""
    cuts = [0, *(match.start() for match in _STRONG.finditer(text)), len(text)]
    found: list[Unit] = []
    for part in (text[a:b] for a, b in pairwise(cuts)):
        if part.strip(" ,;:()—–."):
            leaning = _PRONOUN.match(part) if found else None
            lent = _meant(found[-1].text, thing=leaning[1].lower() not in {"he", "she"}) if leaning else frozenset()
            stems = read(part).stems | {word.lower for word in words(part) if word.lower in members("directed")}
            found.append(Unit(part, stems | lent, read(part).quantities, negative(part)))
    return tuple(found)


def _meant(text: str, *, thing: bool) -> frozenset[str]:
    """Guesses what a pronoun after a stretch stands for: its subject and, for a thing, its last word."""
    last = [word.stem for word in read(text).content][-1:] if thing and not _DENIED.search(text) else []
    return frozenset(last) | (frozenset() if claims.orders(text) else claims.subject(text))


def negative(text: str) -> bool:
    """Tells whether a stretch says no."""
    return bool(_NEGATOR.search(text))


def excepts(text: str) -> bool:
    """Tells whether a sentence makes an exception."""
    return bool(_EXCEPTION.search(text))


def classes(text: str) -> frozenset[str]:
    """Names the kinds of modality, quantity, time and cause that a sentence speaks of."""
    found = {name for name, pattern in _CLASS.items() if pattern.search(text)}
    periods = [one for one in read(text).quantities if one.kind == "period"]
    if any(not any(one.start <= match.start() < one.end for one in periods) for match in _EVERY.finditer(text)):
        found.add("all")
    return frozenset(found)


def opposites(draft: list[Word], source: list[Word]) -> int:
    """Counts the draft's words whose opposite, but not themselves, the source has."""
    ours, theirs = {word.stem for word in source}, {word.stem for word in draft}
    count = 0
    for word in draft:
        plain = word.lower in stops() and word.lower not in members("directed")
        if plain or known(word.stem, frozenset(ours)):
            continue
        against = contrasts().get(word.stem, frozenset()) & ours
        count += bool(against - theirs)
    return count


def disagrees(draft: str, source: str) -> str | None:
    """Says in a few words how a draft's yes and no differ from its source's; None where they agree."""
    if excepts(source) and not excepts(draft):
        return "an exception is dropped"
    if bool(_NOT_ONLY.search(draft)) != bool(_NOT_ONLY.search(source)):
        return "it says the opposite"
    turned = turned_round(draft, source)
    if turned and not opposites(words(draft), words(source)):
        return "it turns the relation round"
    theirs = units(source)
    for unit in units(draft):
        if _against(unit, theirs, turned=turned):
            return "it says the opposite"
    return _force(draft, source, _nearest(draft, theirs))


def _against(unit: Unit, theirs: tuple[Unit, ...], *, turned: bool) -> bool:
    """Tells whether a stretch says yes to words that the source only says no to, or the other way round."""
    marks: list[str | Quantity] = [*unit.stems, *unit.quantities]
    said = [mark for mark in marks if any(other.holds(mark) for other in theirs)]
    near = [_nearest(unit.text, theirs)] if said else theirs
    flips = opposites(words(unit.text), [word for other in near for word in words(other.text)])
    if flips % 2 and not turned:
        return unit.negative == any(other.negative for other in near)
    denied = [mark for mark in said if not any(other.holds(mark) for other in theirs if not other.negative)]
    if not said:
        return unit.negative and not any(other.negative for other in theirs)
    if not unit.negative:
        return bool(denied)
    return not denied or (near[0].negative and (_nays(unit.text) - _nays(near[0].text)) % 2 == 1)


def _nays(text: str) -> int:
    return len(_NEGATOR.findall(text))


def _nearest(draft: str, theirs: tuple[Unit, ...]) -> Unit:
    reading = read(draft)
    marks: list[str | Quantity] = [*reading.stems, *reading.quantities]
    return max(
        theirs, key=lambda unit: sum(unit.holds(mark) for mark in marks), default=Unit("", frozenset(), (), False)
    )


def _force(draft: str, source: str, unit: Unit) -> str | None:
    ours, theirs, near = classes(draft), classes(source), classes(unit.text)
    for mine, other in _CONTRADICT:
        if mine in ours and other in near and mine not in near and other not in ours:
            return f"it is stated as {mine}, the source says {other}"
    if _WILL.search(draft) and "future" not in theirs and _happened(source):
        return "it is still to come, the source says it has happened"
    if "doubt" in near and "doubt" not in ours:
        return "a doubt is dropped"
    for name in ("only", "cause", "all"):
        if name in ours and name not in theirs:
            return f"“{name}” is added"
    return None


def _happened(text: str) -> bool:
    """Tells whether a sentence has a verb in the past that is no part of a passive."""
    before = ""
    for word in words(text):
        if (word.lower.endswith("ed") or word.lower in past()) and before not in members("passive"):
            return True
        before = word.lower
    return False


def turned_round(draft: str, source: str) -> bool:
    """Tells whether two named things, the two sides of a comparison or two places have changed their parts."""
    sides = _than(draft), _than(source)
    if sides[0] and sides[1]:
        (left, right), (ours, theirs) = sides[0], sides[1]
        return bool((left & theirs) - ours) and bool((right & ours) - theirs)
    if _exchanged(_roles(draft), _roles(source)):
        return True
    first, second = _order(draft, source), _order(source, draft)
    if len(first) < 2 or first == second or sorted(first) != sorted(second):
        return False
    return _passive(draft) == _passive(source) and _alike(_between(draft, first), _between(source, second))


def _alike(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(known(one, others) or contrasts().get(one, frozenset()) & others for one in some)


def _exchanged(draft: Mapping[str, str], source: Mapping[str, str]) -> bool:
    """Tells whether two words stand behind each other's prepositions."""
    moved = [word for word in draft if word in source and draft[word] != source[word]]
    return any(draft[one] == source[other] and draft[other] == source[one] for one, other in combinations(moved, 2))


def _roles(text: str) -> dict[str, str]:
    """Maps each content word to the preposition it stands behind."""
    roles: dict[str, str] = {}
    content = {word.start for word in read(text).content}
    role, before, adjoining, end = "", "", False, 0
    for word in words(text):
        if any(mark in ",;:.()" for mark in text[end : word.start]):
            role = ""
        if word.start in content:
            roles.setdefault(word.stem, role)
            adjoining = True
        elif word.lower in members("preposition") and not (adjoining and before in members("phrasal")):
            role, adjoining = word.lower, False
        elif adjoining or word.lower in members("join"):
            role, adjoining = "", False
        before, end = word.stem, word.end
    return roles


def _between(text: str, names: list[str]) -> frozenset[str]:
    """Gives what stands between the first and the last of some names."""
    places = [word.start for word in words(text) if word.lower.removesuffix("'s") in names]
    inside = (word for word in read(text).content if places[0] < word.start < places[-1])
    return frozenset(word.stem for word in inside if word.lower.removesuffix("'s") not in names)


def _than(text: str) -> tuple[set[str], set[str]] | None:
    left, than, right = text.partition(" than ")
    if not than:
        return None
    return {w.stem for w in words(left) if w.lower not in stops()}, {
        w.stem for w in words(right) if w.lower not in stops()
    }


def _order(text: str, other: str) -> list[str]:
    """Lists the names of a text that another has too, in order."""
    shared = {word.lower.removesuffix("'s") for word in read(other).content if word.capital}
    named = [word.lower.removesuffix("'s") for word in read(text).content if word.capital]
    return list(dict.fromkeys(name for name in named if name in shared))


def _passive(text: str) -> bool:
    return bool(re.search(r"\bby\s+(?:[a-z]+\s+)?[A-Z]", text))


def sided(text: str, start: int) -> str:
    """Tells whether what stands at ``start`` is where something begins or where it ends."""
    before = [word.lower for word in words(text[:start])][-2:]
    for name in reversed(before):
        if name in members("from"):
            return "from"
        if name in members("to"):
            return "to"
    return ""
