"""Counters and timings that any room may raise; numbers only, never text from a note."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter

_lock = threading.Lock()
_counts: dict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)


def count(name: str, by: float = 1, **labels: str) -> None:
    """Adds to a counter."""
    with _lock:
        _counts[name, tuple(sorted(labels.items()))] += by


@contextmanager
def timed(name: str, **labels: str) -> Iterator[None]:
    """Counts a call and its seconds as ``name_total`` and ``name_seconds_total``."""
    start = perf_counter()
    try:
        yield
    finally:
        count(f"{name}_seconds_total", perf_counter() - start, **labels)
        count(f"{name}_total", 1, **labels)


def counts() -> Mapping[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Gives a copy of every counter."""
    with _lock:
        return dict(_counts)
