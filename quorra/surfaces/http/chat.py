"""Asking over HTTP: the whole answer at once, or as server-sent events while it comes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Request, Response, post
from litestar.datastructures import State
from litestar.openapi import ResponseSpec
from litestar.response.sse import ServerSentEventMessage
from litestar.serialization import encode_json
from litestar.types import ASGIApp, Receive, Scope, Send

from quorra.agent.asking.answer import Answer
from quorra.errors import QuorraError
from quorra.inference.protocol import ModelAway
from quorra.surfaces import fields
from quorra.surfaces.http import errors
from quorra.surfaces.http.desk import Desk, Stopping, Turn

if TYPE_CHECKING:
    from quorra.agent.asking.answer import Event

Asked = Request[Any, Any, State]
BREATH = 15.0
ANSWER = ResponseSpec(Answer, generate_examples=False, description="The answer, with its citations.")
EITHER: Any = Answer | errors.Failed
AWAY = ResponseSpec(EITHER, generate_examples=False, description="The model is away or busy.")
STREAM = ResponseSpec(str, generate_examples=False, media_type="text/event-stream", description="The events.")


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says to Quorra."""

    message: str


class ClientGone(QuorraError):
    """Whoever asked went away; nobody reads this."""

    code = "client_gone"

    def __init__(self) -> None:
        super().__init__("The client went away.")


@post(
    "/chat",
    status_code=200,
    responses={200: ANSWER, **errors.documented(400, 401, 403, 413, 415, 429, 502), 503: AWAY},
)
async def chat(request: Asked, data: Message) -> Response[dict[str, Any]]:
    """Answers from the vault and facts, with citations; 503 while the model is away or too many wait."""
    turn = _begin(request, data, lambda _: None)
    try:
        answer = await _served(turn, request.receive)
    finally:
        turn.leave()
    request.scope["state"]["outcome"] = answer.outcome
    number = errors.status("model_away") if answer.outcome == "model_away" else 200
    return Response(fields.answer(answer), status_code=number, headers=errors.headers(number))


@post("/chat/stream", status_code=200, responses={200: STREAM, **errors.documented(400, 401, 403, 413, 415, 429, 503)})
async def stream(request: Asked, data: Message) -> "Events":
    """Answers as server-sent events: status, reasoning and token, then exactly one done or error."""
    line: asyncio.Queue[bytes | None] = asyncio.Queue()
    put = _into(line)
    turn = _begin(request, data, lambda event: put(_event(event.kind, {"text": event.text})))
    if not turn.answer.running():
        put(_event("status", {"text": "waiting"}))
    turn.answer.add_done_callback(lambda _: put(None))
    return Events(turn, line)


class Events(Response[None]):
    """A stream of events that gives its turn up however it ends."""

    def __init__(self, turn: Turn, line: "asyncio.Queue[bytes | None]") -> None:
        super().__init__(None, media_type="text/event-stream")
        self._turn = turn
        self._line = line

    def to_asgi_response(self, *args: Any, **kwargs: Any) -> ASGIApp:  # type: ignore[override]
        """Gives the application that streams."""
        return self._stream

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(scope, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            else:
                scope["state"]["outcome"] = ClientGone.code
        finally:
            self._turn.leave()
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, scope: Scope, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in self._events(scope):
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self, scope: Scope) -> AsyncIterator[bytes]:
        while True:
            try:
                event = await asyncio.wait_for(self._line.get(), BREATH)
            except TimeoutError:
                yield b": still here\r\n\r\n"
                continue
            if event is None:
                break
            yield event
        name, body, outcome = _end(self._turn)
        scope["state"]["outcome"] = outcome
        yield _event(name, body)


def _begin(request: Asked, data: Message, emit: "Callable[[Event], None]") -> Turn:
    desk: Desk = request.app.state.desk
    window = request.app.state.home.window(request.scope["state"]["principal"], None)
    return desk.begin(data.message, window, emit)


async def _served(turn: Turn, receive: Receive) -> Answer:
    answer = asyncio.wrap_future(turn.answer)
    leaving = asyncio.ensure_future(_left(receive))
    either: list[asyncio.Future[Any]] = [answer, leaving]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientGone
        if answer.cancelled():
            raise Stopping
        return answer.result()
    finally:
        answer.cancel()
        leaving.cancel()


def _end(turn: Turn) -> tuple[str, dict[str, Any], str]:
    """Gives the one terminal event of a finished turn, and what the log calls it."""
    error = Stopping() if turn.answer.cancelled() else turn.answer.exception()
    if error is None:
        answer = turn.answer.result()
        if answer.outcome != "model_away":
            return "done", fields.answer(answer), answer.outcome
        error = ModelAway(answer.answer)
    if not isinstance(error, QuorraError):
        errors.fault(error)
        error = errors.Broken()
    return "error", fields.error(error), error.code


async def _left(receive: Receive) -> None:
    """Returns when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _into(line: "asyncio.Queue[bytes | None]") -> Callable[[bytes | None], None]:
    """Gives a way into the line from any thread; after the loop's end nobody reads it, and that is no error."""
    loop = asyncio.get_running_loop()

    def put(event: bytes | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(line.put_nowait, event)

    return put


def _event(name: str, body: dict[str, Any]) -> bytes:
    return ServerSentEventMessage(event=name, data=encode_json(body)).encode()
