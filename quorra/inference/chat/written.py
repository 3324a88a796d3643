"""Calls that a model wrote into its text instead of making them."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from quorra.inference.protocol import Call

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_GIVEN = re.compile(r'"(?:arguments|parameters)"\s*:\s*(?=\S)')
_TAGGED = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_FIELD = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_BARE = re.compile(r"([\w-]+)\s*(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(\{.*)", re.DOTALL)
_BETWEEN = " \t\r\n,;]}"


def read(spans: Iterable[str]) -> tuple[Call, ...]:
    """Gives the calls in the texts of call spans, without ids.

    What can't be read is a call too, so that the model can be told: under the name
    that can be made out, else none, and with its arguments as they are written.
    """
    return tuple(call for text in spans if text.strip() for call in _calls(text.strip()))


def _calls(text: str) -> Iterator[Call]:
    if tagged := _TAGGED.findall(text):
        for name, body in tagged:
            yield Call("", name, json.dumps(dict(_FIELD.findall(body)), ensure_ascii=False))
    elif bare := _BARE.fullmatch(text):
        yield Call("", bare[1], bare[2])
    else:
        yield from _listed(text)


def _listed(text: str) -> Iterator[Call]:
    """Reads JSON values, one after the other, down to the first that is none."""
    decoder, at = json.JSONDecoder(), 0
    while rest := text[at:].lstrip(_BETWEEN):
        at = len(text) - len(rest)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if not at or "{" in rest:
                yield _unread(rest)
            return
        for each in value if isinstance(value, list) else [value]:
            yield _call(each)


def _call(value: Any) -> Call:
    inner = value.get("function") if isinstance(value, dict) else None
    told = inner if isinstance(inner, dict) else value
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        return Call("", "", json.dumps(value, ensure_ascii=False))
    given = told.get("arguments", told.get("parameters", {}))
    return Call("", told["name"], given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def _unread(text: str) -> Call:
    name, given = _NAME.search(text), _GIVEN.search(text)
    return Call("", name[1] if name else "", text[given.end() :] if name and given else text)
