"""Cleans a model's text as it streams: reasoning to its own channel, control marks to nowhere."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from threading import Event
from typing import Literal

from quorra import metrics
from quorra.inference.protocol import Call, Delta, Usage

Channel = Literal["text", "reasoning", "nowhere"]

REASONING = ("think", "thinking", "thought", "reasoning")
CALLS = ("tool_call", "tool_calls", "function_call")
_ENDLESS = "[TOOL_CALLS]"
STOPS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
)
_OPEN: dict[str, tuple[str, Channel]] = {
    **{f"<{name}>": (name, "reasoning") for name in REASONING},
    **{f"<{name}>": (name, "nowhere") for name in CALLS},
    _ENDLESS: (_ENDLESS, "nowhere"),
}
_CHANNEL = dict(_OPEN.values())
_CLOSE = {f"</{name}>": name for name in (*REASONING, *CALLS)}
_MARKS = frozenset((*_OPEN, *_CLOSE, *STOPS))
_STARTS = frozenset(mark[:length] for mark in _MARKS for length in range(1, len(mark)))
_LONGEST = max(map(len, _MARKS))
_BEGIN = re.compile(r"[<\[]")


class Cleaner:
    """Splits a stream into visible text and reasoning, the same whatever its chunks are.

    A span counts its own nesting and lasts until its own closing tag, so that a
    doubtful end never shows what was meant to stay hidden. A stop token ends the
    reply: ``stopped`` tells the backend, and what follows is dropped. ``written``
    holds what stood in spans of tool calls, a text a span, marks of reasoning included.
    """

    def __init__(self, inside: str = "") -> None:
        """Starts in visible text, or ``inside`` a span whose opening tag the prompt already holds."""
        self.stopped = False
        self.written: list[str] = []
        self._held = ""
        self._span = inside
        self._depth = 1 if inside else 0

    def feed(self, chunk: str) -> list[Delta]:
        """Takes the next piece and gives what is certain by now."""
        return self._deltas(self._held + chunk, last=False)

    def finish(self) -> list[Delta]:
        """Releases what was held back because it might have become a tag."""
        return self._deltas(self._held, last=True)

    def _deltas(self, text: str, last: bool) -> list[Delta]:
        pieces: list[tuple[Channel, str]] = []
        at = 0
        self._held = ""
        while at < len(text) and not self.stopped:
            begin = _BEGIN.search(text, at)
            start = begin.start() if begin else len(text)
            pieces.append(self._piece(text[at:start]))
            at, literal = self._mark(text, start, last)
            pieces.append(self._piece(literal))
            if self._held:
                break
        return _joined(pieces)

    @property
    def calling(self) -> bool:
        """Tells whether a tool call is being written."""
        return self._channel == "nowhere"

    def opens(self, chunk: str) -> bool:
        """Tells whether a piece of text, if it came next, would end inside a tool call."""
        ahead = copy(self)
        ahead.written = list(self.written)
        ahead.feed(chunk)
        return ahead.calling

    def _mark(self, text: str, start: int, last: bool) -> tuple[int, str]:
        """Acts on the mark at ``start``; gives where to go on and what of it is plain text."""
        window, closing = text[start : start + _LONGEST], "]"
        if window.startswith("<"):
            window, closing = window.lower(), ">"
        end = window.find(closing) + 1
        if end and window[:end] in _MARKS:
            shown = self.calling and window[:end].strip("</>") in REASONING
            self._act(window[:end])
            return start + end, text[start : start + end] if shown else ""
        if not last and window in _STARTS and start + len(window) == len(text):
            self._held = text[start:]
            return len(text), ""
        return start + 1, text[start : start + 1]

    def _act(self, mark: str) -> None:
        if mark in STOPS:
            self.stopped = True
        elif mark in _OPEN:
            name, channel = _OPEN[mark]
            if channel == "nowhere" and (not self._span or self._span == _ENDLESS):
                self.written.append("")
            self._span = self._span or name
            self._depth += name == self._span
        elif self._span == _CLOSE[mark]:
            self._depth -= 1
            self._span = self._span if self._depth else ""

    def _piece(self, text: str) -> tuple[Channel, str]:
        if self.calling:
            self.written[-1] += text
        return self._channel, text

    @property
    def _channel(self) -> Channel:
        return _CHANNEL[self._span] if self._span else "text"


def opened(prompt: str) -> str:
    """Names the reasoning span that a prompt ends in, as templates of reasoning models do; empty without."""
    tail = prompt.rstrip().lower()
    return next((name for name in REASONING if tail.endswith(f"<{name}>")), "")


LONGEST = 64
"""Characters that a chunk may have on average; a server that sends more is cut off as one that sends too many."""


def speak(
    chunks: Iterable[str | Delta], cleaner: Cleaner, limit: int, stop: Callable[[], bool]
) -> Generator[Delta, None, tuple[int, str]]:
    """Streams chunks cleaned; returns how many were taken and why it ended (see ``Usage``, calls apart).

    A chunk that is a Delta already, such as a server's own reasoning field, passes as it is.
    """
    said, length, visible, finish = 0, 0, False, "stop"
    for chunk in chunks:
        said += 1
        length += len(chunk.text if isinstance(chunk, Delta) else chunk)
        for delta in [chunk] if isinstance(chunk, Delta) else cleaner.feed(chunk):
            visible = visible or delta.channel == "text"
            yield delta
        if cleaner.stopped:
            break
        if stop() or said >= limit or length > limit * LONGEST:
            finish = "cancelled" if stop() else "length"
            break
    for delta in cleaner.finish():
        visible = visible or delta.channel == "text"
        yield delta
    return said, "empty" if finish == "stop" and not visible else finish


Running = Generator[Delta, None, tuple[Usage, tuple[Call, ...]]]


class Reply:
    """A running generation over a backend's own generator, stoppable from any thread."""

    def __init__(self, run: Callable[[Callable[[], bool]], Running], cancelled: Callable[[], bool]) -> None:
        """``run`` is handed a test for "stop now" and returns its usage and the calls."""
        self.usage: Usage | None = None
        self.calls: tuple[Call, ...] = ()
        self._stopped = Event()
        self._run = run(lambda: self._stopped.is_set() or cancelled())

    def __iter__(self) -> Iterator[Delta]:
        """Gives the deltas once; ``usage`` is there when they end."""
        with metrics.timed("model_calls"):
            ended = yield from self._run
        if ended:
            usage, calls = ended
            self.calls = () if usage.finish in ("cancelled", "length") else calls
            self.usage = replace(usage, finish="calls") if self.calls else usage
            metrics.count("model_tokens_total", usage.evaluated, kind="evaluated")
            metrics.count("model_tokens_total", usage.generated, kind="generated")

    def close(self) -> None:
        """Stops the model at its next token and frees it."""
        self._stopped.set()
        with suppress(ValueError):  # it is running in another thread, which stops it at its next token
            self._run.close()


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """Counts the leading items that two sequences share."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _joined(pieces: list[tuple[Channel, str]]) -> list[Delta]:
    deltas: list[Delta] = []
    for channel, text in pieces:
        if not text or channel == "nowhere":
            continue
        if deltas and deltas[-1].channel == channel:
            deltas[-1] = Delta(channel, deltas[-1].text + text)
        else:
            deltas.append(Delta(channel, text))
    return deltas
