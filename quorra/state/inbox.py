"""The inbox: what waits for a person's yes, of every kind, each moved on by one conditional update."""

import json
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from quorra.errors import QuorraError
from quorra.state.database import Database

State = Literal["draft_ready", "approved", "applied", "failed", "declined", "cancelled", "expired"]
_FIELDS = (
    "id", "kind", "title", "payload", "principal", "surface", "reason", "state", "created", "changed", "shown",
    "result", "session", "run", "tool", "digest", "expires",
)  # fmt: skip
_COLUMNS = ", ".join(_FIELDS)


class UnknownItem(QuorraError):
    """Nothing in the inbox has this id."""

    code = "no_item"

    def __init__(self, ident: str) -> None:
        super().__init__(f"Nothing in the inbox has the id {ident!r}.", "See what waits with: quorra review list")


@dataclass(frozen=True, slots=True)
class Item:
    """One entry: what is proposed, by whom and why, and how far it is.

    ``shown`` identifies the rendering that a person saw last; ``result`` is the
    commit of an applied item or the error that the last try ended with. What
    belongs to a conversation names its ``session``, ``run`` and ``tool``, and by
    its ``digest`` exactly what will be done. Moments are ISO 8601.
    """

    id: str
    kind: str
    title: str
    payload: Mapping[str, Any]
    principal: str
    surface: str
    reason: str
    state: State
    created: str
    changed: str
    shown: str
    result: str | None
    session: str = ""
    run: str = ""
    tool: str = ""
    digest: str = ""
    expires: str = ""


class Inbox:
    """The one queue of a home; safe to use from several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._ask = database.ask

    def put(self, item: Item) -> None:
        """Adds an item."""
        values = (json.dumps(dict(item.payload)) if name == "payload" else getattr(item, name) for name in _FIELDS)
        self._ask(f"INSERT INTO inbox ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})", *values)

    def get(self, ident: str) -> Item:
        """Gives an item; raises UnknownItem."""
        for row in self._ask(f"SELECT {_COLUMNS} FROM inbox WHERE id = ?", ident):
            return _item(row)
        raise UnknownItem(ident)

    def waiting(self, kind: str | None = None, state: State = "draft_ready") -> tuple[Item, ...]:
        """Gives what waits for a person, or is in another state, of one kind where it is named; the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM inbox WHERE state = ?1 AND ?2 IN ('', kind) ORDER BY created, rowid"
        return tuple(_item(row) for row in self._ask(sql, state, kind or ""))

    def every(self) -> tuple[Item, ...]:
        """Gives every item, the oldest first."""
        return tuple(_item(row) for row in self._ask(f"SELECT {_COLUMNS} FROM inbox ORDER BY created, rowid"))

    def move(self, ident: str, before: State, after: State, now: datetime, result: str | None = None) -> bool:
        """Moves an item on if it is still in the state ``before``; False where another was quicker."""
        sql = "UPDATE inbox SET state = ?, changed = ?, result = ? WHERE id = ? AND state = ? RETURNING id"
        return bool(self._ask(sql, after, now.isoformat(timespec="seconds"), result, ident, before))

    def revise(
        self, ident: str, before: str, title: str, payload: Mapping[str, Any], digest: str, now: datetime
    ) -> bool:
        """Puts something else in an item's place if it waits with the digest ``before``; that is what was seen, too."""
        sql = (
            "UPDATE inbox SET title = ?, payload = ?, digest = ?3, shown = ?3, changed = ?"
            " WHERE id = ? AND digest = ? AND state = 'draft_ready' RETURNING id"
        )
        moment = now.isoformat(timespec="seconds")
        return bool(self._ask(sql, title, json.dumps(dict(payload)), digest, moment, ident, before))

    def show(self, ident: str, shown: str) -> None:
        """Notes which rendering of an item a person has seen."""
        self._ask("UPDATE inbox SET shown = ? WHERE id = ? RETURNING id", shown, ident)


def ident() -> str:
    """Makes an id for a new item."""
    return secrets.token_hex(4)


def _item(row: sqlite3.Row) -> Item:
    fields = {key: row[key] for key in row.keys()}  # noqa: SIM118  a row iterates over its values
    return Item(**{**fields, "payload": json.loads(fields["payload"])})
