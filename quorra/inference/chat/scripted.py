"""A deterministic backend that says what directives in the message tell it to."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quorra.inference.protocol import Abilities, Call, GenerationFailed, Message, ModelAway, Style, Tool, Usage
from quorra.inference.stream import Cleaner, Reply, Running, common, speak

_TOKEN = re.compile(r"\s*\S+|\s+$")
_DIRECTIVE = re.compile(r"^!(say|think|fail|slow|cite|call|obey)(?:[ \t]+(.*))?$", re.MULTILINE)
_THEN = re.compile(r"^!then[ \t]*$", re.MULTILINE)
_CALL = re.compile(r"(\S+)[ \t]*(.*)")
_ORDER = re.compile(r"!call[ \t]+(\S+[ \t]*.*)")
_OVER = "That is all."
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Scripted:
    """Drives the real pipeline from lines of the user's message, or from a file of replies by question.

    ``!say TEXT`` and ``!think TEXT`` speak and reason, ``!slow SECONDS`` waits
    before each word from then on, ``!cite WORDS`` repeats the first sentence of
    the prompt that holds the words, ``!fail`` breaks off; without any, the last
    line is echoed. ``!call NAME {json}`` calls a tool, ``!then`` parts what it does
    once the calls before are answered, and ``!obey`` makes it do whatever calls the
    newest answer of a tool orders, as the worst of models would; nothing else does.
    In a file of replies (JSON, a reply or a list of replies for repeated asking)
    the longest question found in the message decides.
    """

    def __init__(self, style: Style = "composition", context: int = 4096, replies: Path | None = None) -> None:
        self.name = "scripted"
        self.abilities = Abilities(streaming=True, tools=True, context=context, style=style)
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
        """Gives what ``generate`` is handed, as JSON values."""
        told = {"messages": list(map(asdict, messages)), "tools": list(map(asdict, tools))}
        return {**told, "max_tokens": max_tokens, "temperature": temperature}

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
        return usage, tuple(calls)

    def _script(self, messages: Sequence[Message], calls: list[Call], stop: Callable[[], bool]) -> Iterator[str]:
        pause, joint = 0.0, ""
        for verb, words in self._steps(messages):
            if verb == "call":
                name, arguments = _CALL.fullmatch(words.strip() or "?").groups()  # type: ignore[union-attr]
                calls.append(Call(f"call-{len(messages)}-{len(calls) + 1}", name, arguments))
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
        """Gives what to do now: the part of the script that as many answers have been given to as stand there."""
        asked = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"), None)
        question = "" if asked is None else messages[asked].content
        key = max((key for key in self._replies if key in question), key=len, default=None)
        turn = 0 if asked is None else sum(message.role == "assistant" for message in messages[asked + 1 :])
        parts = _THEN.split(question if key is None else self._reply(key, first=turn == 0))
        if turn >= len(parts):
            return [("say", _OVER)]
        steps = [(found[1], found[2] or "") for found in _DIRECTIVE.finditer(parts[turn])]
        if ("obey", "") in steps:
            newest = next((message.content for message in reversed(messages) if message.role == "tool"), "")
            orders = [("call", found[1]) for found in _ORDER.finditer(newest)]
            steps = [step for step in steps if step != ("obey", "")] + (orders or [("say", _OVER)])
        said = parts[turn] if key is not None else (question.strip().splitlines() or [""])[-1]
        return steps or [("say", said)]

    def _reply(self, key: str, first: bool) -> str:
        replies = self._replies[key]
        self._asked[key] += first
        return replies[max(min(self._asked[key], len(replies)), 1) - 1]


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
