"""Lays messages out by a model's own chat template, keeping their text apart from the template's marks."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from quorra.inference.chat.wire import offered, readable
from quorra.inference.protocol import Call, GenerationFailed, Message, Tool

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
CALL = "tool_call"
TOOLS = f"""You can call tools. To call one, write this and wait for its answer:
<{CALL}>
{{"name": "NAME", "arguments": {{}}}}
</{CALL}>
The tools, with the JSON schema of their arguments:"""
_TROUBLE = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_SLOT = re.compile("\ue000(\\d+)\ue001")


class Part(NamedTuple):
    """A stretch of a prompt; ``ours`` tells the template's own marks from a message's text."""

    text: str
    ours: bool


class Template:
    """Renders messages so that control tokens written in a note's text stay plain text; raises GenerationFailed.

    Tools are laid out by the template where it knows how and has them called in the
    way that is read here, else by a text before the system's.
    """

    def __init__(self, source: str, bos: str, eos: str) -> None:
        try:
            self._format = Jinja2ChatFormatter(template=source or CHATML, bos_token=bos, eos_token=eos)
        except TemplateError as error:
            raise _failed(error) from error

    def parts(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[Part]:
        """Gives the prompt.

        A template that knows no tools' messages gets them as the user's, and one that
        knows no system role gets its text with the first user's.
        """
        if tools and not self._lays_out(tools):
            messages, tools = _with_tools(messages, tools), ()
        failed: GenerationFailed | None = None
        for way in _ways(messages):
            try:
                return list(self._parts(way, tools))
            except _TROUBLE as error:
                failed = failed or _failed(error)
        raise failed or GenerationFailed("There is nothing to ask.", "Ask something.")

    def _lays_out(self, tools: Sequence[Tool]) -> bool:
        try:
            laid = self._rendered([{"role": "user", "content": ""}], tools)
        except _TROUBLE:
            return False
        return f"<{CALL}>" in laid and all(tool.name in laid for tool in tools)

    def _parts(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Part]:
        slots = [{"role": message.role, "content": f"\ue000{at}\ue001"} for at, message in enumerate(messages)]
        pieces = _SLOT.split(self._rendered(slots, tools))
        told = set(map(int, pieces[1::2]))
        if any(at not in told for at, message in enumerate(messages) if message.role in ("system", "tool")):
            raise ValueError("it leaves messages out")
        for at, text in enumerate(pieces):
            if at % 2:
                yield from _content(messages[int(text)])
            elif text:
                yield Part(text, ours=True)

    def _rendered(self, messages: list[dict[str, str]], tools: Sequence[Tool]) -> str:
        told: Any = {"messages": messages, "tools": offered(tools) or None}
        return self._format(**told).prompt


def _content(message: Message) -> Iterator[Part]:
    """Gives a message's text, and its calls as models write them."""
    if message.content or not message.calls:
        yield Part(message.content, ours=False)
    for at, call in enumerate(message.calls):
        yield Part(("\n" if at or message.content else "") + f"<{CALL}>\n", ours=True)
        yield Part(_written(call), ours=False)
        yield Part(f"\n</{CALL}>", ours=True)


def _written(call: Call) -> str:
    return f'{{"name": {json.dumps(call.name)}, "arguments": {readable(call.arguments)}}}'


def _with_tools(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    told = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in offered(tools))
    system = messages[0].content if messages and messages[0].role == "system" else ""
    rest = messages[1:] if system else messages
    return [Message("system", f"{TOOLS}\n{told}\n\n{system}".strip()), *rest]


def _ways(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Gives the messages as they are, then in the ways that templates take that don't take them so."""
    flat = _flat(messages)
    for way in (messages, flat) if any(message.role == "tool" for message in messages) else (messages,):
        yield way
        if way and way[0].role == "system":
            yield _merged(way)


def _flat(messages: Sequence[Message]) -> list[Message]:
    """Gives tools' answers as the user's text, those that follow one another, and what the user says then, as one."""
    flat: list[Message] = []
    for message in messages:
        tool = message.role == "tool"
        text = f"<tool_response>\n{message.content}\n</tool_response>" if tool else message.content
        if message.role in ("tool", "user") and flat and flat[-1].role == "user":
            flat[-1] = Message("user", f"{flat[-1].content}\n{text}")
        else:
            flat.append(Message("user", text) if tool else message)
    return flat


def _failed(error: Exception) -> GenerationFailed:
    return GenerationFailed(f"The model's chat template failed: {error}", "Use another model file.")


def _merged(messages: Sequence[Message]) -> list[Message]:
    system, rest = messages[0].content, list(messages[1:])
    if not rest:
        return [Message("user", system)]
    return [Message(rest[0].role, f"{system}\n\n{rest[0].content}"), *rest[1:]]
