"""One question and its answer, and finding notes: what needs no conversation."""

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.openapi import ResponseSpec
from msgspec import Meta

from quorra.agent.asking.answer import Answer
from quorra.index.found import Found, Mode
from quorra.surfaces import fields
from quorra.surfaces.http import errors, stream
from quorra.surfaces.http.caller import Asked, caller, home
from quorra.surfaces.http.desk import Cancelled, Emit

LONGEST = 2000
"""Characters of a question; what is read of it costs the square of its length."""
ANSWER = ResponseSpec(Answer, generate_examples=False, description="The answer, with its citations.")
EITHER: Any = Answer | errors.Failed
AWAY = ResponseSpec(EITHER, generate_examples=False, description="The model is away or busy.")
FOUND = ResponseSpec(Found, generate_examples=False, description="Hits, and how fresh they are.")


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """What a person wants to know."""

    question: Annotated[str, Meta(max_length=LONGEST)]


class Search(msgspec.Struct, forbid_unknown_fields=True):
    """What to look for: k notes at most, within a window and at a revision where one is named."""

    question: Annotated[str, Meta(max_length=LONGEST)]
    k: Annotated[int, Meta(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    window: str | None = None
    at: str | None = None


@post("/ask", status_code=200, responses={200: ANSWER, **errors.documented(*errors.BODY, 502), 503: AWAY})
async def ask(request: Asked, data: Question) -> Response[dict[str, Any]]:
    """Answers one question from the vault and facts, with citations; 503 while the model is away or too many wait."""
    opened, who = home(request), caller(request).id

    def work(emit: Emit, cancelled: Cancelled) -> Answer:
        return opened.ask(data.question, window=opened.window(who, None), emit=emit, cancelled=cancelled)

    answer = await stream.whole(request.app.state.desk, work, who, request.receive)
    request.scope["state"]["outcome"] = answer.outcome
    number = errors.status("model_away") if answer.outcome == "model_away" else 200
    return Response(fields.reply(answer), status_code=number, headers=errors.headers(number))


@post("/search", status_code=200, responses={200: FOUND, **errors.documented(*errors.BODY, 503)})
async def search(request: Asked, data: Search) -> dict[str, Any]:
    """Finds notes, one hit a note: its best passage."""
    opened, who = home(request), caller(request).id

    def work() -> Found:
        window = opened.window(who, data.window)
        return opened.search(data.question, k=data.k, mode=data.mode, window=window, at=data.at)

    return fields.found(await asyncio.to_thread(work))
