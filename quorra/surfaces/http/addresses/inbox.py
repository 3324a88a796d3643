"""The inbox: the proposals that wait for the owner, by the rules of ``quorra review``."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.openapi import ResponseSpec
from msgspec import Meta

from quorra.surfaces import fields
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import Asked, Ident, caller, home, owner

if TYPE_CHECKING:
    from quorra.access.planned import Written

WHAT = "The inbox"


class Item(msgspec.Struct):
    """A proposal: what, by whom and why, and how far it is; ``result`` is its commit, or why it was not done."""

    id: str
    kind: str
    title: str
    principal: str
    surface: str
    reason: str
    state: str
    created: str
    changed: str
    result: str | None


class Items(msgspec.Struct):
    """What waits, the oldest first."""

    items: tuple[Item, ...]


class Reason(msgspec.Struct, forbid_unknown_fields=True):
    """Why not."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


class Yes(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing more than the yes."""


class Outcome(msgspec.Struct):
    """What became of a proposal: ``applied``, ``parked`` where it has to be looked at again, and so on."""

    outcome: str
    commit: str | None
    proposal: str | None
    reason: str | None
    issues: list[dict[str, Any]]


DONE: Any = Outcome | errors.Failed
NOT = {
    number: ResponseSpec(DONE, generate_examples=False, description="It was not done; the reason says why.")
    for number in (403, 409)
}
SHOWN = ResponseSpec(dict[str, Any], generate_examples=False, description="The proposal as it would be done now.")
DOES = {
    200: ResponseSpec(Outcome, generate_examples=False, description="What became of it."),
    **errors.documented(*errors.BODY, 404),
    **NOT,
}


@get("/inbox", sync_to_thread=True, responses=errors.documented(*errors.ALL))
def waiting(request: Asked) -> Items:
    """Lists the proposals that wait for a yes; for the owner."""
    owner(request, WHAT)
    return Items(msgspec.convert(home(request).proposals.waiting(), tuple[Item, ...], from_attributes=True))


@get("/inbox/{ident:str}", sync_to_thread=True, responses={200: SHOWN, **errors.documented(*errors.ALL, 404)})
def show(request: Asked, ident: Ident) -> dict[str, Any]:
    """Shows one proposal as it would be done now: what moves where, and the changed lines; for the owner."""
    owner(request, WHAT)
    shown = home(request).proposals.show(ident)
    diff = home(request).ledger.difference(shown.rendering) if shown.rendering else ""
    return {"item": fields.shown(shown, diff, home(request).settings.public)}


@post("/inbox/{ident:str}/approve", status_code=200, sync_to_thread=True, responses=DOES)
def approve(request: Asked, ident: Ident, data: Yes) -> Response[dict[str, Any]]:
    """Does what was proposed, if it still is what was seen."""
    asks = caller(request)
    return _done(request, home(request).review.approve(ident, asks.id, asks.by))


@post("/inbox/{ident:str}/decline", status_code=200, sync_to_thread=True, responses=DOES)
def decline(request: Asked, ident: Ident, data: Reason) -> Response[dict[str, Any]]:
    """Closes a proposal without doing it; for the owner."""
    owner(request, WHAT)
    asks = caller(request)
    return _done(request, home(request).review.decline(ident, data.reason, asks.id, asks.by))


def _done(request: Asked, done: "Written") -> Response[dict[str, Any]]:
    """Tells what became of a proposal."""
    number = 200 if done.good or done.outcome == "parked" else 403 if done.code == "not_owner" else 409
    request.scope["state"]["outcome"] = done.code or done.outcome
    return Response(fields.written(done), status_code=number)
