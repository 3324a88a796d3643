"""An answer and the passages that carry it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["answered", "quoted", "not_found", "model_away"]


@dataclass(frozen=True, slots=True)
class Event:
    """What a surface may show while an answer is made."""

    kind: Literal["status", "reasoning", "token"]
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """The one passage that carries a sentence; ``quote`` is verbatim from ``blob``."""

    n: int
    path: str
    lines: tuple[int, int]
    commit: str | None
    blob: str
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a reply, by where it stands, with the numbers of the citations that carry it; none: not found."""

    start: int
    end: int
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person is served; ``timings`` are seconds by step, ``near`` the near misses of a not_found."""

    outcome: Outcome
    answer: str
    citations: tuple[Citation, ...]
    model: str
    timings: Mapping[str, float] = field(default_factory=dict)
    near: tuple[Citation, ...] = ()
