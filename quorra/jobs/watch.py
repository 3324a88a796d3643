"""The watcher: waits until hands have been quiet, then takes in what they did; one a home at a time."""

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from quorra import metrics
from quorra.errors import QuorraError
from quorra.home import Home
from quorra.jobs.hints import Hints
from quorra.jobs.rounds import Round, Rounds
from quorra.settings import FACTS

LIMIT = 300.0
_BREATH = 0.02


class Watched(QuorraError):
    """Another process watches the home already."""

    code = "busy"

    def __init__(self, home: Home) -> None:
        super().__init__(
            f"Another Quorra process watches {home.settings.home} already.",
            "Nothing is missed: it takes hand edits in. Stop it first to watch from here.",
        )


class Unwatched(QuorraError):
    """The home's settings leave hand edits to those who make them."""

    code = "unwatched"

    def __init__(self, home: Home) -> None:
        super().__init__(
            f"The settings of {home.settings.home} leave hand edits to be committed by those who make them.",
            "To have Quorra do it, set adopt = true under [watch] in quorra.toml.",
        )


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Holds a home's one watch; raises Watched where another process has it, and Unwatched."""
    if not home.settings.watch.adopt:
        raise Unwatched(home)
    with open(home.private / "watch.lock", "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Watched(home) from None
        yield


class Watcher:
    """Watches one home until it is stopped; ``tell`` hears of each round that found something, ``say`` all else.

    What hands keep busy is taken in after ``limit`` seconds all the same.
    """

    def __init__(
        self,
        home: Home,
        tell: Callable[[Round], None] = lambda _: None,
        say: Callable[[str], None] = lambda _: None,
        *,
        limit: float = LIMIT,
    ) -> None:
        self.home = home
        self.tell = tell
        self.say = say
        self.limit = limit
        self.quiet = home.settings.watch.quiet
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._rounds = Rounds(home, self.quiet, monotonic)
        self._first: float | None = None
        self._said: str | None = None

    def stop(self) -> None:
        """Lets the round that runs be the last."""
        self._stopping.set()
        self._wake.set()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Watches until it is stopped, and calls ``ready`` once it does; raises Watched and Unwatched."""
        told = self.home.settings
        roots = [told.home / root for root in (told.vault_root, FACTS)]
        with alone(self.home):
            hints = Hints(roots, self._wake.set)
            try:
                ready()
                self._renew(hints)
                self._follow(hints)
            finally:
                hints.close()

    def once(self) -> Round:
        """Takes in what has been quiet for long enough, after waiting for it once; raises Watched and Unwatched."""
        with alone(self.home):
            total, until, pause = Round(), monotonic() + self.limit, self.quiet
            while not self._stopping.wait(pause):
                late = monotonic() > until
                found = self._rounds.look(late)
                total = total.joined(found)
                stuck = total.stuck and not (found.adopted or found.conflicts)
                if found.again is None or late or stuck:
                    break
                pause = found.again + _BREATH
        return _counted(total)

    def _follow(self, hints: Hints) -> None:
        due = monotonic() + self.quiet
        while not self._stopping.is_set():
            hinted = self._wake.wait(max(0.0, due - monotonic()))
            self._wake.clear()
            now = monotonic()
            if hinted:
                if hints.stale:
                    self._renew(hints)
                self._first = self._first or now
                due = min(now + self.quiet, self._first + self.limit)
                self._stopping.wait(_BREATH)
            if monotonic() >= due:
                due = monotonic() + self._round(hints)

    def _round(self, hints: Hints) -> float:
        """Looks once; gives the seconds until the next look."""
        now, poll = monotonic(), self.home.settings.watch.poll
        late = self._first is not None and now >= self._first + self.limit
        try:
            found = _counted(self._rounds.look(late))
        except (QuorraError, OSError) as error:
            metrics.count("watch_failures_total", kind=type(error).__name__)
            self.trouble(f"Hand edits could not be taken in: {error}")
            return poll
        self._renew(hints)
        if found.told:
            self.tell(found)
        if found.again is None:
            self._first = None
            return poll
        self._first = (now if late else self._first) or now
        return min(found.again + _BREATH, poll)

    def _renew(self, hints: Hints) -> None:
        hints.renew()
        if hints.degraded:
            self.trouble(hints.degraded)
        else:
            self._said = None

    def trouble(self, line: str) -> None:
        """Says what stands in the way of watching, unless that was said last."""
        if line != self._said:
            self._said = line
            metrics.count("watch_troubles_total")
            self.say(line)


def _counted(found: Round) -> Round:
    metrics.count("watch_rounds_total")
    metrics.count("direct_edits_total", sum(len(each.paths) for each in found.adopted))
    metrics.count("conflicted_copies_total", len(found.conflicts))
    return found
