"""A chat model on any OpenAI-compatible server, through the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any

from quorra.errors import QuorraError
from quorra.inference.chat.wire import Fragments, named, request
from quorra.inference.chat.written import read
from quorra.inference.protocol import Abilities, Call, Delta, Message, Style, Tool, Usage
from quorra.inference.server import Server
from quorra.inference.stream import Cleaner, Reply, Running, speak

TICK, GRACE = 0.05, 5.0


@dataclass(frozen=True, slots=True)
class _End:
    """What the server said at the end, or why there was none."""

    finish: str = ""
    prompt: int = 0
    cached: int = 0
    calls: tuple[Call, ...] = ()
    error: QuorraError | None = None


class Remote:
    """Streams from the server in a thread of its own, so that stopping closes the connection at once."""

    def __init__(self, server: Server, *, name: str, style: Style, context: int = 4096, tools: bool = True) -> None:
        self.name = name or "default"
        self.abilities = Abilities(streaming=True, tools=tools, context=context, style=style)
        self._server = server
        self._model = name

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Starts a reply; raises ModelAway or GenerationFailed when it is iterated."""
        sent = self.payload(messages, tools=tools, max_tokens=max_tokens, temperature=temperature)
        return Reply(lambda stop: self._run(sent, messages, stop), cancelled)

    def payload(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
    ) -> dict[str, Any]:
        """Gives the body that is sent; the model of a server that nobody named one of is asked for before it goes."""
        offered = tools if self.abilities.tools else ()
        return {"model": self._model, **request(messages, offered, max_tokens, temperature)}

    def reachable(self) -> bool:
        """Tells whether the server answers."""
        return self._server.reachable()

    def close(self) -> None:
        """Holds nothing between generations."""

    def _run(self, sent: dict[str, Any], messages: Sequence[Message], stop: Callable[[], bool]) -> Running:
        if not self._model:
            self._model = self.name = self._server.model()
        sending, cleaner = _Sending(self._server, {**sent, "model": self._model}), Cleaner()
        try:
            said, finish = yield from speak(sending.pieces(stop), cleaner, sent["max_tokens"] + 1, stop)
        finally:
            sending.stop()
        end = sending.end
        finish = "length" if end.finish == "length" else finish
        usage = Usage(end.prompt, end.prompt - end.cached, said, "cancelled" if stop() else finish)
        calls = (end.calls or read(cleaner.written)) if "tools" in sent else ()
        return usage, named(calls, messages)


class _Sending:
    """One request in a thread with its own event loop; the pieces come through a queue."""

    def __init__(self, server: Server, request: dict[str, Any]) -> None:
        self.end = _End()
        self._server = server
        self._request = request
        self._queue: SimpleQueue[str | Delta | _End] = SimpleQueue()
        self._stopped = Event()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._thread = Thread(target=self._work, name="model-stream", daemon=True)

    def pieces(self, stop: Callable[[], bool]) -> Iterator[str | Delta]:
        """Gives text and reasoning until the server ends; raises what went wrong."""
        self._thread.start()
        heard = monotonic()
        while not stop():
            # Comments and empty pieces keep a connection alive and say nothing.
            if monotonic() > heard + self._server.timeout + GRACE:
                raise self._server.silent()
            with suppress(Empty):
                piece = self._queue.get(timeout=TICK)
                if isinstance(piece, _End):
                    self.end = piece
                    break
                heard = monotonic()
                yield piece
        if self.end.error:
            raise self.end.error

    def stop(self) -> None:
        """Closes the connection if it is still open, and waits for the thread."""
        self._stopped.set()
        if self._running:
            with suppress(RuntimeError):  # the loop is closed: the thread has ended by itself
                self._running[0].call_soon_threadsafe(self._running[1].cancel)
        if self._thread.ident:
            self._thread.join(timeout=2.0)

    def _work(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._pump())

    async def _pump(self) -> None:
        import openai

        task = asyncio.current_task()
        self._running = (asyncio.get_running_loop(), task) if task else None
        if self._stopped.is_set():
            return
        heard = _Heard(self._queue)
        end = _End(error=self._server.silent())
        try:
            await self._stream(heard)
            end = replace(heard.end, calls=heard.calls.made()) if heard.end.finish else end
        except (openai.OpenAIError, ValueError, AttributeError, TypeError, RecursionError) as error:
            end = _End(error=self._server.trouble(error, heard.begun, tools="tools" in self._request))
        finally:
            # Whatever happens here, whoever reads the queue must learn that it has ended.
            self._queue.put(end)

    async def _stream(self, heard: _Heard) -> None:
        async with self._server.asynchronous() as client:
            options = {"include_usage": True}
            create: Any = client.chat.completions.create
            async with await create(stream=True, stream_options=options, **self._request) as chunks:
                async for chunk in chunks:
                    heard.hear(chunk)


class _Heard:
    """Sorts a server's chunks into pieces for the queue and what its end will say."""

    def __init__(self, queue: SimpleQueue[str | Delta | _End]) -> None:
        self.end = _End()
        self.calls = Fragments()
        self.begun = False
        self._queue = queue

    def hear(self, chunk: Any) -> None:
        """Takes one chunk; AttributeError and TypeError mean that it is none."""
        if usage := getattr(chunk, "usage", None):
            cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", 0)
            told = [number if isinstance(number, int) else 0 for number in (usage.prompt_tokens, cached)]
            self.end = replace(self.end, prompt=told[0], cached=told[1])
        for choice in chunk.choices[:1]:
            self.end = replace(self.end, finish=choice.finish_reason or self.end.finish)
            for piece in _pieces(choice.delta):
                self.begun = True
                self._queue.put(piece)
            for fragment in getattr(choice.delta, "tool_calls", None) or ():
                self.begun = True
                self.calls.take(fragment)
                self._queue.put("")  # says nothing and counts as a word, so that a call without end is ended too


def _pieces(delta: Any) -> Iterator[str | Delta]:
    for field in ("reasoning_content", "reasoning"):
        if isinstance(hidden := getattr(delta, field, None), str) and hidden:
            yield Delta("reasoning", hidden)
            break
    if isinstance(delta.content, str) and delta.content:
        yield delta.content
