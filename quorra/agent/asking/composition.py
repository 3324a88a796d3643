"""Lets a model write the answer, and lets nothing of it out that the verifier has not bound to a passage.

Nothing is shown while it is being written: a person sees ``status`` and
``reasoning`` until the whole draft stands, then its sentences. A try ends at the
first sentence that no passage carries.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorra.agent.asking.answer import Event
from quorra.agent.prompting import prompt
from quorra.agent.prompting.prompt import Prompts
from quorra.agent.reading.sentences import spans
from quorra.agent.verifiers import claims
from quorra.agent.verifiers.verify import Bound, Unbound, Verifier
from quorra.index.found import Hit
from quorra.inference.protocol import Chat, Generation, Message

_CHARACTERS = 3
"""Characters that one token stands for at least; keeps the prompt inside the model's context."""
_RULES = 3000
"""Characters kept free for the rules, the question and a second try."""


@dataclass(frozen=True, slots=True)
class Line:
    """A verified sentence in the model's own words."""

    text: str
    bound: tuple[Bound, ...]


@dataclass(slots=True)
class Draft:
    """What came of a try: the sentences that stand, why it fell, or that the model found nothing."""

    lines: list[Line] = field(default_factory=list)
    text: str = ""
    fault: str = ""
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class Writer:
    """A model with what it needs to write and what watches it; ``seen`` gets each request before it leaves."""

    chat: Chat
    prompts: Prompts
    max_tokens: int
    emit: Callable[[Event], None]
    cancelled: Callable[[], bool]
    seen: Callable[[Mapping[str, Any]], None] | None = None


def compose(question: str, hits: Sequence[Hit], verifier: Verifier, writer: Writer, retries: int) -> Draft:
    """Writes an answer; a draft that falls is written again with the reason, ``retries`` times at most."""
    room = (writer.chat.abilities.context - writer.max_tokens) * _CHARACTERS - _RULES
    messages = prompt.assemble(writer.prompts, question, hits, max(room, 1000))
    draft = _write(messages, verifier, writer)
    for _ in range(retries):
        if not draft.fault or writer.cancelled():
            break
        writer.emit(Event("status", "writing again"))
        messages = prompt.again(writer.prompts, messages, draft.text, draft.fault)
        draft = _write(messages, verifier, writer)
    return draft


def _write(messages: Sequence[Message], verifier: Verifier, writer: Writer) -> Draft:
    draft, beside = Draft(), ""
    if writer.seen:
        writer.seen(writer.chat.payload(messages, max_tokens=writer.max_tokens))
    running = writer.chat.generate(messages, max_tokens=writer.max_tokens, cancelled=writer.cancelled)
    try:
        for sentence in _sentences(_texts(running, draft, writer.emit), lambda: _ended(running)):
            if claims.nothing(sentence):
                draft.nothing = True
                break
            found = verifier.check(sentence, draft.lines[-1].text if draft.lines else "")
            if not isinstance(found, Unbound):
                draft.lines.append(Line(claims.unmarked(sentence), tuple(found)))
            elif found.beside:
                beside = beside or found.reason
            else:
                draft.fault = found.reason
                break
    finally:
        running.close()
    if not draft.lines and not draft.nothing:
        draft.fault = draft.fault or beside or "it is empty"
    return draft


def _texts(running: Generation, draft: Draft, emit: Callable[[Event], None]) -> Iterator[str]:
    for delta in running:
        if delta.channel == "reasoning":
            emit(Event("reasoning", delta.text))
            continue
        if not draft.text:
            emit(Event("status", "writing"))
        draft.text += delta.text
        yield delta.text


def _ended(running: Generation) -> bool:
    """Tells whether the model came to its own end; what it was cut off in is no sentence."""
    return running.usage is not None and running.usage.finish == "stop"


def _sentences(texts: Iterator[str], ended: Callable[[], bool]) -> Iterator[str]:
    """Cuts a stream into sentences, a bare “Yes.” with the one behind it; one is whole when the next has begun."""
    held = ""
    for text in texts:
        held += text
        while len(found := spans(held)) > 1:
            end = _end(held, found)
            if end is None:
                break
            yield held[found[0][0] : end]
            held = held[end:]
    rest = list(_rest(held))
    yield from rest if ended() else rest[:-1]


def _rest(held: str) -> Iterator[str]:
    while found := spans(held):
        end = _end(held, found) or found[-1][1]
        yield held[found[0][0] : end]
        held = held[end:]


def _end(held: str, found: Sequence[tuple[int, int]]) -> int | None:
    """Gives where the first sentence that says something ends; None where that may still go on."""
    for start, end in found[:-1]:
        if not claims.hollow(held[start:end]):
            return end
    return None
