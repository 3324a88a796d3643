"""How OpenAI-compatible servers write messages, tools and calls, and how the pieces of calls are put together."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from quorra.inference.protocol import Call, Message, Tool
from quorra.inference.server import plain

_ODD = re.compile(r"[^A-Za-z0-9_-]")


def request(messages: Sequence[Message], tools: Sequence[Tool], max_tokens: int, temperature: float) -> dict[str, Any]:
    """Writes a request, its model and streaming apart; without tools it says nothing of them."""
    told: dict[str, Any] = {
        "messages": [_message(message) for message in messages],
        "max_tokens": max_tokens,
        "temperature": temperature,
    }
    return {**told, "tools": offered(tools)} if tools else told


def offered(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Writes tools."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]


def named(calls: Iterable[Call], messages: Sequence[Message]) -> tuple[Call, ...]:
    """Gives calls ids that no call of the messages has; a server's own stays where it can."""
    taken = {call.id for message in messages for call in message.calls}
    found: list[Call] = []
    for call in calls:
        fresh = (f"call_{number}" for number in count(len(taken) + 1))
        ident = next(each for each in chain([call.id], fresh) if each and each not in taken)
        taken.add(ident)
        found.append(replace(call, id=ident))
    return tuple(found)


@dataclass(slots=True)
class _Part:
    index: int | None
    id: str
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        return _object(self.arguments) is not None


class Fragments:
    """Puts calls together from a stream's pieces, whose index, id and name servers leave out or give twice."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def take(self, piece: Any) -> None:
        """Takes one piece of a delta's ``tool_calls``; TypeError where its arguments are none."""
        function = getattr(piece, "function", None)
        name = getattr(function, "name", None) or ""
        part = self._part(getattr(piece, "index", None), getattr(piece, "id", None) or "", name)
        if name != part.name:
            part.name += name
        given = getattr(function, "arguments", None) or ""
        part.arguments += given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)

    def made(self) -> tuple[Call, ...]:
        """Gives the calls in the order in which they began."""
        return tuple(Call(part.id, part.name, part.arguments) for part in self._parts)

    def _part(self, index: int | None, ident: str, name: str) -> _Part:
        """Finds the call that a piece belongs to: by its index, else its id, else it is the last; or begins one."""
        if index is None and ident:
            mine = [part for part in self._parts if part.id == ident]
        else:
            mine = [part for part in self._parts if index is None or part.index == index]
        if not mine and index is None and not name:
            mine = self._parts
        last = mine[-1] if mine else None
        if last is None or (name and last.name and self._another(last, index, ident, name)):
            last = _Part(index, ident)
            self._parts.append(last)
        last.id = last.id or ident
        return last

    @staticmethod
    def _another(last: _Part, index: int | None, ident: str, name: str) -> bool:
        """Tells whether a piece that names a tool begins a call of its own where one is open."""
        if ident and last.id:
            return ident != last.id
        return last.whole or (index is None and name != last.name)


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "content": plain(message.content)}
    if message.calls:
        told["tool_calls"] = [_call(call) for call in message.calls]
    if message.role == "tool":
        told["tool_call_id"] = message.answers
    return told


def _call(call: Call) -> dict[str, Any]:
    """Writes a call that was made before; a server may refuse one whose name or arguments can't be read."""
    name = _ODD.sub("_", call.name)[:64] or "unknown"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": readable(call.arguments)}}


def readable(arguments: str) -> str:
    """Gives arguments as the JSON text of an object: broken ones as its only value."""
    if not arguments.strip():
        return "{}"
    return plain(arguments if _object(arguments) is not None else json.dumps({"unreadable": arguments}))


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
