"""What a sync brings in: invitations, what was said since, the gaps it left, and keys that came late."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import nio

from quorra.surfaces.matrix import client
from quorra.surfaces.matrix.client import Client
from quorra.surfaces.matrix.hearing import rules
from quorra.surfaces.matrix.store import Store

_LOCKED = "m.room.encrypted"
_ASKING = frozenset({"m.room.message", "m.reaction", _LOCKED})
_IN = ("invite", "join")
_OUT = ("leave", "ban")
Event = Mapping[str, Any]


async def take(
    bot: Client, store: Store, found: nio.SyncResponse, since: str, people: Mapping[str, str], now: datetime
) -> None:
    """Keeps what a sync brought, together with its token; what came before the first sync is history."""
    known = store.rooms()
    came: dict[str, tuple[str, Event]] = {}
    for room, info in found.rooms.join.items():
        events = await _said(bot, store, room, info, since, room in known) if since else []
        for event in events:
            _sort(bot, store, room, event, came)
    locked = [one for one in came.values() if one[1]["type"] == _LOCKED]
    readable = [one for one in came.values() if one[1]["type"] != _LOCKED]
    left = [room for room in found.rooms.leave if room not in found.rooms.join]
    store.take(found.next_batch, readable, locked, found.rooms.join, left, now)
    for room in left:
        bot.rooms.pop(room, None)
    for room, event in locked:
        if event["sender"] in people:
            await client.ask_key(bot, room, event)
    if found.to_device_events:
        unlock(bot, store)
    await _join(bot, found, people)


def unlock(bot: Client, store: Store) -> None:
    """Reads what could not be read before its key came."""
    for event in store.locked():
        if not (readable := client.unlocked(bot, event.room, event.source)):
            continue
        if rules.edits(readable):
            _edit(store, event.room, readable)
            store.drop(event.event, event.room)
        else:
            store.unlock(event.event, readable)


async def _said(bot: Client, store: Store, room: str, info: nio.RoomInfo, since: str, known: bool) -> list[Event]:
    """Gives what was said in a room since the last sync, and since the bot was asked into it."""
    events = [event.source for event in info.timeline.events]
    if info.timeline.limited and info.timeline.prev_batch:
        events = [*await _gap(bot, store, room, info.timeline.prev_batch, since if known else ""), *events]
    start = _start(events, bot.user_id, known)
    return [event for event in events[start:] if _whole(event)]


async def _gap(bot: Client, store: Store, room: str, back: str, since: str) -> list[Event]:
    def ends(event: Event) -> bool:
        return _own(event, bot.user_id) in ("invite", *_OUT) or store.seen(str(event.get("event_id")))

    return await client.missed(bot, room, back, since, ends)


def _start(events: list[Event], me: str, known: bool) -> int:
    """Finds where the bot's own time in a room begins: behind the event by which it was asked in or came in last."""
    start, there = 0 if known else len(events), known
    for at, event in enumerate(events, 1):
        membership = _own(event, me)
        if membership in _OUT:
            there = False
        elif membership and not there:
            start, there = at, True
    return start


def _own(event: Event, me: str) -> str:
    """Gives what an event says of the bot's own place in the room; empty where it says nothing of it."""
    if event.get("type") != "m.room.member" or event.get("state_key") != me:
        return ""
    content = event.get("content")
    membership = content.get("membership") if isinstance(content, Mapping) else ""
    return str(membership) if membership in (*_IN, *_OUT) else ""


def _whole(event: Event) -> bool:
    return all(isinstance(event.get(key), str) for key in ("event_id", "sender", "type")) and isinstance(
        event.get("content"), Mapping
    )


def _sort(bot: Client, store: Store, room: str, event: Event, came: dict[str, tuple[str, Event]]) -> None:
    """Puts an event where it belongs: the bot's own messages are sent, edits and redactions touch what waits."""
    if event["sender"] == bot.user_id:
        if txn := event.get("unsigned", {}).get("transaction_id"):
            store.sent(str(txn), event["event_id"])
        return
    if event["type"] == "m.room.redaction":
        target = str(event.get("redacts") or event["content"].get("redacts"))
        if came.get(target, ("",))[0] == room:
            del came[target]
        store.drop(target, room)
    elif (target := rules.edits(event) or "") and event["type"] == "m.room.message":
        if target in came and came[target][1]["sender"] == event["sender"]:
            came[target] = (room, rules.edited(came[target][1], event))
        else:
            _edit(store, room, event)
    elif event["type"] in _ASKING:
        came[event["event_id"]] = (room, event)


def _edit(store: Store, room: str, edit: Event) -> None:
    """Puts an edit in the place of what it edits, while that waits for its answer or its key."""
    old = store.open(rules.edits(edit) or "", room)
    if old and (new := rules.edited(old.source, edit)) is not old.source:
        store.replace(old.event, edit["sender"], new)


async def _join(bot: Client, found: nio.SyncResponse, people: Mapping[str, str]) -> None:
    """Goes where people of the household ask the bot to; other invitations are left as they are."""
    for room, info in found.rooms.invite.items():
        for event in info.invite_state:
            asks = isinstance(event, nio.InviteMemberEvent) and event.membership == "invite"
            if asks and event.state_key == bot.user_id and event.sender in people:
                await bot.join(room)
