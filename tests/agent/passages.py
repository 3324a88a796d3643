"""Made-up passages, as a search gives them, and readings of them."""

import re
from collections.abc import Iterable

from quorra.agent.reading.sentences import sources
from quorra.agent.verifiers.verify import Bound, Unbound, Verifier
from quorra.index.found import Found, Hit, Ranks

BOILER = (
    "The boiler is an AX-20 with the serial number 88-1423. It runs at 1.5 bar when cold. "
    "Brightwell Heating services it each May, and the last service cost 96 euros. "
    "The filter was changed on 12 May 2026 by Mira."
)
CAR = (
    "The van is blue. Its front tyres take 2.4 bar and the rear tyres 2.7 bar. "
    "The inspection is due in March 2027. The van is not insured for towing a trailer."
)
BINS = "Paper bins go out every second Thursday at 7:30. Never put glass in the paper bin."
LISBON = (
    "We fly to Lisbon on 3 October 2026 at 6:45. The flat costs 780 euros for 6 nights. Breakfast is not included. "
    "Mira lends Tom the camera. Visitors must sign the book. The lock probably sticks."
)


def hit(path: str, title: str, text: str, score: float = 1.0) -> Hit:
    lines = (1, 1 + text.count("\n"))
    return Hit(path, title, lines, "c" * 40, "b" * 40, text, score, Ranks(1, 1), title)


HITS = (
    hit("household/boiler.md", "Boiler", BOILER),
    hit("household/car.md", "Van", CAR),
    hit("household/bins.md", "Bins", BINS),
    hit("trips/lisbon.md", "Lisbon", LISBON),
)


def found(hits: Iterable[Hit] = HITS) -> Found:
    return Found("c" * 40, 0, 0, tuple(hits))


def check(question: str, sentence: str, before: str = "") -> list[Bound] | Unbound:
    return Verifier(question, sources(HITS)).check(sentence, before)


def stands(question: str, sentence: str) -> bool:
    return isinstance(check(question, sentence), list)


def bare(answer: str) -> str:
    """The words of an answer without its citation marks."""
    return re.sub(r"\s*\[\d+\]", "", answer)
