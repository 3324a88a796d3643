"""Answers in the notes' own words: the one to three sentences that answer, verbatim."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from quorra.agent import cues
from quorra.agent.reading.reader import Evidence, Nearness, evidence, read
from quorra.agent.reading.sentences import Source, split
from quorra.agent.reading.words import Word
from quorra.agent.verifiers import about
from quorra.index.found import Hit
from quorra.inference.protocol import Embedder

MOST = 3
_WEIGHTS = {
    "alone": 0.27, "asking": 0.17, "onward": 0.35, "back": 0.20, "words": 0.19, "rare": 0.20,
    "rank": 0.07, "inexact": -0.06, "cued": 0.12, "meta": -0.23,
}  # fmt: skip
"""Chosen by listwise logistic regression on made-up households and the odd half of the handbook's questions."""
_CLOSER = 24
_FLOOR = 0.25
_UNSEEN = 2 / 3
_HALF = 0.5
_DOUBT = 0.4
"""The log-odds above which nothing is quoted."""
_NEAR_BEST = 0.75
_ASKING = re.compile(r"\?|\b(?:what|which|who|whom|whose|where|when|how|why)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence with how well it answers.

    ``meaning`` is a cosine, ``words`` the share of the question's key words that
    it carries; ``exact`` and ``cued`` are None where the question asks for no such
    thing.
    """

    source: Source
    meaning: float
    words: float
    exact: bool | None
    cued: bool | None
    score: float


@dataclass(frozen=True, slots=True)
class Quoted:
    """The chosen sentences, best first; empty where nothing answers, with the nearest in ``nearest``."""

    chosen: tuple[Source, ...]
    nearest: tuple[Source, ...]


def choose(question: str, sources: Sequence[Source], hits: Sequence[Hit], embedder: Embedder) -> Quoted:
    """Chooses what to quote for a question."""
    usable = [one for one in sources if not one.heading and len(read(one.plain).content) > 1]
    if not usable:
        return Quoted((), ())
    near = Nearness(embedder)
    known = [evidence([read(one.plain)], read(one.about)) for one in usable]
    ranked = _rank(question, usable, known, hits, near)
    best = [one for one in ranked[:MOST] if one.score >= _NEAR_BEST * ranked[0].score]
    if not _answers(question, best, usable, known, near):
        return Quoted((), tuple(one.source for one in ranked[:MOST]))
    return Quoted(tuple(one.source for one in best), ())


def _rank(
    question: str, sources: Sequence[Source], known: Sequence[Evidence], hits: Sequence[Hit], near: Nearness
) -> list[Scored]:
    """Scores the sentences whose meaning or words come close, best first."""
    asked = about.ask(question)
    shares = _shares(asked.parts[0].keys, known, near)
    alone = _meanings([f"{hits[one.hit].title}: {one.plain}" for one in sources], question, near)
    first = sorted(range(len(sources)), key=lambda at: -(alone[at][0] + shares[at][0]))[:_CLOSER]
    onward = dict(zip(first, _meanings([_onward(sources, at) for at in first], question, near), strict=True))
    back = dict(zip(first, _meanings([_back(sources[at]) for at in first], question, near), strict=True))
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    scored = []
    for at in first:
        source = sources[at]
        exact, cued = cues.exact(asked, source), cues.cued(question, source)
        values = {
            "alone": alone[at][0],
            "asking": alone[at][1],
            "onward": onward[at][0],
            "back": back[at][0],
            "words": shares[at][0],
            "rare": shares[at][1],
            "rank": hits[source.hit].score / top,
            "inexact": float(exact is False),
            "cued": float(bool(cued)),
            "meta": float(cues.meta(source)),
        }
        score = sum(_WEIGHTS[name] * value for name, value in values.items())
        scored.append(Scored(source, sum(alone[at]) / 2, shares[at][0], exact, cued, score))
    return sorted(scored, key=lambda one: -one.score)


def _shares(keys: Sequence[Word], known: Sequence[Evidence], near: Nearness) -> list[tuple[float, float]]:
    """Gives the share of the key words that each sentence carries, plain and with rare words weighing more."""
    if not keys:
        return [(0.0, 0.0)] * len(known)
    carried = [[near.asks(key, one) for key in keys] for one in known]
    weights = [log(1 + len(known) / (1 + sum(row[at] for row in carried))) for at in range(len(keys))]
    whole = sum(weights) or 1.0
    rare = [sum(weight for weight, has in zip(weights, row, strict=True) if has) / whole for row in carried]
    return [(sum(row) / len(keys), share) for row, share in zip(carried, rare, strict=True)]


def _meanings(texts: Sequence[str], question: str, near: Nearness) -> list[tuple[float, float]]:
    """Compares texts with the whole question and with the sentence of it that asks."""
    asking = [text for text in split(question) if _ASKING.search(text)]
    wanted = near.vectors([question, asking[-1] if asking else question])
    return [(float(one), float(other)) for one, other in near.vectors(list(texts)) @ wanted.T]


def _onward(sources: Sequence[Source], at: int) -> str:
    """Gives a sentence with the one after it in its passage."""
    follows = at + 1 < len(sources) and sources[at + 1].hit == sources[at].hit
    return f"{sources[at].plain} {sources[at + 1].plain}" if follows else sources[at].plain


def _back(source: Source) -> str:
    """Gives a sentence after the one before it in its passage."""
    return f"{source.before} {source.plain}".strip()


def _answers(
    question: str, best: Sequence[Scored], sources: Sequence[Source], known: Sequence[Evidence], near: Nearness
) -> bool:
    """Tells whether the best sentences may be an answer at all.

    They are none where the question names someone or something that no passage
    knows, where most of its words are unknown, or where it asks for a number, a
    date, a person or a count of things that none of them holds.
    """
    if max(one.meaning for one in best) < _FLOOR or cues.strangers(question, sources):
        return False
    keys = about.ask(question).parts[0].keys
    unseen = len(_unseen(keys, known, near)) / len(keys) if keys else 0.0
    if unseen > _UNSEEN or (unseen >= _HALF and max(one.meaning for one in best) < _HALF):
        return False
    if cues.personal(question) and not any(one.cued for one in best):
        return False
    if keys and not unseen and _doubt(question, keys, best, near) > _DOUBT:
        return False
    return any(one.exact is not False and cues.counted(question, one.source) for one in best)


def _doubt(question: str, keys: Sequence[Word], best: Sequence[Scored], near: Nearness) -> float:
    """Weighs whether a question in the vault's own words is left without an answer.

    A key word that no chosen sentence carries tells against them the more, the
    closer they come to the question without that word.
    """
    evidences = [evidence([read(one.source.plain)], read(one.source.about)) for one in best]
    covered = max(_covered(keys, one, near) for one in evidences)
    strain = min(_strain(question, keys, one, scored, near) for one, scored in zip(evidences, best, strict=True))
    return 8.16 - 5.2 * best[0].score - 6.2 * covered + 13.6 * strain


def _covered(keys: Sequence[Word], carried: Evidence, near: Nearness) -> float:
    """Gives how well the key words are covered on average, one that is not by the word nearest to it."""
    forms = sorted({*carried.own.values(), *carried.around})
    rows = near.vectors([*(key.lower for key in keys), *forms])
    closest = (rows[: len(keys)] @ rows[len(keys) :].T).max(axis=1)
    shares = [1.0 if near.asks(key, carried) else float(one) for key, one in zip(keys, closest, strict=True)]
    return sum(shares) / len(keys)


def _strain(question: str, keys: Sequence[Word], carried: Evidence, scored: Scored, near: Nearness) -> float:
    """Gives how much closer to the sentence the question comes without the key words that it lacks."""
    lacking = [key for key in keys if not near.asks(key, carried)]
    shorter = [" ".join((question[: key.start] + question[key.end :]).split()) for key in lacking]
    rows = near.vectors([scored.source.plain, question, *shorter])
    close = rows[1:] @ rows[0]
    return float(sum(max(0.0, one - close[0]) for one in close[1:]))


def _unseen(keys: Sequence[Word], known: Sequence[Evidence], near: Nearness) -> list[Word]:
    return [key for key in keys if not any(near.asks(key, carried) for carried in known)]
