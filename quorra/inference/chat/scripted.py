"""A deterministic backend that says what directives in the message tell it to."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path

from quorra.inference.protocol import Abilities, Delta, GenerationFailed, Message, ModelAway, Style, Usage
from quorra.inference.stream import Cleaner, Reply, common, speak

_TOKEN = re.compile(r"\s*\S+|\s+$")
_DIRECTIVE = re.compile(r"^!(say|think|fail|slow|cite)(?:[ \t]+(.*))?$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Scripted:
    """Drives the real pipeline from lines of the user's message, or from a file of replies by question.

    ``!say TEXT`` and ``!think TEXT`` speak and reason, ``!slow SECONDS`` waits
    before each word from then on, ``!cite WORDS`` repeats the first sentence of
    the prompt that holds the words, ``!fail`` breaks off; without any, the last
    line is echoed. In a file of replies (JSON, a reply or a list of replies for
    repeated asking) the longest question found in the message decides.
    """

    def __init__(self, style: Style = "composition", context: int = 4096, replies: Path | None = None) -> None:
        self.name = "scripted"
        self.abilities = Abilities(streaming=True, tools=False, context=context, style=style)
        self._replies = _replies(replies) if replies else {}
        self._asked: Counter[str] = Counter()
        self._before: list[str] = []

    def generate(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Starts a reply to the last user message."""
        return Reply(lambda stop: self._run(messages, max_tokens, stop), cancelled)

    def reachable(self) -> bool:
        """Tells that it is here."""
        return True

    def close(self) -> None:
        """Forgets what it was asked."""
        self._asked.clear()
        self._before = []

    def _run(
        self, messages: Sequence[Message], max_tokens: int, stop: Callable[[], bool]
    ) -> Generator[Delta, None, Usage]:
        prompt = [token for message in messages for token in _tokens(message.content)]
        reused = common(prompt, self._before)
        self._before = prompt
        said, finish = yield from speak(self._script(messages, stop), Cleaner(), max_tokens, stop)
        return Usage(len(prompt), len(prompt) - reused, said, "cancelled" if stop() else finish)

    def _script(self, messages: Sequence[Message], stop: Callable[[], bool]) -> Iterator[str]:
        asked = next((message.content for message in reversed(messages) if message.role == "user"), "")
        key = max((key for key in self._replies if key in asked), key=len, default=None)
        text = asked if key is None else self._reply(key)
        pause, joint = 0.0, ""
        steps = [(found[1], found[2] or "") for found in _DIRECTIVE.finditer(text)]
        if not steps:
            steps = [("say", text if key is not None else (asked.strip().splitlines() or [""])[-1])]
        for verb, words in steps:
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

    def _reply(self, key: str) -> str:
        replies = self._replies[key]
        self._asked[key] += 1
        return replies[min(self._asked[key], len(replies)) - 1]


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
