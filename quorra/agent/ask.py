"""Answers a question: look up, compose and verify, or quote; every sentence with the passage that carries it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from quorra import metrics
from quorra.agent import composition, quotation
from quorra.agent.answer import Answer, Citation, Event
from quorra.agent.prompt import Prompts
from quorra.agent.reading.sentences import Source, sources
from quorra.agent.verifiers.verify import Verifier
from quorra.index.found import Found, Hit
from quorra.inference.protocol import Chat, Embedder, ModelAway, Style

Emit = Callable[[Event], None]
Cancelled = Callable[[], bool]


def _never() -> bool:
    return False


def _silent(_: Event) -> None:
    return None


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
    emit: Emit = _silent,
    cancelled: Cancelled = _never,
) -> Answer:
    """Answers from what ``search`` finds.

    ``style`` overrides what the model declares. ``emit`` gets a ``status`` at
    each step, ``reasoning`` as it comes, and a ``token`` only for text that has
    been verified, a sentence at a time; the Answer is what counts. A model that
    can't be reached gives the outcome ``model_away``; a cancelled question gives
    what was verified by then.
    """
    turn = _Turn(question, chat, embedder, prompts, emit, cancelled)
    with turn.step("search"):
        emit(Event("status", "looking up"))
        turn.look(search)
    try:
        if turn.hits and (style or chat.abilities.style) == "composition":
            composed = turn.compose(retries, max_tokens)
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
    prompts: Prompts
    emit: Emit
    cancelled: Cancelled
    hits: Sequence[Hit] = ()
    sources: Sequence[Source] = ()
    timings: dict[str, float] = field(default_factory=dict)

    def step(self, name: str) -> "_Step":
        return _Step(self.timings, name)

    def look(self, search: Callable[[str], Found]) -> None:
        self.hits = search(self.question).hits
        self.sources = sources(self.hits)

    def compose(self, retries: int, max_tokens: int) -> Answer | None:
        verifier = Verifier(self.question, self.sources, self.embedder)
        with self.step("compose"):
            lines = composition.compose(
                self.question, self.hits, verifier, self.chat, self.prompts,
                retries=retries, max_tokens=max_tokens, emit=self.emit, cancelled=self.cancelled,
            )  # fmt: skip
        if not lines:
            return None
        text, citations = _cite(
            [(line.text, [(one.source, one.whole) for one in line.bound]) for line in lines], self.hits
        )
        return self._served(Answer("answered", text, citations, self.chat.name, self.timings))

    def quote(self) -> Answer:
        self.emit(Event("status", "quoting"))
        with self.step("quote"):
            quoted = quotation.choose(self.question, self.sources, self.hits, self.embedder)
        if not quoted.chosen:
            return self._missed(quoted.near)
        text, citations = _cite([(_flat(one.text), [(one, False)]) for one in quoted.chosen], self.hits)
        self.emit(Event("token", text))
        return self._served(Answer("quoted", text, citations, self.chat.name, self.timings))

    def _missed(self, near: Sequence[Source]) -> Answer:
        text = "I found nothing in the notes that answers this."
        nearest = _citations(near, self.hits)
        if nearest:
            text += " The nearest I have, which may be about something else: "
            text += " ".join(f"“{_flat(one.quote)}” ({one.path})" for one in nearest)
        self.emit(Event("token", text))
        return self._served(Answer("not_found", text, (), self.chat.name, self.timings, nearest))

    def away(self, error: ModelAway) -> Answer:
        nearest = tuple(_citation(at, hit, hit.text, hit.lines) for at, hit in enumerate(self.hits[:3], 1))
        text = f"{error.message} {error.next}".strip()
        return self._served(Answer("model_away", text, (), self.chat.name, self.timings, nearest))

    def _served(self, answer: Answer) -> Answer:
        metrics.count("answers_total", outcome=answer.outcome)
        return answer


class _Step:
    """Adds the seconds of a block to the timings."""

    def __init__(self, timings: dict[str, float], name: str) -> None:
        self._timings, self._name = timings, name

    def __enter__(self) -> None:
        self._start = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._timings[self._name] = self._timings.get(self._name, 0.0) + perf_counter() - self._start


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cite(
    lines: Sequence[tuple[str, Sequence[tuple[Source, bool]]]], hits: Sequence[Hit]
) -> tuple[str, tuple[Citation, ...]]:
    """Puts a mark behind each sentence for each passage that carries a part of it."""
    numbers: dict[tuple[Source, bool], int] = {}
    texts = []
    for text, carried in lines:
        marks = [numbers.setdefault(one, len(numbers) + 1) for one in dict.fromkeys(carried)]
        texts.append(f"{text} {''.join(f'[{number}]' for number in marks)}")
    cited = [_quote(number, source, whole, hits) for (source, whole), number in numbers.items()]
    return " ".join(texts), tuple(cited)


def _quote(number: int, source: Source, whole: bool, hits: Sequence[Hit]) -> Citation:
    hit = hits[source.hit]
    if not whole:
        return _citation(number, hit, source.text, source.lines)
    start = source.above
    text = hit.text[start : source.at + len(source.text)]
    first = hit.lines[0] + hit.text.count("\n", 0, start)
    return _citation(number, hit, text, (first, source.lines[1]))


def _citations(found: Sequence[Source], hits: Sequence[Hit]) -> tuple[Citation, ...]:
    return tuple(_quote(at, one, False, hits) for at, one in enumerate(found, 1))


def _citation(number: int, hit: Hit, text: str, lines: tuple[int, int]) -> Citation:
    return Citation(number, hit.path, lines, hit.commit, hit.blob, text)
