"""Interleaved timing, medians, and the one line that a benchmark ends with."""

import json
import statistics
import time
from collections.abc import Callable, Mapping


def seconds(work: Callable[[], object]) -> float:
    """Times one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: Mapping[str, Callable[[], object]], rounds: int, warm: int = 1) -> dict[str, float]:
    """Gives each work's median seconds, the works taking turns so that the machine's mood hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + warm):
        for name, work in works.items():
            spent = seconds(work)
            if turn >= warm:
                taken[name].append(spent)
    return {name: statistics.median(values) for name, values in taken.items()}


def report(figure: str, quorra: float, floors: Mapping[str, float], bar: float, *, unit: str = "s") -> bool:
    """Prints Quorra against the fastest of its floors and the bar it must stay under (a ratio); tells if it holds."""
    name = min(floors, key=lambda key: floors[key])
    ratio = quorra / floors[name]
    row = {"figure": figure, "quorra": quorra, "unit": unit, "floors": dict(floors), "floor": name}
    print(json.dumps({**row, "ratio": round(ratio, 3), "bar": bar, "holds": ratio <= bar}))
    return ratio <= bar
