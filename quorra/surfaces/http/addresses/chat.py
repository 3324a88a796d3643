"""Asking over HTTP: the whole answer at once, or as server-sent events while it comes."""

from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Response, post
from litestar.openapi import ResponseSpec

from quorra.agent.asking.answer import Answer
from quorra.inference.protocol import ModelAway
from quorra.surfaces import fields
from quorra.surfaces.http import errors, stream
from quorra.surfaces.http.caller import Asked, caller
from quorra.surfaces.http.desk import Cancelled, Emit, Work
from quorra.surfaces.http.stream import Events, Served

if TYPE_CHECKING:
    from quorra.home import Home

KINDS = frozenset({"status", "reasoning", "token"})
ANSWER = ResponseSpec(Answer, generate_examples=False, description="The answer, with its citations.")
EITHER: Any = Answer | errors.Failed
AWAY = ResponseSpec(EITHER, generate_examples=False, description="The model is away or busy.")


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says to Quorra."""

    message: str


@post("/chat", status_code=200, responses={200: ANSWER, **errors.documented(*errors.BODY, 502), 503: AWAY})
async def chat(request: Asked, data: Message) -> Response[dict[str, Any]]:
    """Answers from the vault and facts, with citations; 503 while the model is away or too many wait."""
    answer = await stream.whole(request.app.state.desk, _work(request, data), request.receive)
    request.scope["state"]["outcome"] = answer.outcome
    number = errors.status("model_away") if answer.outcome == "model_away" else 200
    return Response(fields.answer(answer), status_code=number, headers=errors.headers(number))


@post("/chat/stream", status_code=200, responses={200: stream.STREAM, **errors.documented(*errors.BODY, 503)})
async def streamed(request: Asked, data: Message) -> Events[Answer]:
    """Answers as server-sent events: status, reasoning and token, then exactly one done or error."""
    return stream.streamed(request.app.state.desk, _work(request, data), _served, KINDS)


def _work(request: Asked, data: Message) -> Work[Answer]:
    home: Home = request.app.state.home
    window = home.window(caller(request).id, None)

    def work(emit: Emit, cancelled: Cancelled) -> Answer:
        return home.ask(data.message, window=window, emit=emit, cancelled=cancelled)

    return work


def _served(answer: Answer) -> Served:
    if answer.outcome == "model_away":
        away = ModelAway(answer.answer)
        return Served(away.code, {}, away)
    return Served(answer.outcome, fields.answer(answer))
