"""Puts notes in order from what words and meaning found.

Each side is scaled over its own best hundred notes and the two are summed.
The question's vector then moves towards the best notes and meaning is judged
again (feedback), and each note takes a part of its nearest neighbours' score
(smoothing). Ties break by path and line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Place = tuple[str, int]

POOL = 100
WORDS = 0.55
PASSAGE = 0.5
FEEDBACK = 0.5
TEACHERS = 5
SMOOTH = 0.2
NEAR = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """A passage found, with the score that one search gave it."""

    path: str
    part: int
    score: float


@dataclass(frozen=True, slots=True)
class Field:
    """Vectors of passages, one row a place."""

    places: tuple[Place, ...]
    rows: Vectors

    def spots(self, vector: Vectors) -> list[Spot]:
        """Scores every passage by its cosine with a vector."""
        cosines = (self.rows @ vector).tolist()
        return [Spot(path, part, score) for (path, part), score in zip(self.places, cosines, strict=True)]

    def notes(self) -> tuple[list[str], Vectors]:
        """Gives each note's path with its mean direction, in order of path."""
        paths = sorted({path for path, _ in self.places})
        at = {path: row for row, path in enumerate(paths)}
        means = np.zeros((len(paths), self.rows.shape[1]), np.float32)
        np.add.at(means, [at[path] for path, _ in self.places], self.rows)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        return paths, (means / np.where(lengths > 0, lengths, 1)).astype(np.float32)


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
        scores[path] = scores.get(path, 0.0) + PASSAGE * spot.score
    return scores


def by_meaning(spots: Iterable[Spot]) -> dict[str, float]:
    """Scores notes by their best passage."""
    return {path: spot.score for path, spot in best(spots).items()}


def ordered(scores: Mapping[str, float], *then: Mapping[str, float]) -> list[str]:
    """Lists paths by score, best first; ties by further scores, in the end by path."""
    sides = (scores, *then)
    paths = {path for side in sides for path in side}
    return sorted(paths, key=lambda path: (*(-side.get(path, 0.0) for side in sides), path))


def scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Scales the pool's scores so that the best has 1 and the last 0; a pool that is not full ends at 0 itself."""
    top = ordered(scores)[: POOL + 1]
    if not top:
        return {}
    high = scores[top[0]]
    low = max(scores[top[POOL]], 0.0) if len(top) > POOL else 0.0
    width = high - low
    return {path: max(0.0, (scores[path] - low) / width) if width > 0 else 1.0 for path in top[:POOL]}


def fused(words: Mapping[str, float], field: Field, question: Vectors, share: float = WORDS) -> dict[str, float]:
    """Scores notes by words and meaning together, with feedback and smoothing."""
    first = _sum(words, by_meaning(field.spots(question)), share)
    paths, means = field.notes()
    at = {path: row for row, path in enumerate(paths)}
    teachers = [at[path] for path in ordered(first) if path in at][:TEACHERS]
    if not teachers:
        return first
    moved = question + FEEDBACK * means[teachers].mean(axis=0)
    again = _sum(words, by_meaning(field.spots(moved / np.linalg.norm(moved))), share)
    return _smoothed(again, at, means)


def _sum(words: Mapping[str, float], meaning: Mapping[str, float], share: float) -> dict[str, float]:
    left, right = scaled(words), scaled(meaning)
    return {path: share * left.get(path, 0.0) + (1 - share) * right.get(path, 0.0) for path in {**left, **right}}


def _smoothed(scores: Mapping[str, float], at: Mapping[str, int], means: Vectors) -> dict[str, float]:
    paths = [path for path in sorted(scores) if scores[path] > 0 and path in at]
    near = min(NEAR, len(paths) - 1)
    if near < 1:
        return dict(scores)
    rows = means[[at[path] for path in paths]]
    alike = rows @ rows.T
    np.fill_diagonal(alike, -2.0)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :near]
    values = np.array([scores[path] for path in paths])
    smooth = (1 - SMOOTH) * values + SMOOTH * values[nearest].mean(axis=1)
    return {**scores, **dict(zip(paths, smooth.tolist(), strict=True))}
