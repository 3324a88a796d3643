"""A deterministic backend that says what directives in the message tell it to."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quorra.inference.chat.wire import named, request
from quorra.inference.protocol import Abilities, Call, GenerationFailed, Message, ModelAway, Style, Tool, Usage
from quorra.inference.stream import Cleaner, Reply, Running, common, speak

_TOKEN = re.compile(r"\s*\S+|\s+$")
_VERBS = "say|think|fail|slow|cite|call"
_DIRECTIVE = re.compile(rf"^!({_VERBS})(?:[ \t]+(.*))?$", re.MULTILINE)
_ORDER = re.compile(rf"!({_VERBS})[ \t]+(.*)")
_THEN = re.compile(r"^!then[ \t]*\r?$", re.MULTILINE)
_OBEY = re.compile(r"^!obey[ \t]*\r?$", re.MULTILINE)
_OVER = "That is all."
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Scripted:
    """Drives the real pipeline from lines of the user's message, or from a file of replies by question.

    ``!say TEXT`` and ``!think TEXT`` speak and reason, ``!slow SECONDS`` waits
    before each word from then on, ``!cite WORDS`` repeats the first sentence of
    the prompt that holds the words, ``!fail`` breaks off; without any, the last
    line is echoed. ``!call NAME {json}`` calls a tool, what stands behind the name
    passed on as it is. ``!then`` parts what is done once the calls before it are
    answered: the assistant's messages since the question tell how far it has come.
    Only the question is followed, unless ``!obey`` stands in it: then whatever the
    answers of tools order is done too, as the worst of models would.
    In a file of replies (JSON, a reply or a list of replies for repeated asking)
    the longest question found in the message decides.
    """

    def __init__(
        self,
        style: Style = "composition",
        context: int = 4096,
        replies: Path | None = None,
        tools: bool = True,
    ) -> None:
        self.name = "scripted"
        self.abilities = Abilities(streaming=True, tools=tools, context=context, style=style)
        self._replies = _replies(replies) if replies else {}
        self._asked: Counter[str] = Counter()
        self._before: list[str] = []

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Starts a reply to the last user message."""
        return Reply(lambda stop: self._run(messages, max_tokens, stop), cancelled)

    def payload(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
    ) -> Mapping[str, Any]:
        """Gives what ``generate`` is handed, as a server would get it."""
        return {"model": self.name, **request(messages, tools, max_tokens, temperature)}

    def reachable(self) -> bool:
        """Tells that it is here."""
        return True

    def close(self) -> None:
        """Forgets what it was asked."""
        self._asked.clear()
        self._before = []

    def _run(self, messages: Sequence[Message], max_tokens: int, stop: Callable[[], bool]) -> Running:
        prompt = [token for message in messages for token in _tokens(message.content)]
        reused = common(prompt, self._before)
        self._before = prompt
        calls: list[Call] = []
        said, finish = yield from speak(self._script(messages, calls, stop), Cleaner(), max_tokens, stop)
        usage = Usage(len(prompt), len(prompt) - reused, said, "cancelled" if stop() else finish)
        return usage, named(calls, messages)

    def _script(self, messages: Sequence[Message], calls: list[Call], stop: Callable[[], bool]) -> Iterator[str]:
        pause, joint = 0.0, ""
        for verb, words in self._steps(messages):
            if verb == "call":
                name, _, arguments = words.strip().partition(" ")
                calls.append(Call("", name, arguments.strip()))
                continue
            if verb == "fail":
                raise GenerationFailed("The scripted model was told to fail.", "Ask without !fail.")
            if verb == "slow":
                pause = _seconds(words)
                continue
            spoken = f"<think>{words}</think>" if verb == "think" else joint + _line(verb, words, messages)
            joint = joint if verb == "think" else "\n"
            for token in _tokens(spoken):
                if not _waited(pause, stop):
                    return
                yield token

    def _steps(self, messages: Sequence[Message]) -> list[tuple[str, str]]:
        """Gives what to do now, which the messages alone decide."""
        asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=len(messages))
        question = messages[asked].content if asked < len(messages) else ""
        turn = sum(message.role == "assistant" for message in messages[asked + 1 :])
        key = max((key for key in self._replies if key in question), key=len, default=None)
        script = question if key is None else self._reply(key, first=not turn)
        parts = _THEN.split(script)
        part = parts[turn] if turn < len(parts) else ""
        steps = [(found[1], found[2] or "") for found in _DIRECTIVE.finditer(part)]
        if obeys := _OBEY.search(script):
            steps = _orders(messages[asked + 1 :]) + steps
        if steps:
            return steps
        if key is not None and part.strip():
            return [("say", part.strip("\n"))]
        return [("say", _OVER if turn or obeys else (question.strip().splitlines() or [""])[-1])]

    def _reply(self, key: str, first: bool) -> str:
        replies = self._replies[key]
        self._asked[key] += first
        return replies[max(min(self._asked[key], len(replies)), 1) - 1]


def _orders(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Finds directives, wherever in a line they stand, in the answers that came last."""
    said = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
    found = [order for message in messages[said + 1 :] for order in _ORDER.findall(message.content)]
    return [(verb, _clipped(words) if verb == "call" else words) for verb, words in found]


def _clipped(words: str) -> str:
    """Leaves out what stands behind the arguments of a call."""
    at = words.find("{")
    with suppress(ValueError):
        return words[: json.JSONDecoder().raw_decode(words, max(at, 0))[1]]
    return words


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _line(verb: str, words: str, messages: Sequence[Message]) -> str:
    """Gives the words, or for a citation the first sentence of the prompt, directives apart, that holds them."""
    if verb == "say":
        return words
    text = "\n".join(_DIRECTIVE.sub("", message.content) for message in messages)
    wanted = words.lower()
    return next((part.strip() for part in _SENTENCE.split(text) if part.strip() and wanted in part.lower()), "")


def _waited(pause: float, stop: Callable[[], bool]) -> bool:
    """Waits before a word; False as soon as the reply is stopped."""
    end = time.monotonic() + pause
    while (left := end - time.monotonic()) > 0 and not stop():
        time.sleep(min(left, 0.02))
    return not stop()


def _seconds(words: str) -> float:
    try:
        return float(words)
    except ValueError as error:
        raise GenerationFailed(f"!slow needs seconds, not {words!r}.", "Write for example: !slow 0.1") from error


def _replies(path: Path) -> Mapping[str, list[str]]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelAway(f"The file of replies {path} can't be read: {error}.", "Check model.path.") from error
    if not isinstance(table, dict):
        raise ModelAway(f"The file of replies {path} is not a JSON object of questions.", "Check model.path.")
    return {
        str(key): [str(one) for one in (value if isinstance(value, list) else [value])] for key, value in table.items()
    }
