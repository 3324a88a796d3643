"""Which words a number belongs to, where a sentence states several of one kind."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import Reading, known, read
from quorra.agent.reading.words import Word, contrasts, group, hollow, kin, members, siblings, words
from quorra.agent.verifiers import claims
from quorra.agent.verifiers.polarity import negative, telling
from quorra.agent.verifiers.roles import bounded, sided

_CUT = re.compile(r"[,;:()/|–—]\s?|\.\s|\s(?:and|but|or|while|whereas|then|plus|versus)\s", re.IGNORECASE)
_PREPOSITION = re.compile(r"\b(?:with|at|for|on|in|by|from|under|of|to|until)\b", re.IGNORECASE)
_TIED = re.compile(r"[^\w;]*(?:(?:to|until|till|and|or|and then)\W+)?(?:the\W+)?", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:[;:]\s+|\.\s+|,\s+(?:and|but|while|whereas)\s+|,\s+|\s+(?:and|but|while|whereas|because)\s+)"
    rf"(?!(?:{group('headless')})\b)(?=(?:[\w'’-]+\s+){{1,4}}?(?:{group('aux')}|{group('verb')})\b)"
)
_LABEL = re.compile(r"[,;|(]\s+(?P<name>(?:[^\W\d_][\w'’-]*\s+){1,3})$")
_Marks = tuple[tuple[int, str], ...]


@lru_cache(maxsize=4096)
def marks(reading: Reading) -> _Marks:
    """Lists what a sentence mentions, word stems and exact statements, by place."""
    inside = [(one.start, one.end) for one in reading.quantities]
    found = [
        (word.start, word.stem)
        for word in telling(reading.text)
        if word.stem not in members("particle") and not any(start <= word.start < end for start, end in inside)
    ]
    found += [(one.start, one.mark) for one in reading.quantities]
    return tuple(sorted(found))


@lru_cache(maxsize=4096)
def anchors(reading: Reading) -> tuple[Quantity, ...]:
    """Gives all that a sentence states exactly, names included: each has words of its own."""
    named: list[Quantity] = []
    for word in reading.content:
        if not word.capital:
            continue
        start = word.start
        if named and not reading.text[named[-1].end : start].strip(" '’s."):
            start = named.pop().start
        text = reading.text[start : word.end]
        named.append(Quantity("name", text.lower(), start, word.end, text))
    return (*reading.quantities, *named)


def _opposed(claim: Reading, source: Reading) -> Iterator[tuple[Quantity, Quantity, Quantity]]:
    """Gives the claim's words whose opposite or like the source has too, with both places there."""
    there = {word.stem: word for word in telling(source.text)}
    said = {word.stem for word in telling(claim.text)}
    for word in telling(claim.text):
        against = (contrasts().get(word.stem, frozenset()) | siblings().get(word.stem, frozenset())) - said
        for other in against & there.keys() if word.stem in there else ():
            yield _named(word), _named(there[word.stem]), _named(there[other])


def _named(word: Word) -> Quantity:
    return Quantity("name", word.stem, word.start, word.end, word.text)


def misplaced(claim: Reading, source: Reading, question: Reading) -> str | None:
    """Names a statement of the claim that belongs to something else in the source; None where all are in place."""
    asked = _translated(marks(question), question, source)
    stated = anchors(claim)
    mine = {one: [other for other in anchors(source) if carries(other, one)] for one in stated}
    for one in stated:
        paired = [other for other in stated if other.dimension == one.dimension and other is not one and mine[other]]
        said = _said(one, claim, source)
        taken = [rival for other in stated if other is not one and _competes(other, one) for rival in mine[other]]
        fits = [
            own
            for own in mine[one]
            if _placed(one, own, source, said, asked, taken) and _side(claim, one, source, own, question)
        ]
        if mine[one] and not fits:
            return one.text
        if any(_swapped(one, other, claim, source, mine) for other in paired):
            return one.text
        if not any(_labelled(own, source, claim.stems | question.stems) for own in mine[one]) and mine[one]:
            return one.text
    for one, own, rival in () if negative(claim.text) else _opposed(claim, source):
        if _apart(source.text, own, rival) and not _fits(own, [rival], source, _others(one, claim, source), asked):
            return one.text
    return None


def _labelled(own: Quantity, source: Reading, said: frozenset[str]) -> bool:
    """Tells whether what a bare label says of a number is said: the notice in “term 24 months, notice 4 weeks”."""
    label = _LABEL.search(source.text[: own.start])
    keys = read(label["name"]).keys if label and own.kind != "name" else frozenset[str]()
    if any(hollow(word) for word in words(label["name"])) if label else False:
        return True
    return not keys or any(known(key, said) or kin().get(key, frozenset()) & said for key in keys)


def _swapped(
    one: Quantity, other: Quantity, claim: Reading, source: Reading, mine: dict[Quantity, list[Quantity]]
) -> bool:
    """Tells whether two statements of a kind would fit the source better the other way round."""
    said, theirs = _said(one, claim, source), _said(other, claim, source)
    best = {True: -1, False: -1}
    for own in mine[one]:
        for rival in mine[other]:
            if own is not rival and _apart(source.text, own, rival):
                here, there = _words(own, source, [own, rival]), _words(rival, source, [own, rival])
                best[True] = max(best[True], _shared(here, said) + _shared(there, theirs))
                best[False] = max(best[False], _shared(there, said) + _shared(here, theirs))
    return best[False] > best[True]


def _shared(here: list[str], said: frozenset[str]) -> int:
    return sum(known(mark, said) for mark in here)


def _rivals(one: Quantity, own: Quantity, source: Reading) -> list[Quantity]:
    """Gives the other statements of the kind, those left out that share their words as the ends of one span do."""
    return [
        other
        for other in anchors(source)
        if _competes(other, one) and not carries(other, one) and _apart(source.text, own, other)
    ]


def _competes(one: Quantity, other: Quantity) -> bool:
    """Tells whether two statements may answer the same question; “when” takes a date or how long after."""
    return one.dimension == other.dimension or {one.dimension, other.dimension} <= {"date", "duration", "months"}


def _apart(text: str, one: Quantity, other: Quantity) -> bool:
    first, second = sorted((one, other), key=lambda each: each.start)
    between = text[first.end : second.start]
    tied = _TIED.fullmatch(between) and not _CLAUSE.match(text, first.end)
    return not tied and (one.kind != "name" or bool(_CUT.search(between)))


def _said(one: Quantity, claim: Reading, source: Reading) -> frozenset[str]:
    """What the claim says of a statement: its own stretch where there are several, else all of it."""
    same = [other for other in anchors(claim) if other.dimension == one.dimension]
    start, end = _stretch(claim, one, same)
    own = tuple((at, mark) for at, mark in marks(claim) if start <= at < end and not one.start <= at < one.end)
    return _translated(own, claim, source)


def _others(one: Quantity, claim: Reading, source: Reading) -> frozenset[str]:
    """All that the claim says but one word."""
    return _translated(tuple((at, mark) for at, mark in marks(claim) if at != one.start), claim, source)


def _translated(said: _Marks, claim: Reading, source: Reading) -> frozenset[str]:
    """Gives marks with the source's own for what it states in another form."""
    places = {at for at, _ in said}
    same = {
        other.mark
        for one in claim.quantities
        if one.start in places and all(other.mark != one.mark for other in source.quantities)
        for other in source.quantities
        if carries(other, one)
    }
    return frozenset(mark for _, mark in said) | same


def _stretch(reading: Reading, one: Quantity, same: Sequence[Quantity]) -> tuple[int, int]:
    """Gives the part of the sentence that belongs to one of several statements of a kind.

    What lies between two clauses of its neighbours belongs to neither.
    """
    start, end = reading.text.rfind(" | ", 0, one.start) + 1, reading.text.find(" | ", one.end)
    end = end if end > 0 else len(reading.text)
    for other in same:
        if other.end <= one.start:
            start = max(start, _borders(reading.text, other, one)[-1])
        elif one.end <= other.start:
            end = min(end, _borders(reading.text, one, other)[0])
    return start, end


def _borders(text: str, left: Quantity, right: Quantity) -> list[int]:
    """Gives the places between two statements where words of one end or those of the other begin."""
    between = (left.end, right.start)
    cuts = [match.end() for match in _CUT.finditer(text, *between)]
    if not cuts:
        cuts = [match.start() for match in _PREPOSITION.finditer(text, *between)][:1]
    return [cut for cut in cuts if cut != right.start] or cuts or [right.start]


def _placed(
    one: Quantity,
    own: Quantity,
    source: Reading,
    said: frozenset[str],
    asked: frozenset[str],
    taken: Sequence[Quantity],
) -> bool:
    rivals = _rivals(one, own, source)
    return _fits(own, [rival for rival in rivals if rival not in taken], source, said, asked)


def _fits(
    own: Quantity, rivals: Sequence[Quantity], source: Reading, said: frozenset[str], asked: frozenset[str]
) -> bool:
    """Tells whether the claim's words are those of the statement's own stretch and not of a rival's."""
    here = _words(own, source, [own, *rivals])
    for rival in rivals:
        there = _words(rival, source, [own, *rivals])
        later = rival.start > own.start
        judged = _taken(here, there, said, later)
        if judged is None:
            judged = _taken(here, there, said | asked, later)
        if judged:
            return False
    return True


def _words(own: Quantity, source: Reading, among: Sequence[Quantity]) -> list[str]:
    """Gives the marks in a statement's own stretch, or in the one before where its own has none.

    Another amount ends the stretch, whatever it measures.
    """
    start, end = _stretch(source, own, among)
    if own.kind == "number":
        later = [one.start for one in source.quantities if one.kind == "number" and one.start >= own.end]
        end = min([end, *later])
    found = [mark for at, mark in marks(source) if start <= at < end and not own.start <= at < own.end]
    before = [one for one in source.quantities if one.kind == own.kind and one.end <= own.start]
    if not found and before:
        return _words(before[-1], source, [*among, before[-1]]) if before[-1] is not own else found
    return found


def _taken(here: list[str], there: list[str], said: frozenset[str], later: bool) -> bool | None:
    """Tells whether a rival's words are used in the place of this statement's; None where neither's are.

    Words of an earlier stretch carry over to a later one that leaves them out,
    never the other way round.
    """
    told: bool | None = None
    for tag, a, b, c, d in SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        theirs = [mark for mark in there[c:d] if known(mark, said) and not known(mark, frozenset(here))]
        ours = [mark for mark in here[a:b] if known(mark, said) and not known(mark, frozenset(there))]
        if tag in {"replace", "insert"} and theirs and (later or (tag == "replace" and not ours)):
            return True
        if ours:
            told = False
    return told


def _side(claim: Reading, one: Quantity, source: Reading, own: Quantity, question: Reading) -> bool:
    """Tells whether a statement is where the source has it: what was left, what was reached, or how far it went."""
    said, given = sided(claim.text, one.start), sided(source.text, own.start)
    said = said if said or claim.content else sided(question.text, len(question.text))
    if given == "from" and any(sided(source.text, other.start) == "to" for other in source.quantities):
        return said == "from"
    moment = one.kind in {"date", "time", "weekday"}
    if not given and moment:
        return not bounded(claim.text, one.start)
    return not said or not given or said == given or (moment and (said, given) == ("by", "to"))


def mixed(claim: Reading, source: Reading) -> bool:
    """Tells whether a claim gives one clause's subject what the source says of another clause's."""
    texts = _clauses(source.text)
    if len(texts) < 2:
        return False
    clauses = [_clause(text) for text in texts]
    for clause in clauses:
        others = [other for other in clauses if other is not clause]
        elsewhere = frozenset[str]().union(*(other.stems for other in others))
        told = any(known(mark, claim.stems) and not _said_of(mark, elsewhere) for mark in clause.stems - clause.subject)
        if claim.quantities:
            told = _stated(claim, clause.quantities, [each for other in others for each in other.quantities])
        speaking = [other for other in others if other.stems - other.subject or other.named or other.quantities]
        rivals = [mark for other in speaking for mark in other.subject - clause.stems]
        if told and clause.subject and not _any(clause.subject, claim.stems) and _any(rivals, claim.stems):
            return True
    return False


def _stated(claim: Reading, here: Sequence[Quantity], there: Sequence[Quantity]) -> bool:
    """Tells whether a claim has an exact statement of one clause that no other clause has."""
    return any(
        any(carries(one, each) for one in here) and not any(carries(one, each) for one in there)
        for each in claim.quantities
    )


def _said_of(mark: str, elsewhere: frozenset[str]) -> bool:
    return known(mark, elsewhere) or bool(contrasts().get(mark, frozenset()) & elsewhere)


@dataclass(frozen=True, slots=True)
class _Clause:
    stems: frozenset[str]
    subject: frozenset[str]
    quantities: tuple[Quantity, ...]
    named: frozenset[str]


@lru_cache(maxsize=4096)
def _clause(text: str) -> _Clause:
    reading = read(text)
    named = frozenset(word.stem for word in reading.content if word.capital)
    return _Clause(reading.stems, claims.subject(text) | named, reading.quantities, reading.names)


def _any(stems: Iterable[str], said: frozenset[str]) -> bool:
    return any(known(mark, said) for mark in stems)


def _clauses(text: str) -> list[str]:
    """Cuts a sentence where a clause with a subject of its own begins."""
    cuts = [0, *(match.end() for match in _CLAUSE.finditer(text)), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]
