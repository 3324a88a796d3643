"""What carries a reply is told in time, whatever notes and models write."""

from time import perf_counter

import pytest

from quorra.agent.asking import carried
from quorra.index.found import Hit, Ranks

PRESSURE = "The boiler pressure should stay at 1.4 bar."


def hit(text: str) -> Hit:
    return Hit("boiler.md", "", (1, text.count("\n") + 1), None, "b" * 40, text, 0.0, Ranks(None, None))


def test_each_sentence_is_told_with_what_carries_it():
    text = f"{PRESSURE} It was made in Kiel in 1987. Shall I look further?"
    claims, citations = carried.bind(text, [hit(PRESSURE)])
    assert claims is not None
    assert [(text[claim.start : claim.end], claim.citations) for claim in claims] == [
        (PRESSURE, (1,)),
        ("It was made in Kiel in 1987.", ()),
    ]
    assert [one.quote for one in citations] == [PRESSURE]


def test_where_nothing_was_looked_up_nothing_is_told():
    assert carried.bind(PRESSURE, []) == (None, ())


@pytest.mark.parametrize("text", ["1" * 20_000, "12 March 2027 and " * 900, "A. " * 6000, "1-2-3-" * 3000])
def test_no_note_and_no_reply_holds_it_up(text: str):
    start = perf_counter()
    carried.bind(text, [hit(PRESSURE)])
    carried.bind(PRESSURE, [hit(text)])
    assert perf_counter() - start < 20  # seconds without the bounds: minutes
