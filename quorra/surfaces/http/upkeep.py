"""What goes on beside the service: the index is kept caught up, what is over is ended, hand edits are taken in."""

import threading
from dataclasses import asdict
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

import structlog

from quorra import metrics
from quorra.jobs.rounds import Round
from quorra.jobs.watch import Watched, Watcher
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import now
from quorra.surfaces.http.desk import Desk

if TYPE_CHECKING:
    from quorra.home import Home

log = structlog.get_logger("quorra.watch")
PAUSE, BUDGET, HOUR = 2.0, 5.0, 3600.0
TRACES = timedelta(days=90)


class Upkeep(threading.Thread):
    """Brings words up to date, embeds what is pending and ends what is over, while nobody is being answered."""

    def __init__(self, home: "Home", desk: Desk) -> None:
        super().__init__(name="upkeep", daemon=True)
        self._home = home
        self._desk = desk
        self._stopping = threading.Event()
        self._packed = monotonic()

    def run(self) -> None:
        """Goes round until it is stopped; what fails is counted and tried again in the next round."""
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = PAUSE if self._desk.answering.is_set() or not self._pending() else 0.0

    def stop(self) -> None:
        """Lets the round that runs be the last."""
        self._stopping.set()

    def _pending(self) -> int:
        try:
            self._home.talks.expire(now())
            pending = self._home.sync(seconds=BUDGET).pending
            if not pending and monotonic() > self._packed + HOUR:
                self._packed = monotonic()
                self._home.runs.purge(now() - TRACES)
                self._home.ledger.maintain()
            return pending
        except Exception as error:  # noqa: BLE001 - the service outlives a bad round
            metrics.count("upkeep_failures_total", kind=type(error).__name__)
            errors.fault(error)
            return 0


class Watching(threading.Thread):
    """Takes in hand edits beside the service, as ``quorra watch`` does; waits while another process does it."""

    def __init__(self, home: "Home") -> None:
        super().__init__(name="watching", daemon=True)
        self._home = home
        self._watcher = Watcher(home, _log_round, lambda line: log.warning("watching", told=line))
        self._stopping = threading.Event()

    def run(self) -> None:
        """Watches until it is stopped; what fails is counted and tried again."""
        pause = 0.0
        told = self._home.settings.watch
        while told.adopt and self._home.writable and not self._stopping.wait(pause):
            pause = told.poll
            try:
                self._watcher.run()
            except Watched as error:
                self._watcher.trouble(error.message)
            except Exception as error:  # noqa: BLE001 - the service outlives its watcher
                metrics.count("watch_failures_total", kind=type(error).__name__)
                errors.fault(error)

    def stop(self) -> None:
        """Lets the round that runs be the last."""
        self._stopping.set()
        self._watcher.stop()


def _log_round(found: Round) -> None:
    for kind in ("adopted", "left", "conflicts", "dangling"):
        for each in getattr(found, kind):
            log.info(kind, **asdict(each))
