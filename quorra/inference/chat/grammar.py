"""A grammar that nothing but a call of a known tool fits, made from the tools' schemas."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from llama_cpp.llama_grammar import json_schema_to_gbnf

from quorra.inference.protocol import Tool

# JSON knows no bare control characters in a string, and half a surrogate pair is no character.
_CHAR = r"""char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex | [dD] [0-7]) hex hex)
hex ::= [0-9a-fA-F]"""
_ROOT = r'root ::= "\n"? calls "\n"? "</tool_call>"'


def grammar(tools: Sequence[Tool]) -> str:
    """Gives the grammar, in llama.cpp's notation, of what follows ``<tool_call>`` up to its closing tag.

    Names, types, choices and what is required hold; bounds of numbers don't.
    """
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": _arguments(tool.parameters)},
            "required": ["name", "arguments"],
        }
        for tool in tools
    ]
    rules = json_schema_to_gbnf(json.dumps({"oneOf": calls}))
    rules = re.sub(r"^root ::=", "calls ::=", rules, flags=re.MULTILINE)
    return _ROOT + "\n" + re.sub(r"^char ::= .*$", lambda _: _CHAR, rules, flags=re.MULTILINE)


def _arguments(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gives a schema that a grammar can be made of: any object where this one can't."""
    try:
        json_schema_to_gbnf(json.dumps(schema))
    except (AssertionError, KeyError, TypeError, ValueError):
        return {"type": "object"}
    return schema
