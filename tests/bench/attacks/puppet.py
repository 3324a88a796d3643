"""The model of an attack: it does whatever the attacker wants, step by step, and keeps all that it was sent."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorra.inference.chat.wire import named, request
from quorra.inference.protocol import Abilities, Call, Delta, GenerationFailed, Message, Tool, Usage

ORDER = re.compile(r"!call[ \t]+(\S+)[ \t]*(.*)")
OVER = "That is all."
Step = list[dict[str, Any]]
Fill = Callable[[Any], Any]
NAMES = {
    "search": "search_knowledge_base",
    "read": "read_note",
    "links": "note_links",
    "history": "note_history",
    "undo": "undo_change",
    "context": "get_my_context",
}
ARGUMENTS = {
    "search_knowledge_base": {"query": "question"},
    "note_history": {"query": "path"},
    "search_history": {"query": "words"},
}


@dataclass
class Script:
    """The steps that are played for one message, in the name of whoever sent it."""

    who: str
    steps: deque[Step]


@dataclass
class Sent:
    """What the model was sent once, and for whom."""

    who: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]


@dataclass
class Puppet:
    """A chat model whose replies are registered by message; what is left over is played when a run goes on."""

    fill: Fill = lambda value: value
    name: str = "puppet"
    abilities: Abilities = field(default_factory=lambda: Abilities(True, True, 32_000, "composition"))
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._scripts: dict[str, Script] = {}
        self._newest: Script | None = None
        self._lock = threading.Lock()

    def expect(self, message: str, who: str, steps: Sequence[Step]) -> None:
        """Registers what to do for a message; the same message again goes on behind what is left."""
        with self._lock:
            script = self._scripts.setdefault(message, Script(who, deque()))
            script.who = who
            script.steps.extend(steps)
            self._newest = script

    def known(self, message: str, who: str) -> None:
        """Notes whose message it is, without anything to do for it."""
        with self._lock:
            self._scripts.setdefault(message, Script(who, deque())).who = who

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> "Played":
        """Plays the next step."""
        with self._lock:
            script = self._script(messages)
            self.sent.append(Sent(script.who if script else "", tuple(messages), tuple(tool.name for tool in tools)))
            steps = script.steps if script and script.steps else self._newest.steps if self._newest else deque()
            step = steps.popleft() if steps else [{"text": OVER}]
            fails = any("fail" in act for act in step)
            text, calls = self._acts([act for act in step if "fail" not in act], messages)
            return Played(text, calls, fails, cancelled)

    def payload(self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **more: Any) -> Mapping[str, Any]:
        """Gives what ``generate`` is handed."""
        return {"model": self.name, **request(messages, tools, more.get("max_tokens", 512), 0.0)}

    def reachable(self) -> bool:
        """Tells that it is here."""
        return True

    def close(self) -> None:
        """Has nothing to free."""

    def _script(self, messages: Sequence[Message]) -> Script | None:
        asked = next((message.content for message in reversed(messages) if message.role == "user"), "")
        told = "\n".join(message.content for message in messages if message.role == "user")
        known = [key for words in (asked, told) for key in self._scripts if key and (key in words or words in key)]
        return self._scripts.get(asked) or (self._scripts[max(known, key=len)] if known else None)

    def _acts(self, step: Step, messages: Sequence[Message]) -> tuple[str, tuple[Call, ...]]:
        text, calls = "", list[Call]()
        for act in step:
            if "text" in act:
                text += str(self.fill(act["text"]))
            elif "copy" in act:
                text += "\n".join(message.content for message in messages if message.role == "tool")
            elif "obey" in act:
                calls += self._ordered(messages)
            else:
                calls.append(self._call(act["tool"], self.fill(act.get("arguments", {})), act.get("id", "")))
        return text, named(calls, messages)

    def _call(self, name: str, arguments: Any, ident: str = "") -> Call:
        real = NAMES.get(name, name)
        return Call(ident, real, _told(real, arguments))

    def _ordered(self, messages: Sequence[Message]) -> Iterator[Call]:
        """Gives the calls written in the newest answers of tools."""
        said = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
        for message in messages[said + 1 :]:
            for name, words in ORDER.findall(message.content if message.role == "tool" else ""):
                yield self._call(self.fill(name), _clipped(str(self.fill(words))))


class Played:
    """One step being played."""

    def __init__(self, text: str, calls: tuple[Call, ...], fails: bool, cancelled: Callable[[], bool]) -> None:
        self.usage: Usage | None = None
        self.calls: tuple[Call, ...] = ()
        self._text, self._calls, self._fails, self._cancelled = text, calls, fails, cancelled

    def __iter__(self) -> Iterator[Delta]:
        """Says its text and makes its calls."""
        if self._fails:
            raise GenerationFailed("The puppet was told to fail.", "Ask again.")
        if self._text:
            yield Delta("text", self._text)
        gone = self._cancelled()
        self.calls = () if gone else self._calls
        self.usage = Usage(1, 1, 1, "cancelled" if gone else "calls" if self.calls else "stop")

    def close(self) -> None:
        """Has nothing to stop."""


def _told(name: str, arguments: Any) -> str:
    """Writes arguments as a model would, in the names of the tool's schema; text is passed on as it is."""
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
        if not isinstance(read, dict) or not _foreign(name, read):
            return arguments
        arguments = read
    if not isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    table = ARGUMENTS.get(name, {})
    given = {table.get(key, key): value for key, value in arguments.items()}
    if name == "organize" and "operations" not in given and {"op", "src"} & given.keys():
        step = {key: given.pop(key) for key in ("op", "src", "dst") if key in given}
        given["operations"] = [step]
    return json.dumps(given, ensure_ascii=False)


def _foreign(name: str, given: Mapping[str, Any]) -> bool:
    return bool(ARGUMENTS.get(name, {}).keys() & given.keys()) or (name == "organize" and "op" in given)


def _clipped(words: str) -> str:
    at = words.find("{")
    try:
        return words[: json.JSONDecoder().raw_decode(words, max(at, 0))[1]]
    except ValueError:
        return words
