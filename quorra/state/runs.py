"""Runs: one a turn, with a state that is moved conditionally and a trace of events that hold no text."""

import json
import secrets
import sqlite3
from collections.abc import Mapping
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

    def get(self, ident: str, principal: str) -> Run:
        """Gives a principal's run; raises UnknownRun for another's too."""
        for row in self._ask(f"SELECT {_COLUMNS} FROM runs WHERE id = ? AND principal = ?", ident, principal):
            return Run(**dict(row))
        raise UnknownRun(ident)

    def of_session(self, session: str) -> tuple[Run, ...]:
        """Gives a session's runs, the oldest first."""
        return self._runs("session = ?", session)

    def open(self) -> tuple[Run, ...]:
        """Gives the runs that say they are running, the oldest first."""
        return self._runs("state = ?", "running")

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
        """Removes the runs that had ended by then, with their traces, and says how many."""
        sql = "DELETE FROM runs WHERE ended <> '' AND julianday(ended) < julianday(?) RETURNING id"
        return len(self._ask(sql, before.isoformat()))

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


def _event(row: sqlite3.Row) -> Event:
    return Event(**{**dict(row), "data": json.loads(row["data"])})
