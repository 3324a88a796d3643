"""A true number for another question: what a cell, a label, a clause or a title says of its number."""

import pytest

from quorra.agent.reading.sentences import sources
from quorra.agent.verifiers.verify import Verifier
from tests.agent.passages import hit

BOATS = (
    "| Boat | Length | Beam | Crew max |\n|---|---|---|---|\n| Wren | 6.7 m | 2.3 m | 5 |\n| Teal | 4.2 m | 1.6 m | 3 |"
)
LINE = "- Internet: minimum term 24 months, notice 4 weeks. Ordered on 12 January 2026, connected on 27 February 2026."
LEASE = "The lease runs until 31 December 2028 and notice is three months. Repairs are done by Tom; Mira pays them."
REGATTA = "Last year 34 boats entered, this year 41. Flowering began on 9 June and was over on 20 June."
MINUTES = "Next meeting: 6 May 2026, 19:30, in the clubhouse."
HITS = (
    hit("club/boats.md", "Boats", BOATS),
    hit("home/line.md", "Contracts", LINE),
    hit("home/lease.md", "Flat", LEASE),
    hit("club/year.md", "Year", REGATTA),
    hit("club/minutes.md", "Minutes, 11 March 2026", MINUTES),
)


def stands(question: str, sentence: str) -> bool:
    return isinstance(Verifier(question, sources(HITS)).check(sentence), list)


@pytest.mark.parametrize(
    ("question", "truth", "lie"),
    [
        ("How long is Wren?", "Wren is 6.7 metres long.", "Wren is 2.3 m long."),
        ("What is the beam of Teal?", "Teal has a beam of 1.6 m.", "Teal has a beam of 2.3 m."),
        ("How many people can Wren take?", "Wren takes a crew of five at most.", "Wren takes a crew of three at most."),
        ("How long is the notice on the internet?", "The notice is 4 weeks.", "The notice is 24 months."),
        (
            "When was the internet connected?",
            "It was connected on 27 February 2026.",
            "It was connected on 12 January 2026.",
        ),
        ("How long does the lease run?", "The lease runs until 31 December 2028.", "The lease runs for three months."),
        ("Who pays the repairs?", "Mira pays them.", "Tom pays the repairs."),
        ("How many boats entered this year?", "This year, 41 boats entered.", "This year 34 boats entered."),
        ("When did the flowering begin?", "Flowering began on 9 June.", "Flowering began on 20 June."),
        ("When is the next meeting?", "The next meeting is on 6 May 2026.", "The next meeting is on 11 March 2026."),
    ],
)
def test_a_number_stands_for_what_is_said_of_it(question, truth, lie):
    assert stands(question, truth)
    assert not stands(question, lie)
