"""Binds every sentence of a draft to the one passage that carries it, or says why none does.

A claim stands only if one source sentence carries all its numbers with their
units, its dates, names and identifiers, says yes or no to the same thing,
attaches each number to the same words, and speaks of what was asked; where
another sentence fits the question's own words better, the claim falls.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import Nearness, Reading, added, implied, known, read
from quorra.agent.reading.sentences import Source
from quorra.agent.reading.words import Word, contrasts, group, siblings, stem, words
from quorra.agent.verifiers import about, claims, polarity, roles, slots
from quorra.agent.verifiers.about import Part
from quorra.agent.verifiers.candidate import Candidate, candidates
from quorra.agent.verifiers.claims import Claim

_ABOUT = re.compile(rf"(?P<name>[A-Z][\w’']+)\s+(?:{group('aux')}|{group('verb')}|\w+s|\w+ed)\b")
_CLAUSE = re.compile(r"(?:[,;:.]|\band|\bbut)(?:\s+\w+)?\s+$")
_UNHEARD, _UNSTATED, _UNNAMED, _UNSAID, _ASKEW, _BESIDE, _AGAINST = range(7)
"""How far a claim came with a sentence: nothing of it there; its numbers not; its names not; its words not;
its words there but said of something else; carried, but no answer; every word there and said otherwise."""
_ELSE = "the passage says it of something else"
_MOST = 4


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim with the source sentence that carries it; ``whole`` where the sentence above it is needed too."""

    claim: str
    source: Source
    whole: bool


@dataclass(frozen=True, slots=True)
class Unbound:
    """A sentence that can't be served, with the reason in words that a model can act on.

    ``beside`` tells that a passage carries it, but that it answers something else.
    """

    reason: str
    beside: bool = False


class Verifier:
    """Checks drafts for one question against the sentences that were found for it."""

    def __init__(self, question: str, sources: Sequence[Source]) -> None:
        self._question = about.ask(question)
        self._candidates = [one for source in sources if not source.heading for one in candidates(source)]
        self._near = Nearness()

    def check(self, sentence: str, before: str = "") -> list[Bound] | Unbound:
        """Binds one sentence of a draft; ``before`` is the sentence that stands ahead of it."""
        said, text = claims.verdict(claims.clean(sentence))
        found = self._bind(text, before)
        if isinstance(found, _Fault):
            return Unbound(found.reason, found.depth == _BESIDE)
        if said and self._wrong(said, found):
            return Unbound(f"“{said}” does not follow from the passage")
        return found

    def _bind(self, text: str, before: str) -> "list[Bound] | _Fault":
        whole = self._claim(_claim(text, before))
        if isinstance(whole, Bound):
            return [whole]
        if whole.depth == _AGAINST:
            return whole
        for pieces in claims.splittings(text, _MOST):
            bound = self._pieces(pieces, before)
            if bound:
                return bound
        return whole

    def _pieces(self, pieces: list[str], before: str) -> list[Bound]:
        bound: list[Bound] = []
        for piece in pieces:
            reading = read(piece)
            one = self._claim(_claim(piece, before)) if len(reading.content) + len(reading.quantities) > 1 else None
            if not isinstance(one, Bound):
                return []
            bound.append(one)
            before = before if claims.leans(piece) else piece
        return bound

    def _claim(self, claim: Claim) -> "Bound | _Fault":
        reading = read(claim.text)
        if not reading.content and not reading.quantities:
            return _Fault("it says nothing that a passage could carry", _UNHEARD)
        worst = _Fault("no passage speaks of it", _UNHEARD)
        for one in sorted(self._candidates, key=lambda one: -_overlap(reading, one)):
            fault = self._fault(claim, reading, one)
            if fault is None:
                return Bound(claim.text, one.source, one.whole)
            worst = max(worst, fault, key=lambda fault: fault.depth)
        return worst

    def _fault(self, claim: Claim, reading: Reading, one: Candidate) -> "_Fault | None":
        """Says why one sentence does not carry a claim; None where it does."""
        unsaid = self._unsaid(claim, reading, one)
        if unsaid:
            return unsaid
        unknown = [word for word in reading.content if not self._says(word, one)]
        wrong = _ELSE if self._usurped(reading, one) else self._meaning(reading, one)
        if wrong:
            return _Fault(wrong, _ASKEW if unknown else _AGAINST)
        faults = [self._off(part, reading, unknown, one) for part in self._question.parts]
        return None if None in faults else max((each for each in faults if each), key=lambda each: each.depth)

    def _unsaid(self, claim: Claim, reading: Reading, one: Candidate) -> "_Fault | None":
        """Names what a claim states exactly and a sentence does not."""
        if one.whole and not _reaches(reading, one):
            return _Fault("no passage speaks of it", _UNHEARD)
        lost = [each for each in reading.quantities if not self._stated(each, reading, one)]
        lost = lost or _repeated(reading, one)
        if lost:
            return _Fault(f"“{lost[0].text}” is not stated there", _UNSTATED)
        absent = [name for name in sorted(reading.names) if not _named(name, one)]
        if absent:
            return _Fault(f"“{absent[0]}” is not named there", _UNNAMED)
        if claim.subject and not any(self._near.says(_word(stem), one.all) for stem in claim.subject):
            return _Fault("it speaks of something else than the sentence before it", _UNSAID)
        return None

    def _says(self, word: Word, one: Candidate) -> bool:
        """Tells whether a sentence has a claim's word, or what the question means by it."""
        if self._near.says(word, one.all) or _turned(word, one):
            return True
        alike = siblings().get(word.stem, frozenset()) & frozenset(one.all.own)
        return not alike and word.stem in self._question.reading.stems and self._near.asks(word, one.all)

    def _stated(self, each: Quantity, reading: Reading, one: Candidate) -> bool:
        """Tells whether the source states a quantity; a unit may be left out only where other words tell it."""
        if _titled(each, one) or _spanned(each, one.reading.quantities):
            return True
        held = [other for other in one.reading.quantities if carries(other, each)]
        if each.kind != "number" or each.unit or any(not other.unit for other in held):
            return bool(held)
        told = reading.stems | self._question.reading.stems | {word.stem for word in words(self._question.reading.text)}
        return any(implied([other]) & told or stem(other.unit) in told for other in held)

    def _usurped(self, reading: Reading, one: Candidate) -> bool:
        """Tells whether the claim is about what only the note's title names, the sentence about another thing."""
        topic = [word for word in reading.content if not known(word.stem, frozenset(one.all.own))]
        lent = [word for word in topic if word.stem in one.all.around]
        asked = reading.stems | self._question.reading.stems
        return bool(lent and one.subject) and not any(known(stem, asked) for stem in one.subject)

    def _meaning(self, reading: Reading, one: Candidate) -> str | None:
        if _same(reading.text, one.source.plain):
            return None
        if " | " not in one.own.text and roles.turned(reading.text, one.own.text):
            return "it turns the relation round"
        against = polarity.disagrees(reading.text, one.reading.text)
        if against:
            return against
        if slots.mixed(reading, one.reading):
            return _ELSE
        wrong = slots.misplaced(reading, one.reading, self._question.reading)
        return f"“{wrong}” belongs to something else there" if wrong else None

    def _off(self, part: Part, reading: Reading, unknown: list[Word], one: Candidate) -> "_Fault | None":
        """Says why a claim does not answer one part of the question; None where it does."""
        foreign = [word for word in unknown if _tells(word, reading)]
        if foreign:
            return _Fault(f"“{foreign[0].text}” is not in the passage", _UNSAID)
        said = [word for word in reading.content if word not in unknown]
        carried = added(one.all, said)
        missed = about.missing(part, carried, self._near)
        if not about.about(part, missed, carried):
            return _Fault(f"the question asks about “{missed[0].text}”, that passage does not", _BESIDE)
        if not about.answers(part, reading):
            return _Fault("it does not hold the kind of answer that is asked for", _BESIDE)
        if _stranger(part, reading) or (not part.polar and polarity.relabelled(part.text, one.own.text)):
            return _Fault("it speaks of someone else than the question", _BESIDE)
        rival = self._better(part, missed, one)
        return _Fault(f"another passage speaks of “{rival}”", _BESIDE) if rival else None

    def _better(self, part: Part, missed: list[Word], one: Candidate) -> str | None:
        """Finds a key word that this sentence lacks and that one with all its other key words has."""
        lacking = {word.stem for word in missed}
        for other in self._candidates if missed else ():
            if other.source is one.source or not about.answers(part, other.own):
                continue
            theirs = {word.stem for word in about.missing(part, other.all, self._near)}
            if theirs < lacking:
                return next(word.text for word in missed if word.stem not in theirs)
        return None

    def _wrong(self, said: str, found: list[Bound]) -> bool:
        """Tells whether a yes or no goes against what the sentence behind it says of the question."""
        claim, question = found[0].claim, self._question.reading.text
        flips = polarity.negative(question) + polarity.negative(claim)
        flips += polarity.opposites(claim, question)
        return not polarity.limited(claim) and (said == "yes") == bool(flips % 2)


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a sentence does not carry a claim; ``depth`` tells how far it came."""

    reason: str
    depth: int


def _claim(text: str, before: str) -> Claim:
    return Claim(text, claims.subject(before) if before and claims.leans(text) else frozenset())


def _overlap(reading: Reading, one: Candidate) -> float:
    shared = len(reading.stems & frozenset(one.all.own)) + 2 * sum(
        any(carries(other, each) for other in one.reading.quantities) for each in reading.quantities
    )
    return shared - 0.5 * one.whole


def _stranger(part: Part, reading: Reading) -> bool:
    """Tells whether the question asks about one name and the claim, in the same voice, is about another."""
    asked = {word.stem for word in part.keys if word.capital and word.start > 0}
    about_ = _ABOUT.match(reading.text)
    alike = bool(roles.passives(part.text)) == bool(roles.passives(reading.text))
    if not asked or about_ is None or not read(about_["name"]).content or not alike or about.person(part.text):
        return False
    return not {stem(about_["name"])} & read(part.text).stems and not any(
        word.stem in asked for word in reading.content if _CLAUSE.search(reading.text[: word.start])
    )


def _titled(each: Quantity, one: Candidate) -> bool:
    """Tells whether a title states a quantity, and the sentence has none of its own in that place."""
    bare = each.kind == "number" and not each.unit
    rivals = [other for other in one.own.quantities if other.dimension == each.dimension and not bare]
    return each.text.lower() in one.source.about.lower() and not rivals


def _spanned(each: Quantity, held: Sequence[Quantity]) -> bool:
    """Tells whether a range is stated by its two ends, or one of its ends by the range."""
    if len(each.ends) == 2:
        return all(any(carries(other, end) for other in held) for end in each.ends)
    return bool(each.bound) and any(carries(end, each) for other in held if len(other.ends) == 2 for end in other.ends)


def _reaches(reading: Reading, one: Candidate) -> bool:
    """Tells whether a claim speaks of the sentence itself, not only of the one above it."""
    if reading.quantities:
        return any(carries(other, each) for each in reading.quantities for other in one.own.quantities)
    return bool(reading.keys & one.own.keys)


def _repeated(reading: Reading, one: Candidate) -> list[Quantity]:
    """Gives statements that a claim makes twice and the source once, where the source has another in that place."""
    found = []
    for each in reading.quantities:
        said = sum(other.mark == each.mark for other in reading.quantities)
        held = [other for other in one.reading.quantities if other.kind == each.kind]
        if said > 1 and sum(carries(other, each) for other in held) < said <= len(held):
            found.append(each)
    return found


def _named(name: str, one: Candidate) -> bool:
    here = {form.removesuffix("'s") for form in one.all.own.values()}
    return name in here or name in one.source.about.lower()


def _tells(word: Word, reading: Reading) -> bool:
    """Tells whether a word adds something: all but the light ones do, and of these the members of a kind."""
    return word.stem in reading.keys or word.stem in siblings()


def _turned(word: Word, one: Candidate) -> bool:
    """Tells whether the source has a word's opposite; whether that is right is a matter of polarity."""
    return bool(contrasts().get(word.stem, frozenset()) & frozenset(one.reading.stems))


def _same(one: str, other: str) -> bool:
    return one.strip(" .!").casefold() == other.strip(" .!").casefold()


def _word(stem: str) -> Word:
    return Word(stem, stem, stem, 0, 0)
