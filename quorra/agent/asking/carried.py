"""Which sentences of a reply the passages that were looked up carry; what nothing carries is told as such."""

from collections.abc import Sequence

from quorra.agent.asking import citing
from quorra.agent.asking.answer import Citation, Claim
from quorra.agent.asking.citing import Span
from quorra.agent.reading.sentences import sources, spans
from quorra.agent.verifiers import claims
from quorra.agent.verifiers.verify import Unbound, Verifier
from quorra.index.found import Hit

_MOST, _HELD, _LONGEST = 40, 1000, 300
"""Sentences of a reply and of passages that are read, and characters of one, with whose square the time grows."""


def bind(text: str, hits: Sequence[Hit]) -> tuple[tuple[Claim, ...] | None, tuple[Citation, ...]]:
    """Gives each sentence of a reply with what carries it; None where nothing was looked up.

    Whether a sentence speaks of what was asked is not looked at: in a conversation much else is said as well.
    """
    if not hits:
        return None, ()
    held = [source for source in sources(hits) if len(source.text) <= 2 * _LONGEST]
    verifier = Verifier("", held[:_HELD])
    numbers: dict[Span, int] = {}
    found, before = [], ""
    for start, end in spans(text)[:_MOST]:
        sentence = text[start:end]
        short = len(sentence) <= _LONGEST
        if short and (claims.hollow(sentence) or sentence.rstrip().endswith("?")):
            continue
        bound = verifier.check(sentence, before) if short else ()
        before = sentence
        carried = () if isinstance(bound, Unbound) else bound
        places = dict.fromkeys(citing.span(one.source, one.whole) for one in carried)
        marks = tuple(numbers.setdefault(place, len(numbers) + 1) for place in places)
        found.append(Claim(start, end, marks))
    return tuple(found), tuple(citing.quote(number, place, hits) for place, number in numbers.items())
