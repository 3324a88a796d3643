"""Who does what to whom: whether a draft gives two things each other's part."""

import re
from itertools import combinations

from quorra.agent.reading.quantity import NUMERALS
from quorra.agent.reading.reader import known, read
from quorra.agent.reading.words import Word, contrasts, converses, light, members, participles, stops, words

_BE = re.compile(r"(?:is|are|was|were|be|been|being|gets?|got)", re.IGNORECASE)
_REACH = 4
"""How many words behind “be” its participle may stand."""
_SURNAME = re.compile(r"(?P<first>[A-Z][\w'’-]*)\.?(?:\s+&)?\s+$")
_BY = re.compile(rf"\bby\b(?!\s+(?:\d|(?:{'|'.join(NUMERALS)})\b))", re.IGNORECASE)
_NEARER = 2
"""How many words more must stand in order once two are exchanged, for the draft to be the source with these swapped."""


def turned(draft: str, source: str) -> bool:
    """Tells whether a draft turns round who does what, beyond what its voice and its converse verb turn back."""
    voiced, sides = _voiced(draft, source), _converse(draft, source)
    if voiced and not sides:
        told = passives(draft)
        return any(_done(verb, draft, source) if verb in told else _done(verb, source, draft) for verb in voiced)
    if sides and not voiced:
        return _unturned(draft, source, sides)
    return exchanged(draft, source)


def _done(verb: str, passive: str, active: str) -> bool:
    """Tells whether the one by whom something is done in a passive has it done to him in the active."""
    done = next((word.end for word in words(passive) if known(word.stem, frozenset([verb]))), len(passive))
    by = _BY.search(passive, done)
    agent = next((word.stem for word in words(passive[by.end() :]) if word.lower not in stops()), "") if by else ""
    order = [word.stem for word in words(active)]
    return agent in order and any(known(one, frozenset([verb])) for one in order[: order.index(agent)])


def _unturned(draft: str, source: str, sides: frozenset[str]) -> bool:
    """Tells whether a draft says the other side's word and leaves both sides where they were."""
    ours, theirs = _names(draft, source), _names(source, draft)
    if len(ours) > 1 and sorted(ours) == sorted(theirs):
        return ours == theirs and _amid(draft, ours, sides) and _amid(source, ours, sides)
    return not exchanged(draft, source)


def _amid(text: str, names: list[str], sides: frozenset[str]) -> bool:
    """Tells whether one of some words stands between the first and the last of some names."""
    places = [word.start for word in words(text) if _bare(word) in names]
    return any(known(word.stem, sides) for word in words(text) if places[0] < word.start < places[-1])


def passives(text: str) -> frozenset[str]:
    """Gives the verbs that stand in the passive: a past participle close behind a form of “be”."""
    found, near = set(), 0
    for word in words(text):
        near = _REACH if _BE.fullmatch(word.text) else near - 1
        if near > 0 and (word.lower.endswith("ed") or word.lower in participles()):
            found.add(word.stem)
    return frozenset(found)


def _voiced(draft: str, source: str) -> frozenset[str]:
    """Gives the verbs that one text has in the passive and the other in the active."""
    stems = frozenset(word.stem for word in words(draft)), frozenset(word.stem for word in words(source))
    ours, theirs = passives(draft), passives(source)
    return frozenset(
        [verb for verb in ours if known(verb, stems[1]) and not known(verb, theirs)]
        + [verb for verb in theirs if known(verb, stems[0]) and not known(verb, ours)]
    )


def converse(draft: str, source: str) -> bool:
    """Tells whether a draft has the word of the other side: borrows for lends, younger for older."""
    return bool(_converse(draft, source))


def _converse(draft: str, source: str) -> frozenset[str]:
    theirs = {word.stem for word in words(source)}
    ours = {word.stem for word in words(draft)}
    pairs = [(one, converses().get(one, frozenset()) & (theirs - ours)) for one in ours - theirs]
    return frozenset(mark for one, others in pairs if others for mark in (one, *others))


def exchanged(draft: str, source: str) -> bool:
    """Tells whether two words, or two numbers, of a draft need only change places to stand as the source has them."""
    theirs = _row(source)
    taken: set[int] = set()
    places: list[tuple[int, bool]] = []
    for mark, exact in _row(draft):
        free = [at for at in range(len(theirs)) if at not in taken]
        at = next((at for same in (_equal, _same) for at in free if same(mark, theirs[at][0])), None)
        if at is not None:
            taken.add(at)
            places.append((at, exact))
    order = [at for at, _ in places]
    longest = _rising(order)
    for one, other in combinations(range(len(places)), 2):
        if order[one] > order[other] and places[one][1] == places[other][1]:
            order[one], order[other] = order[other], order[one]
            if _rising(order) >= max(len(order) - 1, longest + _NEARER):
                return True
            order[one], order[other] = order[other], order[one]
    return False


def sided(text: str, start: int) -> str:
    """Tells whether what stands at ``start`` is where something begins, where it ends, or how far it went."""
    before = _leading(text, start)
    if before[-1:] == ["by"]:
        return "by"
    for name in reversed(before):
        for side in ("from", "to"):
            if name in members(side):
                return side
    return ""


def bounded(text: str, start: int) -> bool:
    """Tells whether what stands at ``start`` is said to be a beginning or an end by the word right before it."""
    return bool(frozenset(_leading(text, start)[-1:]) & members("bounding"))


def _leading(text: str, start: int) -> list[str]:
    """Gives the two words before a place, as far as no number or comma lies between."""
    return [word.lower for word in words(re.split(r"[\d,;]", text[:start])[-1])][-2:]


def _row(text: str) -> list[tuple[str, bool]]:
    """Lists what a sentence mentions in order, and tells of each whether it is an exact statement."""
    reading = read(text)
    inside = [(one.start, one.end) for one in reading.quantities]
    small = [word for word in words(text) if word.lower in members("directed") | members("preposition")]
    held = [word for word in small if not any(start <= word.start < end for start, end in inside)]
    counts = [word.stem for word in held]
    found = [
        (word.start, word.stem, False)
        for word in reading.content
        if word.stem not in light() and not _surname(word, text)
    ]
    found += [(word.start, word.stem, False) for word in held if counts.count(word.stem) == 1]
    found += [(one.start, one.mark, True) for one in reading.quantities]
    return [(mark, exact) for _, mark, exact in sorted(set(found))]


def _surname(word: Word, text: str) -> bool:
    """Tells whether a word goes on with a name, so that both move together."""
    before = _SURNAME.search(text[: word.start])
    return word.capital and before is not None and bool(read(before["first"]).content)


def _equal(mark: str, other: str) -> bool:
    return mark == other


def _same(mark: str, other: str) -> bool:
    return known(mark, frozenset([other])) or other in contrasts().get(mark, frozenset())


def _rising(order: list[int]) -> int:
    """Gives the length of the longest part of a row that rises."""
    best: list[int] = []
    for at, value in enumerate(order):
        best.append(1 + max((best[before] for before in range(at) if order[before] < value), default=0))
    return max(best, default=0)


def _names(text: str, other: str) -> list[str]:
    """Lists the names of a text that another has too, in order."""
    shared = {_bare(word) for word in read(other).content if word.capital}
    named = [word for word in read(text).content if word.capital and not _surname(word, text)]
    return list(dict.fromkeys(name for word in named if (name := _bare(word)) in shared))


def _bare(word: Word) -> str:
    return word.lower.removesuffix("'s")
