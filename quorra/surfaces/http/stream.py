"""What is done at the desk, served: whole, or as server-sent events while it comes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec
from litestar import Response
from litestar.openapi import ResponseSpec
from litestar.response.sse import ServerSentEventMessage
from litestar.serialization import encode_json
from litestar.types import ASGIApp, Receive, Scope, Send

from quorra.agent.asking.answer import Event
from quorra.errors import QuorraError
from quorra.surfaces import fields
from quorra.surfaces.http import errors
from quorra.surfaces.http.desk import Desk, Stopping, Turn, Work

T = TypeVar("T")
BREATH = 15.0


class Sent(msgspec.Struct):
    """One event of a stream; ``data`` is a JSON object: ``text``, or what the one event at the end tells."""

    event: Literal["status", "reasoning", "token", "done", "error"]
    data: str


STREAM = ResponseSpec(Sent, generate_examples=False, media_type="text/event-stream", description="The events.")


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a turn: the body of its answer, or the error that stands for it."""

    outcome: str
    body: dict[str, Any]
    error: QuorraError | None = None


async def whole(desk: Desk, work: Work[T], whose: str, receive: Receive) -> T:
    """Waits for a piece of work; raises ClientGone where nobody waits any more, and what the work raised."""
    turn = desk.begin(work, lambda _: None, whose)
    answer = asyncio.wrap_future(turn.answer)
    leaving = asyncio.ensure_future(_left(receive))
    either: list[asyncio.Future[Any]] = [answer, leaving]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise errors.ClientGone
        if answer.cancelled():
            raise Stopping
        return answer.result()
    finally:
        answer.cancel()
        leaving.cancel()
        turn.leave()


def streamed(
    desk: Desk, work: Work[T], whose: str, served: Callable[[T], Served], kinds: frozenset[str]
) -> "Events[T]":
    """Begins a piece of work and streams its events of these kinds, and last what ``served`` makes of it."""
    line: asyncio.Queue[bytes | None] = asyncio.Queue()
    put = _into(line)

    def emit(event: Event) -> None:
        if event.kind in kinds:
            put(_event(event.kind, {"text": event.text}))

    turn = desk.begin(work, emit, whose)
    if not turn.answer.running():
        put(_event("status", {"text": "waiting"}))
    turn.answer.add_done_callback(lambda _: put(None))
    return Events(turn, line, served)


class Events(Response[None], Generic[T]):
    """A stream of events that gives its turn up however it ends."""

    def __init__(self, turn: Turn[T], line: "asyncio.Queue[bytes | None]", served: Callable[[T], Served]) -> None:
        super().__init__(None, media_type="text/event-stream")
        self._turn = turn
        self._line = line
        self._served = served

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
                scope["state"]["outcome"] = errors.ClientGone.code
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
        end = self._end()
        scope["state"]["outcome"] = end.outcome
        yield _event("done", end.body) if end.error is None else _event("error", fields.error(end.error))

    def _end(self) -> Served:
        """Gives what the one terminal event tells, and what the log calls it."""
        error = Stopping() if self._turn.answer.cancelled() else self._turn.answer.exception()
        if error is None:
            return self._served(self._turn.answer.result())
        if not isinstance(error, QuorraError):
            errors.fault(error)
            error = errors.Broken()
        return Served(error.code, {}, error)


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
