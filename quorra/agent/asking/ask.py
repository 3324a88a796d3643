"""Answers a question: look up, compose and verify, or quote; every sentence with the passage that carries it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import shorten
from time import perf_counter
from typing import Any, Protocol

from quorra import metrics
from quorra.agent.asking import citing, composition, quotation, shown
from quorra.agent.asking.answer import Answer, Citation, Event, Outcome
from quorra.agent.asking.citing import Span
from quorra.agent.asking.composition import Writer
from quorra.agent.prompting.prompt import Prompts
from quorra.agent.reading.sentences import Source, sources
from quorra.agent.verifiers import about
from quorra.agent.verifiers.verify import Verifier
from quorra.index.found import Found, Hit
from quorra.inference.protocol import Chat, Embedder, ModelAway, Style

_Line = tuple[str, Sequence[Span], str]
"""What is said, where it stands, and a block of code behind it."""
_PARTS = 3


def _never() -> bool:
    return False


def _silent(_: Event) -> None:
    return None


class Witness(Protocol):
    """Sees what an answer is made of."""

    def call(self, payload: Mapping[str, Any]) -> None:
        """Takes a request to the model before it leaves."""
        ...

    def passages(self, hits: Iterable[Hit]) -> None:
        """Takes what was found."""
        ...


def answer(
    question: str,
    *,
    search: Callable[[str], Found],
    chat: Chat,
    embedder: Embedder,
    prompts: Prompts,
    style: Style | None = None,
    retries: int = 1,
    max_tokens: int = 400,
    emit: Callable[[Event], None] = _silent,
    cancelled: Callable[[], bool] = _never,
    witness: Witness | None = None,
) -> Answer:
    """Answers from what ``search`` finds; ``witness`` sees what was found and what is sent to the model.

    ``style`` overrides what the model declares. ``emit`` gets a ``status`` at each
    step, ``reasoning`` as it comes, and a ``token`` only for text that has been
    verified; the Answer is what counts. A model that can't be reached gives the
    outcome ``model_away``.
    """
    turn = _Turn(question, chat, embedder, emit)
    with turn.step("search"):
        emit(Event("status", "looking up"))
        turn.look(search)
    if witness:
        witness.passages(turn.hits)
    try:
        if turn.hits and (style or chat.abilities.style) == "composition":
            seen = witness.call if witness else None
            composed = turn.compose(Writer(chat, prompts, max_tokens, emit, cancelled, seen), retries)
            if composed is not None:
                return composed
        return turn.quote()
    except ModelAway as away:
        return turn.away(away)


@dataclass(slots=True)
class _Turn:
    """One question on its way to an answer."""

    question: str
    chat: Chat
    embedder: Embedder
    emit: Callable[[Event], None]
    hits: list[Hit] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Adds the seconds of a block to the timings."""
        start = perf_counter()
        try:
            yield
        finally:
            self.timings[name] = self.timings.get(name, 0.0) + perf_counter() - start

    def look(self, search: Callable[[str], Found]) -> None:
        """Looks up the question and, where it asks several things, each of them."""
        parts = about.ask(self.question).parts[1:][:_PARTS]
        seen = set()
        for text in (self.question, *(part.text for part in parts)):
            for hit in search(text).hits:
                if (hit.path, hit.lines, hit.text) not in seen:
                    seen.add((hit.path, hit.lines, hit.text))
                    self.hits.append(hit)
        self.sources = sources(self.hits)

    def compose(self, writer: Writer, retries: int) -> Answer | None:
        """Lets the model write; None where nothing that it wrote stands."""
        with self.step("compose"):
            verifier = Verifier(self.question, self.sources)
            draft = composition.compose(self.question, self.hits, verifier, writer, retries)
        if draft.nothing and not draft.lines:
            return self._missed(self._quoted().nearest)
        if draft.fault:
            return None
        lines = [(line.text, [citing.span(one.source, one.whole) for one in line.bound], "") for line in draft.lines]
        return self._carried("answered", lines)

    def quote(self) -> Answer:
        """Answers in the notes' own words, or says that there are none."""
        self.emit(Event("status", "quoting"))
        quoted = self._quoted()
        if not quoted.chosen:
            return self._missed(quoted.nearest)
        lines = [(one.text, [(one.hit, one.start, one.end)], one.block) for one in quoted.chosen]
        return self._carried("quoted", lines)

    def away(self, error: ModelAway) -> Answer:
        """Says which model is away, and offers what was found."""
        nearest = tuple(citing.citation(at, hit, hit.text, hit.lines) for at, hit in enumerate(self.hits[:3], 1))
        return self._served("model_away", f"{error.message} {error.next}".strip(), near=nearest)

    def _quoted(self) -> quotation.Quoted:
        with self.step("quote"):
            return quotation.choose(self.question, self.sources, self.hits, self.embedder)

    def _missed(self, nearest: Sequence[Source]) -> Answer:
        near = tuple(citing.quote(at, citing.span(one), self.hits) for at, one in enumerate(nearest, 1))
        text = "I found nothing in the notes that answers this."
        if near:
            text += " The nearest I have, which may be about something else:"
            text += "".join(
                f"\n- {shorten(shown.visible(one.quote), 160, placeholder=' …')} ({one.path})" for one in near
            )
        self.emit(Event("token", text))
        return self._served("not_found", text, near=near)

    def _carried(self, outcome: Outcome, lines: Sequence[_Line]) -> Answer:
        """Serves sentences, a mark behind each for every passage that carries a part of it."""
        numbers: dict[Span, int] = {}
        said = ""
        for text, spans, block in lines:
            marks = [numbers.setdefault(one, len(numbers) + 1) for one in dict.fromkeys(spans)]
            line = f"{text} {''.join(f'[{number}]' for number in marks)}"
            if block:
                line += f"\n\n{block}\n"
            if said and not said.endswith("\n"):
                line = f" {line}"
            said += line
            self.emit(Event("token", line))
        cited = tuple(citing.quote(number, span, self.hits) for span, number in numbers.items())
        return self._served(outcome, said.rstrip("\n"), citations=cited)

    def _served(
        self, outcome: Outcome, text: str, citations: tuple[Citation, ...] = (), near: tuple[Citation, ...] = ()
    ) -> Answer:
        metrics.count("answers_total", outcome=outcome)
        return Answer(outcome, text, citations, self.chat.name, self.timings, near)


__all__ = ["Event", "answer"]
