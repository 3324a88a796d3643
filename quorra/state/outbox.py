"""The outbox: what a person is told afterwards, each notice moved on by one conditional update."""

import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from quorra.errors import QuorraError
from quorra.state.database import Database

State = Literal["queued", "sent", "seen", "failed"]
_COLUMNS = "id, principal, kind, subject, session, run, state, tries, created, changed"
_NEXT = {"queued": ("sent", "seen", "failed"), "sent": ("seen", "failed"), "failed": ("queued", "seen"), "seen": ()}


class UnknownNotice(QuorraError):
    """There is no such notice, or it is another's."""

    code = "no_notice"

    def __init__(self, ident: str) -> None:
        super().__init__(f"There is no notice {ident!r}.", "See what waits at: GET /outbox")


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice; ``subject`` is a short sentence of ids and paths, ``tries`` counts deliveries; moments are ISO."""

    id: str
    principal: str
    kind: str
    subject: str
    session: str
    run: str
    state: State
    tries: int
    created: str
    changed: str


class Outbox:
    """The notices of one home; safe to use from several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._ask = database.ask

    def put(
        self, principal: str, kind: str, subject: str, now: datetime, *, session: str = "", run: str = ""
    ) -> Notice:
        """Queues a notice."""
        moment = now.isoformat()
        sql = f"INSERT INTO outbox ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, ?, ?) RETURNING {_COLUMNS}"
        (row,) = self._ask(sql, secrets.token_hex(8), principal, kind, subject, session, run, moment, moment)
        return _notice(row)

    def get(self, ident: str, principal: str) -> Notice:
        """Gives a principal's notice; raises UnknownNotice for another's too."""
        for row in self._ask(f"SELECT {_COLUMNS} FROM outbox WHERE id = ? AND principal = ?", ident, principal):
            return _notice(row)
        raise UnknownNotice(ident)

    def waiting(self, principal: str) -> tuple[Notice, ...]:
        """Gives what a principal has not been told yet, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM outbox WHERE principal = ? AND state = 'queued' ORDER BY rowid"
        return tuple(_notice(row) for row in self._ask(sql, principal))

    def move(self, ident: str, principal: str, before: State, after: State, now: datetime) -> bool:
        """Moves a notice on; False where it is not in the state ``before``, or none leads from there to ``after``."""
        if after not in _NEXT[before]:
            return False
        tries = 1 if after in ("sent", "failed") and before == "queued" else 0
        sql = (
            "UPDATE outbox SET state = ?, tries = tries + ?, changed = ?"
            " WHERE id = ? AND principal = ? AND state = ? RETURNING id"
        )
        return bool(self._ask(sql, after, tries, now.isoformat(), ident, principal, before))


def _notice(row: sqlite3.Row) -> Notice:
    return Notice(**dict(row))
