"""What a search gives back."""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["hybrid", "words", "meaning"]


@dataclass(frozen=True, slots=True)
class Ranks:
    """A hit's rank in each single mode, from 1; None where that mode did not find it."""

    words: int | None
    meaning: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage: ``text`` is the source's own characters at ``lines`` of ``blob``.

    ``path`` is the public one, ``heading`` the heading path joined by `` > ``,
    ``commit`` None while the text is not committed, ``title`` and ``date`` the
    note's own (empty and None where it has none).
    """

    path: str
    heading: str
    lines: tuple[int, int]
    commit: str | None
    blob: str
    text: str
    score: float
    ranks: Ranks
    title: str = ""
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Hits with how fresh they are.

    ``behind`` counts commits, uncommitted files and, of a first build, notes that are not indexed yet, ``pending``
    passages not embedded yet.
    """

    commit: str | None
    behind: int
    pending: int
    hits: tuple[Hit, ...]
    reason: str | None = None
