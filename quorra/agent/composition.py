"""Lets a model write the answer, and lets nothing of it out that the verifier has not bound to a passage."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quorra.agent import prompt
from quorra.agent.answer import Event
from quorra.agent.prompt import NOTHING, Prompts
from quorra.agent.reading.sentences import spans
from quorra.agent.verifiers import claims
from quorra.agent.verifiers.verify import Bound, Unbound, Verifier
from quorra.index.found import Hit
from quorra.inference.protocol import Chat, Message

_CHARACTERS = 3
"""Characters that one token stands for at least; keeps the prompt inside the model's context."""


@dataclass(frozen=True, slots=True)
class Line:
    """A verified sentence in the model's own words."""

    text: str
    bound: tuple[Bound, ...]


@dataclass(slots=True)
class _Draft:
    """What came of one try: the sentences that stand, and the first that does not."""

    lines: list[Line]
    text: str
    failed: Unbound | None = None
    nothing: bool = False


def compose(
    question: str,
    hits: Sequence[Hit],
    verifier: Verifier,
    chat: Chat,
    prompts: Prompts,
    *,
    retries: int,
    max_tokens: int,
    emit: Callable[[Event], None],
    cancelled: Callable[[], bool],
) -> list[Line]:
    """Writes an answer and gives its sentences; none where every try failed or the model found nothing.

    A sentence goes out as soon as it is bound, never before. A try ends at the
    first sentence that is not; the next one is told why.
    """
    room = (chat.abilities.context - max_tokens) * _CHARACTERS - 3000
    messages = prompt.assemble(prompts, question, hits, max(room, 1000))
    for _ in range(retries + 1):
        draft = _write(messages, verifier, chat, max_tokens, emit, cancelled)
        if draft.failed is None:
            break
        emit(Event("status", "checking again"))
        messages = prompt.again(prompts, messages, draft.text, draft.failed.reason)
    if draft.failed is not None or draft.nothing:
        return []
    for line in draft.lines:
        emit(Event("token", line.text + " "))
    return draft.lines


def _write(
    messages: Sequence[Message],
    verifier: Verifier,
    chat: Chat,
    max_tokens: int,
    emit: Callable[[Event], None],
    cancelled: Callable[[], bool],
) -> _Draft:
    draft = _Draft([], "")
    running = chat.generate(messages, max_tokens=max_tokens, cancelled=cancelled)
    emit(Event("status", "writing"))
    try:
        for sentence in _sentences(_texts(running, draft, emit)):
            if claims.clean(sentence).upper().startswith(NOTHING):
                draft.nothing = True
                break
            before = draft.lines[-1].text if draft.lines else ""
            found = verifier.check(sentence, before)
            if isinstance(found, Unbound):
                draft.failed = found
                break
            draft.lines.append(Line(claims.unmarked(sentence), tuple(found)))
    finally:
        running.close()
    return draft


def _texts(running: object, draft: _Draft, emit: Callable[[Event], None]) -> Iterator[str]:
    for delta in running:  # type: ignore[attr-defined]
        if delta.channel == "reasoning":
            emit(Event("reasoning", delta.text))
        else:
            draft.text += delta.text
            yield delta.text


def _sentences(texts: Iterator[str]) -> Iterator[str]:
    """Cuts a stream into sentences; one is whole when the next has begun."""
    held = ""
    for text in texts:
        held += text
        while len(found := spans(held)) > 1:
            start, end = found[0]
            yield held[start:end]
            held = held[end:]
    for start, end in spans(held):
        yield held[start:end]
