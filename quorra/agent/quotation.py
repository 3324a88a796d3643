"""Answers in the notes' own words: the one to three sentences that answer, verbatim."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quorra.agent import cues
from quorra.agent.reading.reader import Evidence, Nearness, evidence, read
from quorra.agent.reading.sentences import Source, split
from quorra.agent.reading.words import Word
from quorra.agent.verifiers import about
from quorra.index.found import Hit
from quorra.inference.protocol import Embedder

MOST = 3
_WEIGHTS = {"meaning": 1.0, "words": 0.3, "exact": 0.1, "cued": 0.08, "rank": 0.2, "meta": -0.3}
_FLOOR = 0.33
_UNSEEN = 2 / 3
_HALF = 0.5
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
    asked = about.ask(question)
    keys = asked.parts[0].keys
    meanings = _meanings(question, sources, hits, near)
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    scored = []
    for source, carried, meaning in zip(sources, known, meanings, strict=True):
        share = sum(near.asks(key, carried) for key in keys) / len(keys) if keys else 0.0
        exact, cued = cues.exact(asked, source), cues.cued(question, source)
        values = {
            "meaning": meaning,
            "words": share,
            "exact": float(bool(exact)),
            "cued": float(bool(cued)),
            "rank": hits[source.hit].score / top,
            "meta": float(cues.meta(source)),
        }
        score = sum(_WEIGHTS[name] * value for name, value in values.items())
        scored.append(Scored(source, values["meaning"], share, exact, cued, score))
    return sorted(scored, key=lambda one: -one.score)


def _meanings(question: str, sources: Sequence[Source], hits: Sequence[Hit], near: Nearness) -> list[float]:
    """Compares each sentence under its title with the whole question and with the sentence of it that asks."""
    asking = [text for text in split(question) if _ASKING.search(text)]
    wanted = near.vectors([question, asking[-1] if asking else question])
    texts = [f"{hits[one.hit].title}: {one.plain}" for one in sources]
    return [float(one) for one in near.vectors(texts) @ wanted.mean(axis=0)]


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
    return any(one.exact is not False and cues.counted(question, one.source) for one in best)


def _unseen(keys: Sequence[Word], known: Sequence[Evidence], near: Nearness) -> list[Word]:
    return [key for key in keys if not any(near.asks(key, carried) for carried in known)]
