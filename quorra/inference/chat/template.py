"""Lays messages out by a model's own chat template, keeping their text apart from the template's marks."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from quorra.inference.protocol import GenerationFailed, Message

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
_SLOT = re.compile("\ue000(\\d+)\ue001")


class Part(NamedTuple):
    """A stretch of a prompt; ``ours`` tells the template's own marks from a message's text."""

    text: str
    ours: bool


class Template:
    """Renders messages so that control tokens written in a note's text stay plain text; raises GenerationFailed."""

    def __init__(self, source: str, bos: str, eos: str) -> None:
        try:
            self._format = Jinja2ChatFormatter(template=source or CHATML, bos_token=bos, eos_token=eos)
        except TemplateError as error:
            raise _failed(error) from error

    def parts(self, messages: Sequence[Message]) -> list[Part]:
        """Gives the prompt, a template that knows no system role getting its text with the first user's."""
        try:
            return list(self._parts(messages))
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if messages and messages[0].role == "system":
                return self.parts(_merged(messages))
            raise _failed(error) from error

    def _parts(self, messages: Sequence[Message]) -> Iterator[Part]:
        slots = [{"role": message.role, "content": f"\ue000{at}\ue001"} for at, message in enumerate(messages)]
        for at, text in enumerate(_SLOT.split(self._format(messages=slots).prompt)):  # type: ignore[arg-type]
            if at % 2:
                yield Part(messages[int(text)].content, ours=False)
            elif text:
                yield Part(text, ours=True)


def _failed(error: Exception) -> GenerationFailed:
    return GenerationFailed(f"The model's chat template failed: {error}", "Use another model file.")


def _merged(messages: Sequence[Message]) -> list[Message]:
    system, rest = messages[0].content, list(messages[1:])
    if not rest:
        return [Message("user", system)]
    return [Message(rest[0].role, f"{system}\n\n{rest[0].content}"), *rest[1:]]
