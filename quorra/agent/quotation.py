"""Answers in the notes' own words: the one to three sentences that answer, verbatim."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from quorra.agent.reading.reader import Nearness, known, read
from quorra.agent.reading.sentences import Source
from quorra.agent.reading.words import words
from quorra.agent.verifiers import about
from quorra.inference.protocol import Embedder

MOST = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence with how well it answers; ``meaning`` is a cosine, ``words`` the share of key words it carries."""

    source: Source
    meaning: float
    words: float
    typed: bool
    score: float


@dataclass(frozen=True, slots=True)
class Quoted:
    """The chosen sentences, best first; empty where nothing answers, with the nearest in ``near``."""

    chosen: tuple[Source, ...]
    near: tuple[Source, ...]


def choose(question: str, sources: Sequence[Source], embedder: Embedder) -> Quoted:
    """Chooses what to quote for a question."""
    ranked = rank(question, sources, embedder)
    if not ranked or not _answers(ranked[0]):
        return Quoted((), tuple(one.source for one in ranked[:MOST]))
    best = ranked[0]
    chosen = [one.source for one in ranked[:MOST] if one.score >= 0.9 * best.score]
    return Quoted(tuple(chosen), ())


def rank(question: str, sources: Sequence[Source], embedder: Embedder) -> list[Scored]:
    """Scores every sentence, best first."""
    usable = [one for one in sources if not one.heading and len(read(one.plain).content) > 1]
    if not usable:
        return []
    near = Nearness(embedder)
    vectors = near.vectors([question, *(f"{one.about.split(' | ')[0]}: {one.plain}" for one in usable)])
    cosines = vectors[1:] @ vectors[0]
    weights = _weights(question, usable)
    scored = [_score(question, one, float(cosine), weights) for one, cosine in zip(usable, cosines, strict=True)]
    return sorted(scored, key=lambda one: -one.score)


def _weights(question: str, sources: Sequence[Source]) -> dict[str, float]:
    keys = {word.stem for part in about.ask(question).parts for word in part.keys}
    texts = [_stems(one) for one in sources]
    counts = {key: sum(known(key, text) for text in texts) for key in keys}
    return {key: log(1 + len(texts) / (1 + count)) for key, count in counts.items()}


def _score(question: str, source: Source, cosine: float, weights: dict[str, float]) -> Scored:
    stems = _stems(source)
    total = sum(weights.values())
    share = sum(weight for key, weight in weights.items() if known(key, stems)) / total if total else 0.0
    parts = about.ask(question).parts
    typed = any(part.wants and about.answers(part, read(source.plain)) for part in parts)
    return Scored(source, cosine, share, typed, cosine + 0.3 * share + 0.1 * typed)


def _answers(best: Scored) -> bool:
    return best.meaning >= 0.35 and best.words >= 0.3


def _stems(source: Source) -> frozenset[str]:
    return frozenset(word.stem for text in (source.plain, source.about) for word in words(text))
