"""Puts notes in order from what words and meaning found.

Each side is scaled over its own best hundred notes and the two are summed.
The question's vector then moves towards the best notes and meaning is judged
again (feedback, from notes close behind the best alone, as a plain question
has one right answer and the rest would lead away from it), and a note is
lifted half the way to its nearest neighbours' score where that is above its
own (smoothing; it lowers nobody). Where very few notes hold
every word of the question in one passage, somebody remembers that passage, and
these notes get a bonus. Ties break by path and line.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from quorra.inference.protocol import Vectors

Address = tuple[str, int]

POOL = 100
WORDS = 0.5
FEEDBACK = 0.4
TEACHERS = 8
CLOSE = 0.6
LIFT = 0.5
NEAR = 3
WHOLE = 0.4
FEW = 3

# Products this small stay in this thread; larger ones wake BLAS's own threads,
# which spin on the cores that the other half of the search is using.
_BLOCK = 4


class Spot(NamedTuple):
    """A passage found, with the score that one search gave it and the row that shows it."""

    path: str
    part: int
    score: float
    row: int


class Field:
    """Vectors of passages, in order of path and part; ``numbers`` are the rows that show them."""

    def __init__(self, addresses: Sequence[Address], numbers: Sequence[int], rows: Vectors) -> None:
        order = sorted(range(len(addresses)), key=addresses.__getitem__)
        self.addresses = [addresses[at] for at in order]
        self.numbers = [numbers[at] for at in order]
        self.rows = rows[order]
        self.paths: list[str] = []
        self._starts: list[int] = []
        for at, (path, _) in enumerate(self.addresses):
            if not self.paths or self.paths[-1] != path:
                self.paths.append(path)
                self._starts.append(at)

    def near(self, vector: Vectors) -> dict[str, float]:
        """Scores each note by the cosine of its best passage with a vector."""
        if not self.paths:
            return {}
        best = np.maximum.reduceat(self._cosines(vector), self._starts)
        return dict(zip(self.paths, best.tolist(), strict=True))

    def spots(self, vector: Vectors) -> list[Spot]:
        """Scores every passage by its cosine with a vector."""
        found = zip(self.addresses, self._cosines(vector).tolist(), self.numbers, strict=True)
        return [Spot(path, part, score, row) for (path, part), score, row in found]

    def means(self) -> Vectors:
        """Gives each note's mean direction."""
        if not self.paths:
            return self.rows
        means = np.add.reduceat(self.rows, self._starts, axis=0)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        return (means / np.where(lengths > 0, lengths, 1)).astype(np.float32)

    def _cosines(self, vector: Vectors) -> Vectors:
        cosines: Vectors = np.einsum("ij,j->i", self.rows, vector)
        return cosines


def best(spots: Iterable[Spot]) -> dict[str, Spot]:
    """Gives each note's best passage; of equals the earliest."""
    found: dict[str, Spot] = {}
    for spot in spots:
        held = found.get(spot.path)
        if held is None or (-spot.score, spot.part) < (-held.score, held.part):
            found[spot.path] = spot
    return found


def by_words(whole: Iterable[Spot], passages: Iterable[Spot]) -> dict[str, float]:
    """Scores notes by all their words, plus what their best passage scores."""
    scores = {spot.path: spot.score for spot in whole}
    for path, spot in best(passages).items():
        scores[path] = scores.get(path, 0.0) + spot.score
    return scores


def ordered(scores: Mapping[str, float], *then: Mapping[str, float]) -> list[str]:
    """Lists paths by score, best first; ties by further scores, in the end by path."""
    if not then:
        return [path for _, path in sorted((-score, path) for path, score in scores.items())]
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


def remembered(spots: Iterable[Spot]) -> dict[str, float]:
    """Gives the bonus of the notes that hold every word in one passage, if they are few."""
    paths = {spot.path for spot in spots}
    return dict.fromkeys(paths, WHOLE) if len(paths) <= FEW else {}


def fused(words: Mapping[str, float], field: Field, question: Vectors, share: float = WORDS) -> dict[str, float]:
    """Scores notes by words and meaning together, with feedback and smoothing."""
    first = _sum(words, field.near(question), share)
    means = field.means()
    at = {path: row for row, path in enumerate(field.paths)}
    nearest = [path for path in ordered(first) if path in at][:TEACHERS]
    if not nearest:
        return first
    teachers = [at[path] for path in nearest if first[path] >= CLOSE * first[nearest[0]]]
    moved = question + FEEDBACK * means[teachers].mean(axis=0)
    again = _sum(words, field.near(moved / np.linalg.norm(moved)), share)
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
    alike = np.concatenate([rows[at : at + _BLOCK] @ rows.T for at in range(0, len(rows), _BLOCK)])
    np.fill_diagonal(alike, -2.0)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :near]
    values = np.array([scores[path] for path in paths])
    smooth = values + LIFT * np.maximum(0.0, values[nearest].mean(axis=1) - values)
    return {**scores, **dict(zip(paths, smooth.tolist(), strict=True))}
