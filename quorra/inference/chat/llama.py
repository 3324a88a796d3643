"""A GGUF chat model in this process, through llama.cpp."""

import codecs
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from quorra.inference.chat.wire import named, request
from quorra.inference.chat.written import read
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import Abilities, GenerationFailed, Message, Style, Tool, Usage
from quorra.inference.stream import Cleaner, Reply, Running, opened, speak

if TYPE_CHECKING:
    from quorra.inference.chat.engine import Context, Sampler, Weights
    from quorra.inference.chat.template import Template

PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class _Loaded:
    weights: "Weights"
    context: "Context"
    template: "Template"
    begin: list[int]


class Llama:
    """Loads on first use; holds the last prompt's evaluated tokens, so that only what changed is evaluated.

    ``path`` None is the model that a package ships. One generation runs at a
    time: a second waits for the first to end or to be closed.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        name: str,
        style: Style,
        context: int = 4096,
        threads: int = 0,
        tools: bool = False,
    ) -> None:
        self.name = name
        self.abilities = Abilities(streaming=True, tools=tools, context=context, style=style)
        self._path = path
        self.threads = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
        self._loading = Lock()
        self._closing = Event()
        self._loaded: _Loaded | None = None

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Starts a reply; raises ModelAway or GenerationFailed when it is iterated."""
        return Reply(
            lambda stop: self._run(messages, self._offered(tools), max_tokens, temperature, stop),
            lambda: self._closing.is_set() or cancelled(),
        )

    def payload(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
    ) -> Mapping[str, Any]:
        """Gives what ``generate`` is handed, and the prompt that is made of it; loads the model."""
        tools = self._offered(tools)
        prompt = "".join(part.text for part in self._load().template.parts(messages, tools))
        return {"model": self.name, **request(messages, tools, max_tokens, temperature), "prompt": prompt}

    def reachable(self) -> bool:
        """Tells whether the model's file is there, without loading it."""
        return self._loaded is not None or (self._path.is_file() if self._path else SMOLLM2.there() is not None)

    def close(self) -> None:
        """Ends a running reply and frees the model; the next use loads it again.

        A reply that was begun and is neither read nor closed keeps the model.
        """
        self._closing.set()
        try:
            if not self._lock.acquire(timeout=PATIENCE):
                return
        finally:
            self._closing.clear()
        with self._loading:
            for part in (self._loaded and self._loaded.context, self._loaded and self._loaded.weights):
                if part:
                    part.close()
            self._loaded = None
        self._lock.release()

    def _offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return tools if self.abilities.tools else ()

    def _run(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        limit: int,
        temperature: float,
        stop: Callable[[], bool],
    ) -> Running:
        if not self._acquired(stop):
            return Usage(0, 0, 0, "cancelled"), ()
        try:
            model = self._load()
            prompt, inside = self._prompt(model, messages, tools)
            evaluated = model.context.prepare(prompt, stop)
            if evaluated < 0:
                return Usage(len(prompt), 0, 0, "cancelled"), ()
            cleaner = Cleaner(inside)
            with closing(_Pen(model, tools, temperature)) as pen:
                said, finish = yield from speak(pen.texts(cleaner), cleaner, limit, stop)
            usage = Usage(len(prompt), evaluated, said, "length" if model.context.full else finish)
            return usage, named(read(cleaner.written), messages) if tools else ()
        finally:
            self._lock.release()

    def _acquired(self, stop: Callable[[], bool]) -> bool:
        while not self._lock.acquire(timeout=0.05):
            if stop():
                return False
        return True

    def _prompt(self, model: _Loaded, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[list[int], str]:
        parts = model.template.parts(messages, tools)
        tokens = [token for part in parts for token in model.weights.tokens(part.text, special=part.ours)]
        if model.begin and tokens[:1] != model.begin:
            tokens = model.begin + tokens
        if len(tokens) >= model.context.size:
            raise GenerationFailed(
                f"The prompt is {len(tokens)} tokens long; the model takes {model.context.size}.",
                "Raise model.context or ask for less.",
            )
        return tokens, opened(parts[-1].text) if parts and parts[-1].ours else ""

    def _load(self) -> _Loaded:
        with self._loading:
            self._loaded = self._loaded or self._fresh()
            return self._loaded

    def _fresh(self) -> _Loaded:
        from quorra.inference.chat.engine import Context, Weights
        from quorra.inference.chat.template import Template

        weights = Weights(self._path or SMOLLM2.path())
        with ExitStack() as undo:
            undo.callback(weights.close)
            bos, eos, begin = weights.borders()
            template = Template(weights.meta("tokenizer.chat_template"), bos, eos)
            context = Context(weights, self.abilities.context, self.threads)
            undo.pop_all()
        return _Loaded(weights, context, template, begin)


class _Pen:
    """Writes a reply: freely, and held to the tools' grammar while a call is being written."""

    def __init__(self, model: _Loaded, tools: Sequence[Tool], temperature: float) -> None:
        from quorra.inference.chat.engine import Sampler

        self._model = model
        self._tools = tools
        self._temperature = temperature
        self._free = Sampler(model.weights, temperature)
        self._held: Sampler | None = None

    def texts(self, cleaner: Cleaner) -> Iterator[str]:
        """Gives the text of each generated token, a character that is not whole yet with a later one.

        ``cleaner`` is fed each before the next is asked for, and so tells where a call begins and ends.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        context, weights = self._model.context, self._model.weights
        while (token := context.pick(self._sampler(cleaner.calling))) is not None:
            text, taken = decoder.decode(weights.piece(token)), [token]
            if self._tools and not cleaner.calling and (cut := _cut(text, cleaner)):
                text, taken = text[:cut], weights.tokens(text[:cut])
                decoder.reset()
            yield text
            if context.full:
                return
            context.take(taken)
        if rest := decoder.decode(b"", final=True):
            yield rest

    def close(self) -> None:
        """Frees the samplers."""
        self._free.close()
        if self._held:
            self._held.close()

    def _sampler(self, calling: bool) -> "Sampler":
        if calling and self._tools:
            self._held = self._held or self._holding()
            return self._held
        if self._held:
            self._held.close()
            self._held = None
        return self._free

    def _holding(self) -> "Sampler":
        from quorra.inference.chat.engine import Sampler
        from quorra.inference.chat.grammar import grammar

        return Sampler(self._model.weights, self._temperature, grammar(self._tools))


def _cut(text: str, cleaner: Cleaner) -> int:
    """Finds where in a token's text a call begins, 0 where none does: what follows there has to fit the grammar."""
    ends = (at + 1 for at, letter in enumerate(text[:-1]) if letter == ">")
    return next((end for end in ends if cleaner.opens(text[:end])), 0)
