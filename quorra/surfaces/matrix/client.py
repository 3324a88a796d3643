"""The bot's place on its homeserver: signing in once, encryption, and one step of syncing at a time."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nio

from quorra.errors import QuorraError
from quorra.settings import Matrix
from quorra.surfaces.matrix.store import Store

DEVICE = "Quorra"
HIDDEN = "m.room.hidden"
_FILTER = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {"timeline": {"limit": 50}, "ephemeral": {"types": []}, "account_data": {"types": []}},
}
_PAGE = 100
_PAUSE = 5.0
_PAGES = 50
"""How far a gap in a room is read back: pages of so many events."""


class SignedOut(QuorraError):
    """The homeserver does not let the bot in."""

    code = "signed_out"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The homeserver does not let the bot in: {reason}.",
            "Give its password in QUORRA_MATRIX_PASSWORD, or an access token in QUORRA_MATRIX_TOKEN.",
        )


class Unread(QuorraError):
    """What was said in a room meanwhile can't be read now."""

    code = "matrix_away"

    def __init__(self, code: str) -> None:
        super().__init__(f"The homeserver did not give what was said meanwhile: {code}.", "It is asked again.")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What opens the homeserver and the service; from the environment."""

    password: str = ""
    token: str = ""
    service: str = ""


class Client(nio.AsyncClient):  # type: ignore[misc]
    """nio's client, made to count every member: one that it overlooks would make a group seem a direct room."""

    async def receive_response(self, response: nio.Response) -> None:
        """Takes a response in; members whose names are no text, or whose coming was redacted, are members still."""
        if isinstance(response, nio.SyncResponse):
            for room in response.rooms.join.values():
                for events in (room.state, room.timeline.events):
                    events[:] = map(_mended, events)
        await super().receive_response(response)

    def _handle_decrypt_to_device(self, to_device_event: Any) -> Any:
        with suppress(RecursionError):  # nested too deeply to be read, which must cost nobody else their keys
            return super()._handle_decrypt_to_device(to_device_event)
        return None

    def _handle_timeline_event(self, event: Any, room_id: str, *given: Any) -> Any:
        if isinstance(event, nio.MegolmEvent) and self.olm:
            return opened(self, room_id, event)
        return super()._handle_timeline_event(event, room_id, *given)

    def _handle_messages_response(self, response: Any) -> None:
        """Leaves the pages of a room's past as they came; what reads them decrypts them."""


def opened(client: Client, room: str, event: Any) -> Any:
    """Decrypts an event; None where it can't be.

    Only messages come encrypted. Members, names or redactions that do would be anybody's word, so they count for
    nothing.
    """
    event.room_id = room
    try:
        found = client.olm.decrypt_megolm_event(event)
    except (nio.EncryptionError, RecursionError):
        return None
    return found if isinstance(found, nio.RoomMessage) else nio.UnknownEvent({**event.source, "type": HIDDEN}, HIDDEN)


def make(settings: Matrix, folder: Path) -> Client:
    """Makes the client; its keys lie beside the bot's store, readable by this user alone."""
    logging.getLogger("nio").setLevel(logging.ERROR)  # it warns of every key that is late, with its room
    config = nio.AsyncClientConfig(max_timeout_retry_wait_time=5, request_timeout=30)
    keys = folder / "keys"
    keys.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Client(settings.homeserver.rstrip("/"), settings.user, store_path=str(keys), config=config)


async def sign_in(client: Client, store: Store, secrets: Secrets) -> None:
    """Signs in with what was kept, else with a token or the password, and keeps token and device; raises SignedOut."""
    who = f"{client.user} {client.homeserver}"
    if store.kept("token_of") == who and store.kept("access"):
        client.restore_login(client.user, store.kept("device"), store.kept("access"))
        return
    if store.kept("token_of") == who:
        client.device_id = store.kept("device")  # signed out, but the keys are this device's
    if secrets.token:
        await _by_token(client, secrets.token)
    elif secrets.password:
        await _by_password(client, secrets.password)
    else:
        raise SignedOut("neither a password nor a token was given")
    store.keep(token_of=who, access=client.access_token, device=str(client.device_id))


async def step(client: Client, since: str, *, wait: int, whole: bool = False) -> nio.SyncResponse | nio.ErrorResponse:
    """Syncs once, for at most ``wait`` milliseconds, and does what encryption asks for after it."""
    found = await client.sync(wait, _FILTER, since or None, full_state=whole)
    if isinstance(found, nio.SyncResponse):
        await _keys(client)
    return found


async def missed(
    client: Client, room: str, back: str, since: str, ends: Callable[[Mapping[str, Any]], bool]
) -> list[Mapping[str, Any]]:
    """Reads what a limited sync left out, the oldest first, down to ``since`` or to an event that ends it."""
    found: list[Mapping[str, Any]] = []
    for _ in range(_PAGES):
        page = await client.room_messages(room, back, since or None, limit=_PAGE)
        if not isinstance(page, nio.RoomMessagesResponse):
            raise Unread(str(page.status_code))
        for event in page.chunk:
            found.append(readable(client, room, event))
            if ends(event.source):
                return found[::-1]
        if not page.end or page.end == back or not page.chunk:
            break
        back = page.end
    return found[::-1]


def readable(client: Client, room: str, event: Any) -> Mapping[str, Any]:
    """Gives an event's JSON, decrypted where its key is here; one that can't be read stays ``m.room.encrypted``."""
    if isinstance(event, nio.MegolmEvent) and client.olm:
        event = opened(client, room, event) or event
    source: Mapping[str, Any] = event.source
    return source


def unlocked(client: Client, room: str, source: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Tries again to read an encrypted event."""
    event = _encrypted(source)
    found = readable(client, room, event) if event else source
    return None if found.get("type") == "m.room.encrypted" else found


async def ask_key(client: Client, room: str, source: Mapping[str, Any]) -> None:
    """Asks for the key of an event that can't be read, once."""
    event = _encrypted(source)
    if event and event.session_id not in client.outgoing_key_requests:
        event.room_id = room
        await client.request_room_key(event)


def _encrypted(source: Mapping[str, Any]) -> Any:
    if source["content"].get("algorithm") != "m.megolm.v1.aes-sha2":
        return None
    event = nio.MegolmEvent.from_dict(json.loads(json.dumps(source)))
    return event if isinstance(event, nio.MegolmEvent) else None


async def _by_password(client: Client, password: str) -> None:
    while True:
        answer = await client.login(password, device_name=DEVICE)
        if isinstance(answer, nio.LoginResponse):
            return
        if answer.transport_response.status < 500:
            raise SignedOut(_reason(answer))
        await asyncio.sleep(_PAUSE)


async def _by_token(client: Client, token: str) -> None:
    client.access_token = token
    answer = await client.whoami()
    if not isinstance(answer, nio.WhoamiResponse):
        raise SignedOut(_reason(answer))
    if answer.user_id != client.user:
        raise SignedOut(f"the token is not {client.user}'s")
    client.restore_login(answer.user_id, answer.device_id or "", token)


async def _keys(client: Client) -> None:
    await client.send_to_device_messages()
    if client.should_upload_keys:
        await client.keys_upload()
    if client.should_query_keys:
        await client.keys_query()
    if client.should_claim_keys:
        await client.keys_claim(client.get_users_for_key_claiming())


def _reason(answer: Any) -> str:
    return str(getattr(answer, "message", "") or "it gave no reason").rstrip(".")


def _mended(event: Any) -> Any:
    source = event.source
    if isinstance(event, nio.RoomMemberEvent) or source.get("type") != "m.room.member":
        return event
    content = {key: value for key, value in source.get("content", {}).items() if isinstance(value, str)}
    plain = {key: value for key, value in source.items() if key in ("event_id", "sender", "state_key", "type")}
    return nio.Event.parse_event({**plain, "origin_server_ts": 0, "content": content})
