"""The bot's own database: what came in and what goes out, so that neither is lost or done twice."""

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from quorra.errors import QuorraError
from quorra.state import database
from quorra.surfaces.matrix.hearing.rules import Asked

FILE = "bot.db"
_ASKED = "id, person, session, digest, expires, shown, open, aside"
_OLD = {
    "events": "state <> 'waiting' AND came",
    "sends": "sent <> '' AND at",
    "told": "at",
    "said": "at",
    "confirmations": "expires <> '' AND expires",
}
"""What is old by which time; sessions and rooms last as long as the bot is in the room."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that is not answered yet; its number gives its place."""

    seq: int
    event: str
    room: str
    came: datetime
    source: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to send, under the transaction id that it keeps."""

    txn: str
    room: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Posted:
    """What answers an event: the messages, what they ask for, and the notices that they tell."""

    messages: tuple[Mapping[str, Any], ...] = ()
    person: str = ""
    session: str = ""
    asked: Asked | None = None
    run: str = ""
    told: tuple[str, ...] = ()


class Taken(QuorraError):
    """Another bot is at work on this home."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__("Another bot runs on this home.", "End it first: one answers for all.")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder for one bot, until the block or the process ends; raises Taken."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Taken from error
        yield


class Store:
    """Keeps what the bot must know after a restart; text is kept only until it is answered or sent."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._base = database.open(folder / FILE, database.migrations(Path(__file__).parent / "migrations"))
        self._ask = self._base.ask

    def close(self) -> None:
        """Closes the database."""
        self._base.close()

    def kept(self, name: str) -> str:
        """Gives a value that was kept, empty where none was."""
        rows = self._ask("SELECT value FROM kept WHERE name = ?", name)
        return str(rows[0]["value"]) if rows else ""

    def keep(self, **values: str) -> None:
        """Keeps values under their names."""
        with self._base.transaction():
            for name, value in values.items():
                self._ask("INSERT OR REPLACE INTO kept VALUES (?, ?)", name, value)

    def take(
        self,
        token: str,
        came: Sequence[tuple[str, Mapping[str, Any]]],
        locked: Sequence[tuple[str, Mapping[str, Any]]],
        joined: Iterable[str],
        left: Iterable[str],
        now: datetime,
    ) -> None:
        """Takes in one sync: what came, what can't be read yet, rooms joined and left; the token moves with them."""
        with self._base.transaction():
            for room in left:
                self._leave(room)
            for room in joined:
                self._ask("INSERT OR IGNORE INTO rooms VALUES (?)", room)
            for room, event in locked:
                self._insert(room, event, "locked", now)
            for room, event in came:
                self._insert(room, event, "waiting", now)
            self.keep(token=token)

    def rooms(self) -> frozenset[str]:
        """Names the rooms that the bot is in."""
        return frozenset(row["room"] for row in self._ask("SELECT room FROM rooms"))

    def unlock(self, event: str, source: Mapping[str, Any]) -> None:
        """Puts an event that can be read now among those that wait, in the place of its coming."""
        sql = "UPDATE events SET state = 'waiting', source = ? WHERE event = ? AND state = 'locked'"
        self._ask(sql, json.dumps(source), event)

    def locked(self, room: str | None = None) -> list[Waiting]:
        """Gives the events that could not be read."""
        return self._events("locked", room)

    def unread(self, before: datetime) -> dict[str, list[str]]:
        """Names the events that could not be read for long and that nobody was told of, by their room."""
        sql = "SELECT room, event FROM events WHERE state = 'locked' AND told = 0 AND came < ? ORDER BY seq"
        found: dict[str, list[str]] = {}
        for row in self._ask(sql, before.isoformat()):
            found.setdefault(row["room"], []).append(row["event"])
        return found

    def tell_unread(self, room: str, events: Sequence[str], content: Mapping[str, Any], now: datetime) -> None:
        """Keeps the one message which says that these can't be read."""
        with self._base.transaction():
            self._send(room, f"locked {events[-1]}", 0, content, now)
            for event in events:
                self._ask("UPDATE events SET told = 1 WHERE event = ?", event)

    def open(self, event: str, room: str) -> Waiting | None:
        """Gives an event that nobody has answered yet, whether it could be read or not."""
        found = [*self._events("waiting", room), *self._events("locked", room)]
        return next((one for one in found if one.event == event), None)

    def waiting(self, room: str | None = None) -> list[Waiting]:
        """Gives the events that wait to be answered, in their order."""
        return self._events("waiting", room)

    def seen(self, event: str) -> bool:
        """Tells whether an event came before."""
        return bool(self._ask("SELECT 1 FROM events WHERE event = ?", event))

    def replace(self, target: str, sender: str, source: Mapping[str, Any]) -> None:
        """Puts an edited text in its place while nobody has answered the message; only its sender can.

        One that could not be read can be now: the edit tells all of it.
        """
        sql = "UPDATE events SET source = ?, state = 'waiting' WHERE event = ? AND sender = ? AND state <> 'done'"
        self._ask(sql, json.dumps(source), target, sender)

    def answer(self, event: Waiting, posted: Posted, now: datetime) -> None:
        """Keeps an event's answer before it is sent; its own text is dropped."""
        with self._base.transaction():
            sql = "UPDATE events SET state = 'done', source = '' WHERE event = ? RETURNING seq"
            if not self._ask(sql, event.event):
                return  # the room was left meanwhile
            txns = [self._send(event.room, event.event, at, one, now) for at, one in enumerate(posted.messages)]
            if posted.session:
                self.begin(event.room, posted.person, posted.session)
            if posted.asked:
                self._shows(event.room, posted.asked, txns[-1])
            for subject in posted.told:
                sql = "INSERT OR IGNORE INTO told (run, subject, room, at) VALUES (?, ?, ?, ?)"
                self._ask(sql, posted.run, subject, event.room, now.isoformat())

    def post(self, room: str, about: str, content: Mapping[str, Any], now: datetime) -> None:
        """Keeps a message that answers no event; the same one about the same thing is kept once."""
        with self._base.transaction():
            self._send(room, about, 0, content, now)

    def drop(self, event: str, room: str) -> None:
        """Ends an event of a room without an answer."""
        self._ask("UPDATE events SET state = 'done', source = '' WHERE event = ? AND room = ?", event, room)

    def outgoing(self, room: str | None = None) -> list[Outgoing]:
        """Gives what is not sent yet, in its order."""
        sql = "SELECT txn, room, content FROM sends WHERE sent = '' AND (? IS NULL OR room = ?) ORDER BY seq"
        return [Outgoing(row["txn"], row["room"], json.loads(row["content"])) for row in self._ask(sql, room, room)]

    def busy(self) -> frozenset[str]:
        """Names the rooms in which something is to be answered or sent."""
        sql = "SELECT room FROM events WHERE state = 'waiting' UNION SELECT room FROM sends WHERE sent = ''"
        return frozenset(row["room"] for row in self._ask(sql))

    def sent(self, txn: str, event: str) -> None:
        """Notes under which event a message stands in its room; its text is dropped."""
        with self._base.transaction():
            self._ask("UPDATE sends SET sent = ?, content = '' WHERE txn = ?", event, txn)
            self._ask("UPDATE confirmations SET shown = ? WHERE txn = ?", event, txn)

    def session(self, room: str, person: str) -> str | None:
        """Gives the session that a person has in a room."""
        rows = self._ask("SELECT session FROM sessions WHERE room = ? AND person = ?", room, person)
        return str(rows[0]["session"]) if rows else None

    def begin(self, room: str, person: str, session: str | None) -> None:
        """Notes a person's session in a room; None ends it."""
        if session is None:
            self._ask("DELETE FROM sessions WHERE room = ? AND person = ?", room, person)
        else:
            self._ask("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", room, person, session)

    def asked(self, room: str) -> tuple[Asked, ...]:
        """Gives the confirmations that were shown in a room, the oldest first."""
        rows = self._ask(f"SELECT {_ASKED} FROM confirmations WHERE room = ? ORDER BY rowid", room)
        flags = ("open", "aside")
        return tuple(Asked(**{**dict(row), **{name: bool(row[name]) for name in flags}}) for row in rows)

    def aside(self, room: str) -> None:
        """Notes that something else was said in a room than an answer to what waits there."""
        self._ask("UPDATE confirmations SET aside = 1 WHERE room = ? AND open = 1", room)

    def settle(self, ident: str) -> None:
        """Notes that a confirmation waits no more."""
        self._ask("UPDATE confirmations SET open = 0 WHERE id = ?", ident)

    def due(self, subject: str, what: str, every: timedelta, now: datetime) -> bool:
        """Tells whether a sentence may be said again, and notes that it is."""
        with self._base.transaction():
            rows = self._ask("SELECT at FROM said WHERE subject = ? AND what = ?", subject, what)
            if rows and datetime.fromisoformat(rows[0]["at"]) + every > now:
                return False
            self._ask("INSERT OR REPLACE INTO said VALUES (?, ?, ?)", subject, what, now.isoformat())
            return True

    def told(self, run: str, subject: str) -> bool:
        """Tells whether a reply has told of this already."""
        return bool(self._ask("SELECT 1 FROM told WHERE run = ? AND subject = ?", run, subject))

    def prune(self, before: datetime) -> None:
        """Forgets what was done with long ago."""
        with self._base.transaction():
            for table, old in _OLD.items():
                self._ask(f"DELETE FROM {table} WHERE {old} < ?", before.isoformat())

    def _events(self, state: str, room: str | None) -> list[Waiting]:
        sql = "SELECT * FROM events WHERE state = ? AND (? IS NULL OR room = ?) ORDER BY seq"
        return [
            Waiting(
                row["seq"], row["event"], row["room"], datetime.fromisoformat(row["came"]), json.loads(row["source"])
            )
            for row in self._ask(sql, state, room, room)
        ]

    def _insert(self, room: str, event: Mapping[str, Any], state: str, now: datetime) -> None:
        sql = "INSERT OR IGNORE INTO events (event, room, sender, came, state, source) VALUES (?, ?, ?, ?, ?, ?)"
        self._ask(sql, event["event_id"], room, event["sender"], now.isoformat(), state, json.dumps(event))

    def _send(self, room: str, about: str, part: int, content: Mapping[str, Any], now: datetime) -> str:
        txn = f"q{hashlib.sha256(f'{room} {about}'.encode()).hexdigest()[:32]}-{part}"
        sql = "INSERT OR IGNORE INTO sends (txn, room, content, at) VALUES (?, ?, ?, ?)"
        self._ask(sql, txn, room, json.dumps(content), now.isoformat())
        return txn

    def _shows(self, room: str, asked: Asked, txn: str) -> None:
        self._ask(
            "INSERT OR REPLACE INTO confirmations (id, room, person, session, digest, expires, txn)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            asked.id, room, asked.person, asked.session, asked.digest, asked.expires, txn,
        )  # fmt: skip

    def _leave(self, room: str) -> None:
        for table in ("rooms", "events", "sends", "sessions", "confirmations", "told"):
            self._ask(f"DELETE FROM {table} WHERE room = ?", room)
        self._ask("DELETE FROM said WHERE subject = ?", room)
