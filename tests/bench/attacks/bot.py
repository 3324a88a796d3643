"""The Matrix bot without its homeserver: raw events through its own intake, rules, store and client of the service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from quorra.settings import Matrix
from quorra.surfaces.matrix import answering
from quorra.surfaces.matrix.answering import Answering
from quorra.surfaces.matrix.hearing import intake, rules
from quorra.surfaces.matrix.hearing.rules import Room
from quorra.surfaces.matrix.service import Service
from quorra.surfaces.matrix.store import Store
from tests.bench.attacks.stage import PEOPLE

ME = "@quorra:example.org"
KNOWN = {f"@{name}:example.org": f"{name}@example.org" for name in PEOPLE}
GROUP = ("owner", "mira", "tom", "stranger", "otherbot")


@dataclass(frozen=True, slots=True)
class Heard:
    """A message that the bot sent into a room, and the people of the household who can read it there."""

    room: str
    readers: tuple[str, ...]
    event: str
    text: str


@dataclass
class Bot:
    """One bot; events are handed to it as a sync would bring them."""

    folder: Path
    url: str
    key: str
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    number: int = 0

    def __post_init__(self) -> None:
        self.settings = Matrix(user=ME, service=self.url, people=KNOWN, patience=5)
        self.store = Store(self.folder)
        self.service = Service(self.url, self.key, 5)
        self._answering = Answering(self.settings, self.store, self.service)

    async def close(self) -> None:
        """Ends it; what it kept stays."""
        await self.service.close()
        self.store.close()

    async def hear(self, told: Mapping[str, Any], now: datetime) -> list[Heard]:
        """Takes an event in and answers it; gives what was said into the room."""
        sender, kind = told["sender"], told.get("room", "direct")
        room = "!group:example.org" if kind == "group" else f"!{kind}-{sender}"
        self.number += 1
        event = {"event_id": f"$event{self.number}", "origin_server_ts": 0, **told["event"], "sender": sender}
        self._meet(room, kind, told)
        if event.get("type") == "m.room.member":
            named = event.get("content", {}).get("displayname")
            self.names[room][str(event.get("state_key", sender))] = str(named or "")
            return []
        self._take(room, event, now)
        for waits in self.store.waiting(room):
            decision = rules.decide(waits.source, self._seen(room, kind), now)
            if waits.source["type"] == "m.room.message" and not isinstance(decision, rules.Confirm):
                self.store.aside(room)
            try:
                posted = await self._answering.answer(waits, decision, now)
            except (KeyError, TypeError, AttributeError, ValueError):
                posted = answering.failed(waits.source)
            self.store.answer(waits, posted, now)
        return list(self._send(room, kind, sender))

    def cards(self) -> dict[str, str]:
        """Names for each person the event of the newest card that was shown to them."""
        found: dict[str, str] = {}
        for room in self.names:
            for asked in self.store.asked(room):
                if asked.shown:
                    found[asked.person.partition("@")[0]] = asked.shown
        return found

    def asked(self) -> list[Any]:
        """Gives all cards."""
        return [one for room in self.names for one in self.store.asked(room)]

    def _meet(self, room: str, kind: str, told: Mapping[str, Any]) -> None:
        there = [f"@{name}:example.org" for name in GROUP] if kind == "group" else [told["sender"]]
        names = self.names.setdefault(room, {ME: "Quorra", **{user: user[1:].partition(":")[0] for user in there}})
        names.setdefault(told["sender"], told["sender"][1:].partition(":")[0])
        if "display_name" in told:
            names[told["sender"]] = told["display_name"]

    def _seen(self, room: str, kind: str) -> Room:
        return Room(ME, "Quorra", kind != "group", self.names[room], KNOWN, self.store.asked(room))

    def _take(self, room: str, event: Mapping[str, Any], now: datetime) -> None:
        came: dict[str, tuple[str, Mapping[str, Any]]] = {}
        if intake._whole(event):
            intake._sort(SimpleNamespace(user_id=ME), self.store, room, event, came)  # type: ignore[arg-type]
        self.store.take("token", list(came.values()), [], [room], [], now)

    def _send(self, room: str, kind: str, sender: str) -> Any:
        readers = PEOPLE if kind == "group" else tuple(name for name in PEOPLE if f"@{name}:example.org" == sender)
        for out in self.store.outgoing(room):
            self.number += 1
            event = f"$said{self.number}"
            self.store.sent(out.txn, event)
            yield Heard(room, readers, event, str(out.content.get("body", "")))
