"""A source sentence as the verifier weighs it: alone, or after the one above that it leans on."""

from dataclasses import dataclass

from quorra.agent.reading.reader import Evidence, Reading, evidence, read
from quorra.agent.reading.sentences import Source
from quorra.agent.verifiers import claims


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may carry a claim: ``reading`` is the text looked at, ``own`` the sentence alone.

    ``all`` is every word that a reader knows there; ``whole`` tells that the sentence
    above belongs to it. ``subject`` is what the sentence itself names as its subject.
    """

    source: Source
    reading: Reading
    own: Reading
    all: Evidence
    whole: bool
    subject: frozenset[str]


def candidates(source: Source) -> list[Candidate]:
    """Gives a sentence alone, and after the one above it where it leans on that."""
    own, around = read(source.told), read(source.about)
    subject = frozenset() if claims.leans(source.plain) or claims.orders(source.plain) else claims.subject(source.plain)
    found = [Candidate(source, own, own, evidence([own], around), False, subject)]
    if source.anaphoric:
        both = read(f"{source.before} {source.plain}")
        found.append(Candidate(source, both, own, evidence([both], around), True, frozenset()))
    return found
