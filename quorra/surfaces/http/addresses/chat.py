"""Talking with Quorra: the whole reply at once, or as server-sent events while it comes."""

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.openapi import ResponseSpec
from msgspec import Meta

from quorra.agent.conversation.reply import Reply, Said
from quorra.inference.protocol import ModelAway
from quorra.surfaces import fields
from quorra.surfaces.http import errors, stream
from quorra.surfaces.http.caller import IDENT, Asked, caller, home, now
from quorra.surfaces.http.desk import Cancelled, Emit, Work
from quorra.surfaces.http.stream import Events, Served

LONGEST = 32_000
ANSWERED = ResponseSpec(Reply, generate_examples=False, description="The reply, and what waits for a yes.")
EITHER: Any = Reply | errors.Failed
AWAY = ResponseSpec(EITHER, generate_examples=False, description="The model is away or busy.")
FAILS = errors.documented(*errors.BODY, 404, 409)
Id = Annotated[str, Meta(pattern=IDENT)]
Name = Annotated[str, Meta(max_length=64)]


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says to Quorra.

    ``scope`` and ``origin`` count on a session's first message; ``message_id`` is the client's own, and a repeated
    one gets the reply that there is already. ``confirmation_id`` says yes to what waits, ``digest`` to just what
    was shown of it; neither needs a ``message``. ``window`` narrows what is open, where others listen.
    """

    message: Annotated[str, Meta(max_length=LONGEST)] = ""
    session_id: Id | None = None
    scope: Annotated[tuple[Name, ...], Meta(max_length=16)] | None = None
    origin: Name | None = None
    message_id: Annotated[str, Meta(max_length=255)] = ""
    confirmation_id: Id | None = None
    digest: Annotated[str, Meta(max_length=128)] | None = None
    window: Annotated[str, Meta(max_length=1000)] | None = None


@post("/chat", status_code=200, responses={200: ANSWERED, **FAILS, **errors.documented(502), 503: AWAY})
async def chat(request: Asked, data: Message) -> Response[dict[str, Any]]:
    """Answers what a person says in a session; 503 while the model is away or too many wait."""
    reply = await stream.whole(request.app.state.desk, await _work(request, data), caller(request).id, request.receive)
    request.scope["state"]["outcome"] = reply.outcome
    number = errors.status("model_away") if reply.outcome == "model_away" else 200
    return Response(fields.reply(reply), status_code=number, headers=errors.headers(number))


@post("/chat/stream", status_code=200, responses={200: stream.STREAM, **FAILS, **errors.documented(503)})
async def streamed(request: Asked, data: Message) -> Events[Reply]:
    """Answers as server-sent events: status, reasoning and token, then exactly one done or error.

    Reasoning is left out for whoever prefers not to see it.
    """
    told = await asyncio.to_thread(home(request).preferences.of, caller(request).id)
    kinds = frozenset({"status", "token", *(["reasoning"] if told.show_thinking else [])})
    return stream.streamed(request.app.state.desk, await _work(request, data), caller(request).id, _served, kinds)


async def _work(request: Asked, data: Message) -> Work[Reply]:
    """Gives what the desk does with a message; whoever asks is known to the home."""
    principal = caller(request)
    await asyncio.to_thread(home(request).window, principal.id, data.window)
    said = Said(**msgspec.structs.asdict(data))

    def work(emit: Emit, cancelled: Cancelled) -> Reply:
        return home(request).talks.say(said, principal, surface="http", now=now(), emit=emit, cancelled=cancelled)

    return work


def _served(reply: Reply) -> Served:
    if reply.outcome == "model_away":
        away = ModelAway(reply.answer)
        return Served(away.code, {}, away)
    return Served(reply.outcome, fields.reply(reply))
