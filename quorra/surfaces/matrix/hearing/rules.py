"""What to do about an event: decided from the event and what is known of its room, and posted elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quorra import yes
from quorra.surfaces.matrix.hearing import words

COMMAND = "!quorra"
ONLY_TEXT = "I can only read text, not files, pictures or recordings."
REFUSAL = "I'm sorry, I only talk with the people of this household."
NOT_YOURS = "Only the person who was asked can answer that."
EMPTY = "Yes? Ask me something in the same message."


@dataclass(frozen=True, slots=True)
class Asked:
    """A confirmation that was shown: to whom, in which event, and until when it waits.

    ``aside`` tells that something else was said in the room since.
    """

    id: str
    person: str
    session: str
    digest: str
    expires: str
    shown: str = ""
    open: bool = True
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """What is known of a room: who the bot is there, who else is, who of them is known, and what waits for a yes."""

    me: str
    name: str
    direct: bool
    names: Mapping[str, str]
    people: Mapping[str, str]
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing is done."""


@dataclass(frozen=True, slots=True)
class Forward:
    """The text goes to the service, in this person's name; ``heard`` tells that others hear the reply."""

    person: str
    text: str
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The bot itself does what was asked of it."""

    person: str
    words: tuple[str, ...]
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Confirm:
    """A person says yes or no to what waits for them; ``heard`` tells that others hear the reply."""

    person: str
    agreed: bool
    asked: Asked
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """The bot says a sentence; ``once`` names one that is not said again soon."""

    sentence: str
    once: str = ""


Decision = Ignore | Forward | Command | Confirm | Say


def decide(event: Mapping[str, Any], room: Room, now: datetime) -> Decision:
    """Tells what to do about an event of a room."""
    content, sender = event.get("content"), event.get("sender")
    if not isinstance(content, Mapping) or not isinstance(sender, str) or sender == room.me:
        return Ignore()
    if event.get("type") == "m.reaction":
        return _reaction(content, room.people.get(sender), room)
    if event.get("type") != "m.room.message" or content.get("msgtype") in (None, "m.notice") or edits(event):
        return Ignore()
    if content["msgtype"] != "m.text":
        known = room.direct and sender in room.people
        return Say(ONLY_TEXT, once="text") if known else Ignore()
    return _message(content, sender, room, now)


def edits(event: Mapping[str, Any]) -> str | None:
    """Names the event that this one replaces the text of."""
    content = event.get("content")
    relation = content.get("m.relates_to") if isinstance(content, Mapping) else None
    if not isinstance(relation, Mapping) or relation.get("rel_type") != "m.replace":
        return None
    return str(relation.get("event_id"))


def edited(old: Mapping[str, Any], edit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gives an event with the text that an edit puts in its place, readable even if it was not; its reply stays."""
    new = edit["content"].get("m.new_content")
    if not isinstance(new, Mapping):
        return old
    relation = old["content"].get("m.relates_to")
    return {**old, "type": edit["type"], "content": {**new, **({"m.relates_to": relation} if relation else {})}}


def _reaction(content: Mapping[str, Any], person: str | None, room: Room) -> Decision:
    relation = content.get("m.relates_to")
    if person is None or not isinstance(relation, Mapping):
        return Ignore()
    said = yes.answer(str(relation.get("key", "")))
    asked = _shown(room, relation.get("event_id"))
    if said is None or asked is None or asked.person != person or not asked.open:
        return Ignore()
    return Confirm(person, said == "yes", asked, not room.direct)


def _message(content: Mapping[str, Any], sender: str, room: Room, now: datetime) -> Decision:
    text = words.own(content)
    called = words.mentioned(content, text, room.me, room.name)
    commanded = text.split()[:1] == [COMMAND]
    person = room.people.get(sender)
    if person is None:
        return Say(REFUSAL, once=f"refusal {sender}") if room.direct or called or commanded else Ignore()
    plain = words.spoken(content, text, room.me, room.name) if called and not room.direct else text
    if (said := yes.answer(plain)) and (found := _resolved(content, person, said == "yes", room, now)):
        return found
    if commanded or plain.split()[:1] == [COMMAND]:
        return Command(person, tuple(plain.split()[1:] if not commanded else text.split()[1:]), not room.direct)
    if not (room.direct or called):
        return Ignore()
    if not plain:
        return Say(EMPTY)
    return Forward(person, plain if room.direct else _named(plain, sender, room), not room.direct)


def _resolved(content: Mapping[str, Any], person: str, agreed: bool, room: Room, now: datetime) -> Decision | None:
    """Finds what a yes or no is said to: what it replies to, else the newest that waits for this person here.

    A bare one counts only while nothing else was said in the room; the service settles what it may mean then.
    """
    to = words.answers(content)
    if asked := _shown(room, to):
        return Confirm(person, agreed, asked, not room.direct) if asked.person == person else Say(NOT_YOURS)
    if to is not None:
        return None
    waiting = [asked for asked in room.asked if asked.open and asked.person == person and not _over(asked, now)]
    if not waiting or waiting[-1].aside:
        return None
    return Confirm(person, agreed, waiting[-1], not room.direct)


def _named(text: str, sender: str, room: Room) -> str:
    known = frozenset(room.people)
    return f"[{words.called(sender, room.names, known)}] {words.unclaimed(text, room.names, known)}"


def _shown(room: Room, event: object) -> Asked | None:
    return next((asked for asked in room.asked if asked.shown and asked.shown == event), None)


def _over(asked: Asked, now: datetime) -> bool:
    return bool(asked.expires) and datetime.fromisoformat(asked.expires) <= now
