"""Sessions: who talks with Quorra, and every entry of what was said and done, numbered without a gap."""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from quorra.errors import QuorraError
from quorra.state.database import Database, folded

Kind = Literal["user", "assistant", "tool_call", "tool_result", "approval_request", "approval_resolved", "notice"]
Mark = Literal["", "interrupted", "failed"]
_COLUMNS = "session, seq, kind, text, at, run, mark, call, data, ref"
_SPOKEN = "kind IN ('user', 'assistant')"


class UnknownSession(QuorraError):
    """There is no such session, or it is another's."""

    code = "no_session"

    def __init__(self, ident: str) -> None:
        super().__init__(f"There is no session {ident!r}.", "Begin a new one by leaving the session's id out.")


class ScopeFixed(QuorraError):
    """The session has another scope already."""

    code = "scope_fixed"

    def __init__(self, ident: str, scope: tuple[str, ...]) -> None:
        super().__init__(
            f"The session {ident!r} has the scope {json.dumps(scope, ensure_ascii=False)} for good.",
            "Send that scope or none, or begin a new session.",
        )
        self.scope = scope


class Repeated(QuorraError):
    """The session has an entry with this ``ref`` already: ``entry``."""

    code = "repeated"

    def __init__(self, entry: "Entry") -> None:
        super().__init__(f"The message {entry.ref!r} was taken before.", "Send a new message under a new id.")
        self.entry = entry


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation; ``entering`` means that the mode's entry context is due, moments are ISO 8601."""

    id: str
    principal: str
    origin: str
    scope: tuple[str, ...] | None
    mode: str | None
    entering: bool
    purpose: str | None
    title: str
    created: str
    changed: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing said or done; ``call`` is a tool call's id, ``ref`` the client's own id of a message."""

    session: str
    seq: int
    kind: Kind
    text: str
    at: str
    run: str
    mark: Mark
    call: str
    data: Mapping[str, Any]
    ref: str


class Sessions:
    """The sessions of one home; safe to use from several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ask = database.ask

    def begin(self, principal: str, origin: str, now: datetime) -> Session:
        """Begins a session without a scope."""
        ident, moment = secrets.token_hex(16), now.isoformat()
        sql = "INSERT INTO sessions (id, principal, origin, created, changed) VALUES (?, ?, ?, ?, ?)"
        self._ask(sql, ident, principal, origin, moment, moment)
        return self.get(ident, principal)

    def get(self, ident: str, principal: str) -> Session:
        """Gives a principal's session; raises UnknownSession for another's too."""
        for row in self._ask("SELECT * FROM sessions WHERE id = ? AND principal = ?", ident, principal):
            return _session(row)
        raise UnknownSession(ident)

    def every(self, principal: str, *, after: str | None = None, limit: int | None = None) -> tuple[Session, ...]:
        """Gives a principal's sessions, the one last spoken in first, or those behind one; raises UnknownSession."""
        where, values = "", []
        if after is not None:
            where = " AND (changed, rowid) < (SELECT changed, rowid FROM sessions WHERE id = ?)"
            values = [self.get(after, principal).id]
        sql = f"SELECT * FROM sessions WHERE principal = ?{where} ORDER BY changed DESC, rowid DESC LIMIT ?"
        return tuple(_session(row) for row in self._ask(sql, principal, *values, -1 if limit is None else limit))

    def commit_scope(self, ident: str, scope: Iterable[str]) -> None:
        """Fixes a session's scope for good; the same again is fine, another raises ScopeFixed."""
        wanted = tuple(dict.fromkeys(scope))
        text = json.dumps(wanted, ensure_ascii=False)
        if self._ask("UPDATE sessions SET scope = ? WHERE id = ? AND scope IS NULL RETURNING id", text, ident):
            return
        for row in self._ask("SELECT scope FROM sessions WHERE id = ?", ident):
            fixed = tuple(json.loads(row["scope"]))
            if set(fixed) != set(wanted):
                raise ScopeFixed(ident, fixed)
            return
        raise UnknownSession(ident)

    def set_purpose(self, ident: str, text: str | None) -> None:
        """Says or unsays what a session is for; raises UnknownSession."""
        self._set(ident, "purpose = ?", text)

    def set_mode(self, ident: str, name: str | None) -> None:
        """Sets or clears the mode; a set one's entry context is due on the next turn. Raises UnknownSession."""
        self._set(ident, "mode = ?1, entering = ?1 IS NOT NULL", name)

    def entered(self, ident: str) -> None:
        """Notes that the entry context was given; raises UnknownSession."""
        self._set(ident, "entering = 0")

    def set_title(self, ident: str, text: str) -> None:
        """Names a session; raises UnknownSession."""
        self._set(ident, "title = ?", text)

    def append(
        self, ident: str, kind: Kind, text: str, now: datetime, *, run: str = "", mark: Mark = "", call: str = "",
        data: Mapping[str, Any] | None = None, ref: str = "",
    ) -> Entry:  # fmt: skip
        """Adds an entry under the next number; raises UnknownSession, and Repeated where ``ref`` is taken."""
        moment = now.isoformat()
        values = (ident, kind, text, moment, run, mark, call, json.dumps(dict(data or {})), ref)
        with self._database.transaction():
            if ref and (known := self.by_ref(ident, ref)):
                raise Repeated(known)
            self._set(ident, "changed = ?", moment)
            (row,) = self._ask(
                f"INSERT INTO entries ({_COLUMNS}) VALUES (?1, coalesce((SELECT max(seq) FROM entries"
                f" WHERE session = ?1) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING {_COLUMNS}",
                *values,
            )
        return _entry(row)

    def entries(self, ident: str, *, after: int = -1, limit: int | None = None) -> tuple[Entry, ...]:
        """Gives a session's entries behind a number, in their order."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
        return tuple(_entry(row) for row in self._ask(sql, ident, after, -1 if limit is None else limit))

    def recent(self, ident: str, count: int) -> tuple[Entry, ...]:
        """Gives the last things that the person and the assistant said, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE session = ? AND {_SPOKEN} ORDER BY seq DESC LIMIT ?"
        return tuple(_entry(row) for row in reversed(self._ask(sql, ident, count)))

    def before(self, ident: str, seq: int, count: int) -> tuple[Entry, ...]:
        """Gives the last entries in front of a number, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        return tuple(_entry(row) for row in reversed(self._ask(sql, ident, seq, count)))

    def last(self, ident: str) -> Entry | None:
        """Gives the newest entry."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1"
        return next((_entry(row) for row in self._ask(sql, ident)), None)

    def of_run(self, run: str) -> tuple[Entry, ...]:
        """Gives a run's entries in their order."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE run = ? AND run <> '' ORDER BY seq"
        return tuple(_entry(row) for row in self._ask(sql, run))

    def by_ref(self, ident: str, ref: str) -> Entry | None:
        """Gives the entry that a client knows by its own id."""
        sql = f"SELECT {_COLUMNS} FROM entries WHERE session = ? AND ref = ? AND ref <> ''"
        return next((_entry(row) for row in self._ask(sql, ident, ref)), None)

    def begun_by(self, principal: str, ref: str, text: str) -> str | None:
        """Gives the session that a principal's client began with this very message under its own id."""
        sql = (
            "SELECT id FROM sessions JOIN entries ON session = id"
            " WHERE principal = ? AND ref = ? AND text = ? AND seq = 0 ORDER BY sessions.rowid DESC"
        )
        return next((row["id"] for row in self._ask(sql, principal, ref, text)), None)

    def search(self, principal: str, words: str, limit: int = 20) -> tuple[Entry, ...]:
        """Gives what a principal and the assistant said with every one of the words in it, the newest first."""
        wanted = folded(words).split()
        if not wanted:
            return ()
        columns = ", ".join(f"entries.{name}" for name in _COLUMNS.split(", "))
        sql = (
            f"SELECT {columns} FROM entries CROSS JOIN sessions ON sessions.id = entries.session"
            f" WHERE {_SPOKEN} AND principal = ? AND holds(text, ?) ORDER BY entries.rowid DESC LIMIT ?"
        )
        return tuple(_entry(row) for row in self._ask(sql, principal, "\n".join(wanted), limit))

    def forget(self, ident: str) -> bool:
        """Removes a session with all that hangs on it; raises UnknownSession.

        False means that another process is reading just now: the bytes leave the
        database's log when it is done.
        """
        with self._database.transaction():
            # A proposal outlives the session that it came from; a confirmation, which has a digest, does not.
            self._ask("DELETE FROM inbox WHERE session = ? AND digest <> ''", ident)
            self._ask("DELETE FROM outbox WHERE session = ? AND session <> ''", ident)
            if not self._ask("DELETE FROM sessions WHERE id = ? RETURNING id", ident):
                raise UnknownSession(ident)
        return self._database.settle()

    def _set(self, ident: str, what: str, *values: str | None) -> None:
        place = f"?{len(values) + 1}"
        if not self._ask(f"UPDATE sessions SET {what} WHERE id = {place} RETURNING id", *values, ident):
            raise UnknownSession(ident)


def _session(row: sqlite3.Row) -> Session:
    fields = {**dict(row), "entering": bool(row["entering"])}
    if row["scope"] is not None:
        fields["scope"] = tuple(json.loads(row["scope"]))
    return Session(**fields)


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(**{**dict(row), "data": json.loads(row["data"])})
