"""Puts notes in order from what words and meaning found: scaled, summed, ties broken by path and line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

WORDS = 0.55
POOL = 100


@dataclass(frozen=True, slots=True)
class Spot:
    """A passage found, with the score that one search gave it."""

    path: str
    part: int
    score: float


def best(spots: Iterable[Spot]) -> dict[str, Spot]:
    """Gives each note's best passage; of equals the earliest."""
    found: dict[str, Spot] = {}
    for spot in spots:
        held = found.get(spot.path)
        if held is None or (-spot.score, spot.part) < (-held.score, held.part):
            found[spot.path] = spot
    return found


def by_words(whole: Iterable[Spot], passages: Iterable[Spot]) -> dict[str, float]:
    """Scores notes by all their words, plus half of what their best passage scores."""
    scores = {spot.path: spot.score for spot in whole}
    for path, spot in best(passages).items():
        scores[path] = scores.get(path, 0.0) + spot.score / 2
    return scores


def ordered(scores: Mapping[str, float]) -> list[str]:
    """Lists paths by score, best first; ties by path."""
    return sorted(scores, key=lambda path: (-scores[path], path))


def scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Scales the best notes' scores so that the best has 1 and the last of the pool 0."""
    top = ordered(scores)[:POOL]
    if not top:
        return {}
    high, low = scores[top[0]], scores[top[-1]] if len(top) == POOL else 0.0
    width = high - low
    return {path: (scores[path] - low) / width if width > 0 else 1.0 for path in top}
