"""Sending: a message keeps its transaction id however often it is tried, so that it stands in its room once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import nio

from quorra.surfaces.matrix.client import Client

_LONGEST = 30.0
_FAULTS = 40
"""How often sending may fail on this side, a quarter of an hour: a server that is away for a while can cause it too."""
_TYPING = 30_000
_REFRESH = 20.0


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message that could not be sent, and the kind of what stood against it."""

    kind: str


async def send(
    client: Client, room: str, txn: str, content: Mapping[str, Any], *, longest: float = _LONGEST
) -> str | Unsent:
    """Sends a message and gives its event, or why the room does not take it.

    The client waits as long as a server that limits its rate says, and tries under the same id again. In an
    encrypted room all devices of its members get the key, verified or not. The pauses between tries grow
    up to ``longest``.
    """
    pause, faults = min(1.0, longest), 0
    while True:
        try:
            answer = await client.room_send(room, "m.room.message", dict(content), txn, ignore_unverified_devices=True)
        except (nio.LocalProtocolError, nio.EncryptionError, nio.GroupEncryptionError) as error:
            faults += 1
            if room not in client.rooms or faults == _FAULTS:
                return Unsent(type(error).__name__)
            answer = None
        if isinstance(answer, nio.RoomSendResponse):
            return str(answer.event_id)
        if answer is not None and _refused(answer):
            return Unsent(str(answer.status_code))
        await asyncio.sleep(pause)
        pause = min(pause * 2, longest)


@asynccontextmanager
async def typing(client: Client, room: str) -> AsyncIterator[None]:
    """Shows that the bot is at it, while it is."""
    showing = asyncio.create_task(_show(client, room))
    try:
        yield
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)


async def _show(client: Client, room: str) -> None:
    while True:
        await client.room_typing(room, True, _TYPING)
        await asyncio.sleep(_REFRESH)


def _refused(answer: nio.RoomSendError) -> bool:
    """Tells whether trying again is of no use: what the server says of a signed-out bot or its own fault is no such."""
    transport = answer.transport_response
    status = transport.status if transport else 500
    return 400 <= status < 500 and status not in (401, 408, 429)
