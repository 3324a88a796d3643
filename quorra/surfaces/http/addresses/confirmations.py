"""What waits for the caller's own yes: see it, change what would be done, or drop it."""

from typing import Any

import msgspec
from litestar import delete, get, put

from quorra.agent.conversation.reply import Pending
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import Asked, Ident, caller, home, now


class Confirmations(msgspec.Struct):
    """What waits for a yes, the oldest first."""

    confirmations: tuple[Pending, ...]


class Edit(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments that the call is to have instead."""

    arguments: dict[str, Any]


@get("/confirmations", sync_to_thread=True, responses=errors.documented(*errors.ALL))
def waiting(request: Asked) -> Confirmations:
    """Lists what waits for the caller's yes."""
    return Confirmations(home(request).talks.waiting(caller(request), now()))


@put("/confirmations/{ident:str}", sync_to_thread=True, responses=errors.documented(*errors.BODY, 404, 409))
def edit(request: Asked, ident: Ident, data: Edit) -> Pending:
    """Changes what would be done, and shows it anew with the digest that a yes has to name."""
    return home(request).talks.edit(ident, data.arguments, caller(request), surface="http", now=now())


@delete("/confirmations/{ident:str}", sync_to_thread=True, responses=errors.documented(*errors.ALL, 404, 409))
def cancel(request: Asked, ident: Ident) -> None:
    """Drops it; nothing is done."""
    home(request).talks.cancel(ident, caller(request), surface="http", now=now())
