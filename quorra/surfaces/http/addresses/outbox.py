"""What the caller is told afterwards, and how they like to be told things."""

from typing import TYPE_CHECKING, Literal

import msgspec
from litestar import get, put

from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import Asked, Ident, caller, home, now

if TYPE_CHECKING:
    from quorra.state.preferences import Chosen

State = Literal["sent", "seen", "failed"]


class Notice(msgspec.Struct):
    """One thing that was done, in a short sentence, and whether its person has been told."""

    id: str
    kind: str
    subject: str
    session: str
    run: str
    state: str
    created: str
    changed: str


class Notices(msgspec.Struct):
    """What waits to be told, the oldest first."""

    notices: tuple[Notice, ...]


class Move(msgspec.Struct, forbid_unknown_fields=True):
    """How far a notice has come."""

    state: State


class Preferences(msgspec.Struct):
    """Whether reasoning is shown, and whether what was sent to the model can be looked at."""

    show_thinking: bool
    developer_mode: bool


class Wishes(msgspec.Struct, forbid_unknown_fields=True):
    """The preferences to change; what is left out stays."""

    show_thinking: bool | None = None
    developer_mode: bool | None = None


class Settled(QuorraError):
    """A notice is as far as that already, or further."""

    code = "settled"

    def __init__(self, state: str) -> None:
        super().__init__(f"The notice can't become {state} any more.", "See what waits at: GET /outbox")


@get("/outbox", sync_to_thread=True, responses=errors.documented(*errors.ALL))
def waiting(request: Asked) -> Notices:
    """Lists what the caller has not been told yet."""
    found = home(request).outbox.waiting(caller(request).id)
    return Notices(msgspec.convert(found, tuple[Notice, ...], from_attributes=True))


@put("/outbox/{ident:str}", sync_to_thread=True, responses=errors.documented(*errors.BODY, 404, 409))
def move(request: Asked, ident: Ident, data: Move) -> Notice:
    """Notes that a notice was sent, could not be sent, or was seen; it never goes back."""
    principal = caller(request).id
    before = home(request).outbox.get(ident, principal).state
    if not home(request).outbox.move(ident, principal, before, data.state, now()):
        raise Settled(data.state)
    return msgspec.convert(home(request).outbox.get(ident, principal), Notice, from_attributes=True)


@get("/preferences", sync_to_thread=True, responses=errors.documented(*errors.ALL))
def preferences(request: Asked) -> Preferences:
    """Tells how the caller likes to be told things."""
    return _preferences(home(request).preferences.of(caller(request).id))


@put("/preferences", sync_to_thread=True, responses=errors.documented(*errors.BODY))
def prefer(request: Asked, data: Wishes) -> Preferences:
    """Changes the preferences that are named."""
    principal = caller(request).id
    chosen = home(request).preferences.set(
        principal, show_thinking=data.show_thinking, developer_mode=data.developer_mode
    )
    return _preferences(chosen)


def _preferences(chosen: "Chosen") -> Preferences:
    return Preferences(chosen.show_thinking, chosen.developer_mode)
