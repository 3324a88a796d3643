"""Answers in the notes' own words: one sentence where it surely answers, up to three where it may be another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp

import numpy as np
import numpy.typing as npt

from quorra.agent import cues, shown
from quorra.agent.reading.quantity import carries
from quorra.agent.reading.reader import Evidence, Nearness, evidence, known, read
from quorra.agent.reading.sentences import Source, plain
from quorra.agent.reading.words import Word
from quorra.agent.shown import Piece
from quorra.agent.verifiers import about
from quorra.agent.verifiers.about import Question
from quorra.index.found import Hit
from quorra.inference.protocol import Embedder

Column = npt.NDArray[np.float32]
MOST = 3
_WEIGHTS = {
    "title": 4.5, "asking": 2.7, "onward": 4.6, "back": 3.5, "passage": 0.6, "heading": 1.1, "rank": 1.1,
    "carried": 3.2, "rare": 2.2, "said": 0.5, "rarest": 0.5, "numbers": 2.0,
    "exact": 2.4, "inexact": -1.1, "cued": 1.5, "uncued": -0.4, "does": 1.0, "meta": -3.7, "short": -1.6,
}  # fmt: skip
"""Listwise logistic regression on the handbook's odd questions, as many on other vaults, and made-up households.

Each weight was drawn to a guess made beforehand; left out are the questions that
the figures are reported on.
"""
_CLOSER = 24
_SURE, _LEAST = 0.95, 0.02
_FLOOR = 0.25
_UNSEEN = 2 / 3
_HALF = 0.5
_PREFIX = 600
_SHORT = 5
_FEW = 2
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class Quoted:
    """What is chosen, best first; empty where nothing answers, with the nearest sentences in ``nearest``."""

    chosen: tuple[Piece, ...]
    nearest: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A sentence with how well it answers; ``meaning`` is a cosine, ``score`` counts in log-odds."""

    source: Source
    evidence: Evidence
    meaning: float
    exact: bool | None
    score: float


@dataclass(frozen=True, slots=True)
class _Look:
    """A question before the sentences that may answer it."""

    question: str
    asked: Question
    sources: Sequence[Source]
    hits: Sequence[Hit]
    known: Sequence[Evidence]
    near: Nearness

    @property
    def keys(self) -> tuple[Word, ...]:
        return self.asked.parts[0].keys


def choose(question: str, sources: Sequence[Source], hits: Sequence[Hit], embedder: Embedder) -> Quoted:
    """Chooses what to quote for a question."""
    usable = [one for one in sources if shown.sayable(one, hits[one.hit]) and _says(one)]
    if not usable:
        return Quoted((), ())
    question = cues.spelt(question, usable)
    carried = [evidence([read(one.plain), read(one.before)], read(one.about)) for one in usable]
    look = _Look(question, about.ask(question), usable, hits, carried, Nearness(embedder))
    bare = cues.bare(question, usable)
    plainer = replace(look, question=bare, asked=about.ask(bare))
    ranked = _rank(plainer)
    best = [one for one in _enough(ranked) if _stands(look, plainer.keys, one)] if _known(look, ranked) else []
    how = cues.typed(question)
    pieces = [shown.piece(one.source, hits[one.source.hit], lead=_leans(look, one), code=how) for one in best]
    return Quoted(tuple(shown.joined(pieces, hits)), () if best else tuple(one.source for one in ranked[:MOST]))


def _says(source: Source) -> bool:
    reading = read(source.plain)
    whole = source.plain.endswith(".") and len(source.plain.split()) > _FEW
    return len(reading.content) + len(reading.quantities) >= (1 if whole else 2)


def _enough(ranked: Sequence[_Scored]) -> list[_Scored]:
    """Takes sentences until the answer is probably among them."""
    odds = [exp(one.score - ranked[0].score) for one in ranked]
    whole, taken = sum(odds), 0.0
    found: list[_Scored] = []
    for one, share in zip(ranked[:_CLOSER], odds, strict=False):
        if len(found) == MOST or (found and (taken >= _SURE or share / whole < _LEAST)):
            break
        if any(_alike(one.source, other.source) for other in found):
            continue
        found.append(one)
        taken += share / whole
    return found


def _alike(one: Source, other: Source) -> bool:
    """Tells whether two sentences say the same in nearly the same words."""
    mine, theirs = read(one.plain), read(other.plain)
    shared, whole = mine.stems & theirs.stems, mine.stems | theirs.stems
    same = [each.value for each in mine.quantities] == [each.value for each in theirs.quantities]
    return same and len(shared) >= _SAME * len(whole)


def _leans(look: _Look, one: _Scored) -> bool:
    """Tells whether a sentence needs the one above it: a pronoun stands for what the question names."""
    if not one.source.anaphoric:
        return False
    before = evidence([read(one.source.before)], read(""))
    mine = evidence([read(one.source.plain)], read(one.source.about))
    there = frozenset(mine.own) | mine.around
    return any(known(key.stem, frozenset(before.own)) and not known(key.stem, there) for key in look.keys)


def _rank(look: _Look) -> list[_Scored]:
    """Scores the sentences whose meaning or words come close, best first."""
    order, values = _measured(look)
    scores = np.sum([weight * values[name] for name, weight in _WEIGHTS.items()], axis=0)
    meanings = (values["title"] + values["asking"]) / 2
    found = []
    for at, meaning, score in zip(order, meanings, scores, strict=True):
        exact = cues.exact(look.asked, look.sources[at])
        found.append(_Scored(look.sources[at], look.known[at], float(meaning), exact, float(score)))
    return sorted(found, key=lambda one: -one.score)


def _measured(look: _Look) -> tuple[list[int], dict[str, Column]]:
    """Gives which sentences come close, and what is weighed of each."""
    titles = _meanings(look, [f"{look.hits[one.hit].title}: {one.plain}" for one in look.sources])
    words = _words(look)
    order = [int(at) for at in np.argsort(-(titles[:, 0] + words["carried"]), kind="stable")[:_CLOSER]]
    kinds = [_kinds(look, look.sources[at]) for at in order]
    values = {name: column[order] for name, column in words.items()}
    values |= {"title": titles[order, 0], "asking": titles[order, 1]}
    values |= {name: np.array([kind[name] for kind in kinds], np.float32) for name in kinds[0]}
    return order, values | _around(look, order)


def _meanings(look: _Look, texts: Sequence[str]) -> Column:
    """Compares texts with the whole question and with the sentence of it that asks."""
    wanted = look.near.vectors([look.question, cues.asking(look.question)])
    return np.asarray(look.near.vectors(list(texts)) @ wanted.T)


def _around(look: _Look, order: Sequence[int]) -> dict[str, Column]:
    """Compares a sentence with what stands next to it and above it, and how its passage was ranked."""
    mine = [look.sources[at] for at in order]
    hits = [look.hits[one.hit] for one in mine]
    top = max((hit.score for hit in look.hits), default=0.0) or 1.0
    return {
        "onward": _meanings(look, [_onward(look.sources, at) for at in order])[:, 0],
        "back": _meanings(look, [f"{one.before} {one.plain}".strip() for one in mine])[:, 0],
        "passage": _meanings(look, [plain(hit.text)[:_PREFIX] for hit in hits])[:, 0],
        "heading": _meanings(look, [hit.heading or hit.title for hit in hits])[:, 0],
        "rank": np.array([hit.score / top for hit in hits], np.float32),
    }


def _onward(sources: Sequence[Source], at: int) -> str:
    """Gives a sentence with the one after it in its passage."""
    follows = at + 1 < len(sources) and sources[at + 1].hit == sources[at].hit
    return f"{sources[at].plain} {sources[at + 1].plain}" if follows else sources[at].plain


def _words(look: _Look) -> dict[str, Column]:
    """Gives the share of the key words that each sentence carries: by itself, with its headings, by their rarity."""
    if not look.keys:
        none = np.zeros(len(look.sources), np.float32)
        return dict.fromkeys(("carried", "rare", "said", "rarest"), none)
    near, plainly = look.near, Nearness(None)
    alone = [evidence([read(one.plain)], read("")) for one in look.sources]
    there = [evidence([read(one.plain)], read(one.about)) for one in look.sources]
    meant, said = _table(look.keys, there, near), _table(look.keys, alone, plainly)
    rarity, scarcity = _rarity(meant), _rarity(said) * (said.sum(0) > 0)
    return {
        "carried": _table(look.keys, look.known, near).mean(1),
        "rare": meant @ rarity / (rarity.sum() or 1),
        "said": said @ scarcity / (scarcity.sum() or 1),
        "rarest": said[:, scarcity.argmax()],
    }


def _table(keys: Sequence[Word], among: Sequence[Evidence], near: Nearness) -> Column:
    return np.array([[near.asks(key, one) for key in keys] for one in among], np.float32)


def _rarity(table: Column) -> Column:
    return np.asarray(np.log(1 + len(table) / (1 + table.sum(0))), np.float32)


def _kinds(look: _Look, source: Source) -> dict[str, float]:
    """Tells whether a sentence is of the kind that the question waits for."""
    exact, cued = cues.exact(look.asked, source), cues.cued(look.question, source)
    wanted, there = look.asked.reading.quantities, read(source.plain).quantities
    numbers = [any(carries(mine, one) for mine in there) for one in wanted]
    return {
        "exact": float(exact is True),
        "inexact": float(exact is False),
        "cued": float(cued is True),
        "uncued": float(cued is False),
        "does": float(cues.does(look.question, source)),
        "numbers": sum(numbers) / len(numbers) if numbers else 0.0,
        "meta": float(cues.meta(source)),
        "short": float(len(source.plain.split()) < _SHORT),
    }


def _known(look: _Look, ranked: Sequence[_Scored]) -> bool:
    """Tells whether the passages know enough of what the question names."""
    if cues.strangers(look.question, look.sources):
        return False
    closest = max(one.meaning for one in ranked[:MOST])
    unseen = [key for key in look.keys if not any(look.near.asks(key, one) for one in look.known)]
    share = len(unseen) / len(look.keys) if look.keys else 0.0
    return closest >= _FLOOR and share <= _UNSEEN and (share < _HALF or closest >= _HALF)


def _stands(look: _Look, telling: Sequence[Word], one: _Scored) -> bool:
    """Tells whether a sentence may be an answer at all.

    It is none where it holds no number, date, person or count of things that the
    question waits for, where it speaks of another's or of another thing of the
    kind, or where it lacks the very thing, or one of the few ``telling`` words,
    asked about.
    """
    question, source = look.question, one.source
    if cues.personal(question) and not cues.person(question, source):
        return False
    if one.exact is False or not cues.counted(question, source) or not cues.owned(question, source):
        return False
    there = frozenset(one.evidence.own) | one.evidence.around
    if any(cues.rival(key, there) for key in look.keys):
        return False
    few = one.exact is None and len(look.keys) <= _FEW and one.meaning < _HALF
    if few and not all(look.near.asks(key, one.evidence) for key in telling):
        return False
    return cues.cued(question, source) is True or all(
        any(look.near.asks(word, one.evidence) for word in thing) for thing in cues.things(question)
    )
