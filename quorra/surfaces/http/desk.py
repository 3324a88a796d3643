"""The model's desk: one piece of work is done at a time, a few wait, the rest are sent away."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from quorra import metrics
from quorra.agent.asking.answer import Event
from quorra.errors import QuorraError

T = TypeVar("T")
Emit = Callable[[Event], None]
Cancelled = Callable[[], bool]
Work = Callable[[Emit, Cancelled], T]
"""What is done at the desk: it says how it goes, and asks whether anybody still wants it."""


class Busy(QuorraError):
    """The model answers somebody and the line behind them is full."""

    code = "busy"

    def __init__(self, waiting: int) -> None:
        super().__init__(f"The model is busy and {waiting} more questions wait for it.", "Ask again in a few seconds.")


class Stopping(QuorraError):
    """The service was stopped before the answer was there."""

    code = "service_away"

    def __init__(self) -> None:
        super().__init__("The service is stopping.", "Ask again when it is back.")


@dataclass(frozen=True, slots=True)
class Turn(Generic[T]):
    """A question at the desk, waiting or being answered; ``leave`` gives its place up."""

    answer: "Future[T]"
    gone: threading.Event

    def leave(self) -> None:
        """Stops the generation, or leaves the line."""
        self.gone.set()
        self.answer.cancel()


class Desk:
    """Takes work from many connections and does it piece by piece, on a thread of its own."""

    def __init__(self, waiting: int) -> None:
        self._waiting = waiting
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._closing = threading.Event()
        self.answering = threading.Event()

    def begin(self, work: Work[T], emit: Emit, whose: str) -> Turn[T]:
        """Puts a person's work in the line; raises Busy where that is full. ``emit`` is called on the desk's thread.

        In a line of two or more nobody has all places: one is kept for others.
        """
        with self._lock:
            own = self._waiting if self._waiting > 1 else 1 + self._waiting
            if self._taken.total() > self._waiting or self._taken[whose] >= own:
                metrics.count("generations_refused_total")
                raise Busy(self._waiting)
            self._taken[whose] += 1
        gone = threading.Event()
        answer = self._thread.submit(self._do, work, emit, gone)
        answer.add_done_callback(lambda _: self._leave(whose))
        return Turn(answer, gone)

    def _leave(self, whose: str) -> None:
        with self._lock:
            self._taken[whose] -= 1
            self._taken = +self._taken  # whoever has no place is forgotten

    def stop(self) -> None:
        """Ends what runs as soon as the model can."""
        self._closing.set()

    def close(self) -> None:
        """Stops, and waits until the model is free."""
        self.stop()
        self._thread.shutdown(cancel_futures=True)

    def _do(self, work: Work[T], emit: Emit, gone: threading.Event) -> T:
        self.answering.set()
        try:
            done = work(emit, lambda: gone.is_set() or self._closing.is_set())
            if self._closing.is_set():
                raise Stopping
            return done
        finally:
            self.answering.clear()
