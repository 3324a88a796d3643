"""Retrieval measures by note, averaged over cases (Manning, Raghavan and Schütze, chapter 8)."""

from collections.abc import Mapping, Sequence
from math import log2

MEASURES = ("recall@5", "recall@10", "mrr", "ndcg@10")


def score(ranked: Sequence[str], grades: Mapping[str, float]) -> dict[str, float]:
    """Scores one ranking of notes: recall over all relevant notes, mrr without a cut, ndcg with linear gain."""
    relevant = {note for note, grade in grades.items() if grade > 0}
    first = next((place for place, note in enumerate(ranked, 1) if note in relevant), None)
    ideal = _gain(sorted(grades.values(), reverse=True)[:10])
    gained = _gain([grades.get(note, 0.0) for note in ranked[:10]])
    return {
        "recall@5": _recall(ranked[:5], relevant),
        "recall@10": _recall(ranked[:10], relevant),
        "mrr": 1 / first if first else 0.0,
        "ndcg@10": gained / ideal if ideal else 0.0,
    }


def mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Averages cases; without any, every measure is 0."""
    return {name: sum(one[name] for one in scores) / len(scores) if scores else 0.0 for name in MEASURES}


def _recall(ranked: Sequence[str], relevant: set[str]) -> float:
    return len(relevant.intersection(ranked)) / len(relevant) if relevant else 0.0


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / log2(place + 1) for place, grade in enumerate(grades, 1))
