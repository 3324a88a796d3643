"""Binds every sentence of a draft to the one passage that carries it, or says why none does.

A claim stands only if one source sentence carries all its numbers with their
units, its dates, names and identifiers, says yes or no to the same thing,
attaches each number to the same words, and speaks of what was asked; where
another sentence fits the question's own words better, the claim falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import Evidence, Nearness, Reading, evidence, read
from quorra.agent.reading.sentences import Source
from quorra.agent.reading.words import Word, siblings
from quorra.agent.verifiers import about, claims, polarity, slots
from quorra.agent.verifiers.about import Part, Question
from quorra.agent.verifiers.claims import Claim
from quorra.inference.protocol import Embedder

_CLOSE = 0.8


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim with the source sentence that carries it; ``whole`` where the sentence above it is needed too."""

    claim: str
    source: Source
    whole: bool


@dataclass(frozen=True, slots=True)
class Unbound:
    """A sentence that nothing carries, with the reason in words that a model can act on."""

    sentence: str
    reason: str


class Verifier:
    """Checks drafts for one question against the sentences that were found for it."""

    def __init__(self, question: str, sources: Sequence[Source], embedder: Embedder | None) -> None:
        self._question: Question = about.ask(question)
        self._sources = [_Read(one) for one in sources if not one.heading]
        self._near = Nearness(embedder)

    def check(self, sentence: str, before: str = "") -> list[Bound] | Unbound:
        """Binds one sentence of a draft; ``before`` is the sentence that stands ahead of it."""
        said, text = claims.verdict(claims.clean(sentence))
        if not read(text).content and not read(text).quantities:
            return Unbound(sentence, "it says nothing that a passage could carry")
        found, reason = self._bind(text, before)
        if not found:
            return Unbound(sentence, reason)
        if said and self._wrong(said, found):
            return Unbound(sentence, f"“{said}” does not follow from the passage")
        return found

    def _bind(self, text: str, before: str) -> tuple[list[Bound], str]:
        whole = self._claim(_claim(text, before))
        if isinstance(whole, Bound):
            return [whole], ""
        for pieces in claims.splittings(text):
            bound: list[Bound] = []
            previous = before
            for piece in pieces:
                one = self._claim(_claim(piece, previous))
                if isinstance(one, str):
                    break
                bound.append(one)
                previous = piece if not claims.leans(piece) else previous
            if len(bound) == len(pieces):
                return bound, ""
        return [], whole

    def _claim(self, claim: Claim) -> Bound | str:
        reading = read(claim.text)
        if not reading.content and not reading.quantities:
            return "a part of it says nothing"
        best, reason = -1.0, "no passage speaks of it"
        bound: list[tuple[float, Bound]] = []
        for one in self._sources:
            for candidate in one.windows():
                fault, fit = self._fault(claim, reading, candidate)
                if fault is None:
                    bound.append((fit, Bound(claim.text, one.source, candidate.whole)))
                elif fit > best:
                    best, reason = fit, fault
        if bound:
            return max(bound, key=lambda pair: pair[0])[1]
        return reason

    def _fault(self, claim: Claim, reading: Reading, source: "_Candidate") -> tuple[str | None, float]:
        lost = [
            one.text
            for one in reading.quantities
            if not any(carries(other, one) for other in source.reading.quantities)
        ]
        absent = _absent(reading, source)
        foreign = [word for word in reading.content if not self._near.covered(word, source.all)]
        total = len(reading.quantities) + len(reading.content) or 1
        fit = 1 - (len(lost) + len(foreign) + len(absent)) / total
        if lost:
            return f"“{lost[0]}” is not stated there", fit
        if absent:
            return f"“{absent[0]}” is not named there", fit
        if not self._tolerable(reading, foreign, source):
            return f"“{foreign[0].text}” is not in the passage", fit
        if claim.subject and not any(self._near.covered(_word(stem), source.all) for stem in claim.subject):
            return "it speaks of something else than the sentence before it", fit
        return self._meaning(reading, source), fit

    def _meaning(self, reading: Reading, source: "_Candidate") -> str | None:
        weight = frozenset(mark for _, mark in slots.marks(reading)) & frozenset(
            mark for _, mark in slots.marks(source.reading)
        )
        against = polarity.disagrees(reading.text, source.reading.text, weight)
        if against:
            return against
        wrong = slots.misplaced(reading, source.reading, self._question.reading)
        if wrong:
            return f"“{wrong}” belongs to something else there"
        return self._beside(reading, source)

    def _tolerable(self, reading: Reading, foreign: list[Word], source: "_Candidate") -> bool:
        """One word of its own is a paraphrase's right, if it is no name, not its subject, and changes the meaning little."""
        asked = evidence(self._question.reading)
        foreign = [word for word in foreign if word.stem in reading.keys and not self._near.covered(word, asked)]
        if not foreign:
            return True
        word = foreign[0]
        if (
            len(foreign) > 1
            or word.capital
            or word.stem in siblings()
            or word is reading.content[0]
            or len(reading.content) < 4
        ):
            return False
        rows = self._near.vectors([reading.text, source.reading.text])
        return float(rows[0] @ rows[1]) >= _CLOSE

    def _beside(self, reading: Reading, source: "_Candidate") -> str | None:
        """Says why a true sentence does not answer the question; None where it does."""
        reasons = [self._off(part, reading, source) for part in self._question.parts]
        return None if None in reasons else reasons[0]

    def _off(self, part: Part, reading: Reading, source: "_Candidate") -> str | None:
        missed = about.missing(part, source.all, self._near)
        if not about.about(part, missed):
            return f"the question asks about “{missed[0].text}”, that passage does not"
        if not about.answers(part, reading):
            return "it does not hold the kind of answer that is asked for"
        rival = self._better(part, missed, reading, source)
        return f"another passage speaks of “{rival}”" if rival else None

    def _better(self, part: Part, missed: list[Word], reading: Reading, source: "_Candidate") -> str | None:
        """Finds a key word that this sentence lacks and one with all its other key words has."""
        if not missed:
            return None
        lacking = {word.stem for word in missed}
        for other in self._sources:
            if other.source is source.source or not about.answers(part, other.own):
                continue
            theirs = about.missing(part, other.windows()[-1].all, self._near)
            if {word.stem for word in theirs} < lacking:
                return next(word.text for word in missed if word not in theirs)
        return None

    def _wrong(self, said: str, found: list[Bound]) -> bool:
        asked = polarity.negative(self._question.reading.text)
        source = found[0].source.plain
        unit = polarity.matching(self._question.reading.text, source, frozenset())
        opposed = polarity.opposites(list(self._question.reading.content), list(read(source).content))
        says = (unit is not None and unit.negative) ^ bool(opposed % 2)
        return (said == "yes") == (says != asked)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A source sentence, alone or with the one above it, and all that a reader knows of it."""

    source: Source
    reading: Reading
    all: Evidence
    about: Reading
    whole: bool


class _Read:
    """A source with its readings, made once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.own = read(source.plain)
        self._windows: list[_Candidate] = []

    def windows(self) -> list[_Candidate]:
        """Gives the sentence alone, and after the one above it where it leans on that."""
        if not self._windows:
            around = read(self.source.about)
            self._windows.append(_Candidate(self.source, self.own, evidence(self.own, around), around, False))
            if self.source.anaphoric:
                both = read(f"{self.source.before} {self.source.plain}")
                self._windows.append(_Candidate(self.source, both, evidence(both, around), around, True))
        return self._windows


def _claim(text: str, before: str) -> Claim:
    return Claim(text, claims.subject(before) if before and claims.leans(text) else frozenset())


def _absent(reading: Reading, source: _Candidate) -> list[str]:
    """Names and identifiers of the claim that neither the sentence nor its note's title and headings hold."""
    here = {form.removesuffix("'s") for form in source.all.forms.values()}
    return [name for name in sorted(reading.names) if name not in here]


def _word(stem: str) -> Word:
    return Word(stem, stem, stem, 0, 0)


__all__ = ["Bound", "Quantity", "Unbound", "Verifier", "replace"]
