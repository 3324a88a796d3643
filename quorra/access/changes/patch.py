"""An edit as the blocks of lines it replaces, so that it still fits a text that has changed elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines ``start`` to ``stop`` of the old text, from 0 and half-open, and what stands there instead."""

    start: int
    stop: int
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A block that no longer stands as it was; ``line`` is its first in the old text, from 1."""

    line: int


def hunks(old: bytes, new: bytes) -> tuple[Hunk, ...]:
    """Gives what leads from one text to the other, line ends and all."""
    before, after = _lines(old), _lines(new)
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(Hunk(i, j, tuple(after[k:m])) for tag, i, j, k, m in steps if tag != "equal")


def apply(old: bytes, edit: tuple[Hunk, ...], now: bytes) -> bytes | Conflict:
    """Does the edit of ``old`` to what became of it; every block and its place must still be there."""
    before, today = _lines(old), _lines(now)
    where = dict(_kept(before, today))
    where[-1], where[len(before)] = -1, len(today)
    places: list[tuple[int, int, Hunk]] = []
    for hunk in edit:
        place = _place(hunk, where)
        if place is None:
            return Conflict(hunk.start + 1)
        places.append((*place, hunk))
    parts: list[bytes] = []
    last = 0
    for start, stop, hunk in places:
        parts += [*today[last:start], *hunk.lines]
        last = stop
    return b"".join([*parts, *today[last:]])


def _place(hunk: Hunk, where: dict[int, int]) -> tuple[int, int] | None:
    """Finds the block as it stands now: all of its lines together, or for an insertion the line before or after."""
    if hunk.start == hunk.stop:
        after, before = where.get(hunk.start), where.get(hunk.start - 1)
        at = after if after is not None else None if before is None else before + 1
        return None if at is None else (at, at)
    first = where.get(hunk.start)
    if first is None or any(where.get(hunk.start + k) != first + k for k in range(hunk.stop - hunk.start)):
        return None
    return first, first + hunk.stop - hunk.start


def _kept(before: list[bytes], today: list[bytes]) -> Iterator[tuple[int, int]]:
    for i, j, size in SequenceMatcher(None, before, today, autojunk=False).get_matching_blocks():
        yield from ((i + k, j + k) for k in range(size))


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)
