"""Runs: one a turn, with a state that is moved conditionally and a trace of events that hold no text."""

import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from quorra.errors import QuorraError
from quorra.state.database import Database

State = Literal["running", "paused", "done", "failed", "cancelled"]
Kind = Literal["prompt", "retrieval", "call", "result", "approval", "verdict", "retry", "reply", "interrupted"]
_COLUMNS = "id, session, principal, question, state, backend, strategy, started, ended"
_OPEN = ("running", "paused")


class UnknownRun(QuorraError):
    """There is no such run, or it is another's."""

    code = "no_run"

    def __init__(self, ident: str) -> None:
        super().__init__(f"There is no run {ident!r}.", "A reply names its run; traces are kept for a while only.")


class Held(QuorraError):
    """Another process, or another thread of this one, is at work on the run."""

    code = "answering"

    def __init__(self) -> None:
        super().__init__("This message is being answered just now.", "Send it again in a moment.")


@dataclass(frozen=True, slots=True)
class Run:
    """One turn; ``question`` is the number of the entry that asked, ``ended`` empty while it is open."""

    id: str
    session: str
    principal: str
    question: int
    state: State
    backend: str
    strategy: str
    started: str
    ended: str


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run's trace."""

    run: str
    n: int
    at: str
    kind: Kind
    data: Mapping[str, Any]


class Runs:
    """The runs of one home; safe to use from several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._named = database.named
        self._ask = database.ask
        self._file = database.path.with_name("runs.lock")
        self._lock: int | None = None
        self._held: set[str] = set()
        self._guard = threading.Lock()

    def begin(self, session: str, principal: str, question: int, backend: str, strategy: str, now: datetime) -> Run:
        """Begins a run in a principal's own session; raises UnknownRun where the session is not theirs or gone."""
        ident = secrets.token_hex(8)
        sql = (
            f"INSERT INTO runs ({_COLUMNS}) SELECT ?, id, principal, ?, 'running', ?, ?, ?, '' FROM sessions"
            f" WHERE id = ? AND principal = ? RETURNING {_COLUMNS}"
        )
        for row in self._ask(sql, ident, question, backend, strategy, now.isoformat(), session, principal):
            return Run(**dict(row))
        raise UnknownRun(ident)

    def move(self, ident: str, before: State, after: State, now: datetime) -> bool:
        """Moves a run on if it is still in the state ``before``; False where another was quicker."""
        ended = "" if after in _OPEN else now.isoformat()
        sql = "UPDATE runs SET state = ?, ended = ? WHERE id = ? AND state = ? RETURNING id"
        return bool(self._ask(sql, after, ended, ident, before))

    def end(self, ident: str, state: State, now: datetime) -> None:
        """Moves a run on, whatever it was before, unless it is done."""
        ended = "" if state in _OPEN else now.isoformat()
        self._ask("UPDATE runs SET state = ?, ended = ? WHERE id = ? AND state <> 'done'", state, ended, ident)

    @contextmanager
    def hold(self, ident: str) -> Iterator[None]:
        """Holds a run while this thread is at work on it, until the process dies at most; raises Held."""
        with self._guard:
            if ident in self._held or not self._locked(ident):
                raise Held
            self._held.add(ident)
        try:
            yield
        finally:
            with self._guard:
                self._held.discard(ident)
                self._unlock(ident)

    def free(self, ident: str) -> bool:
        """Tells whether nobody is at work on a run."""
        with self._guard:
            if ident in self._held or not self._locked(ident):
                return False
            self._unlock(ident)
            return True

    def get(self, ident: str, principal: str) -> Run:
        """Gives a principal's run; raises UnknownRun for another's too."""
        for row in self._ask(f"SELECT {_COLUMNS} FROM runs WHERE id = ? AND principal = ?", ident, principal):
            return Run(**dict(row))
        raise UnknownRun(ident)

    def of_session(self, session: str) -> tuple[Run, ...]:
        """Gives a session's runs, the oldest first."""
        return self._runs("session = ?", session)

    def open(self, state: State = "running") -> tuple[Run, ...]:
        """Gives the runs that say they are running, or wait, the oldest first."""
        return self._runs("state = ?", state)

    def note(self, run: str, kind: Kind, data: Mapping[str, Any], now: datetime) -> None:
        """Adds an event to a run's trace; raises UnknownRun.

        A string that is no id, path or single word is kept as its keyed hash.
        """
        held = json.dumps(self._bare(data))
        sql = (
            "INSERT INTO events (run, n, at, kind, data) SELECT id, coalesce((SELECT max(n) FROM events WHERE run = ?1)"
            " + 1, 0), ?2, ?3, ?4 FROM runs WHERE id = ?1 RETURNING n"
        )
        if not self._ask(sql, run, now.isoformat(), kind, held):
            raise UnknownRun(run)

    def events(self, run: str) -> tuple[Event, ...]:
        """Gives a run's trace in its order."""
        return tuple(_event(row) for row in self._ask("SELECT * FROM events WHERE run = ? ORDER BY n", run))

    def purge(self, before: datetime) -> int:
        """Removes the traces of the runs that had ended by then, and says how many events that were."""
        over = "SELECT id FROM runs WHERE ended <> '' AND julianday(ended) < julianday(?)"
        sql = f"DELETE FROM events WHERE run IN ({over}) RETURNING n"
        return len(self._ask(sql, before.isoformat()))

    def _locked(self, ident: str) -> bool:
        """Takes the kernel's lock of a run; one byte of a file stands for it."""
        if self._lock is None:
            # A process loses its locks of a file as soon as it closes it once, so it stays open.
            self._lock = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(ident))
        except BlockingIOError:
            return False
        return True

    def _unlock(self, ident: str) -> None:
        assert self._lock is not None
        fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, _place(ident))

    def _runs(self, where: str, value: str) -> tuple[Run, ...]:
        return tuple(
            Run(**dict(row)) for row in self._ask(f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY rowid", value)
        )

    def _bare(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._named(str(key)): self._bare(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._bare(part) for part in value]
        return self._named(value) if isinstance(value, str) else value


def _place(ident: str) -> int:
    return int(ident, 16) >> 2


def _event(row: sqlite3.Row) -> Event:
    return Event(**{**dict(row), "data": json.loads(row["data"])})
