"""A GGUF chat model in this process, through llama.cpp."""

import codecs
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

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

    def __init__(self, path: Path | None, *, name: str, style: Style, context: int = 4096, threads: int = 0) -> None:
        self.name = name
        self.abilities = Abilities(streaming=True, tools=False, context=context, style=style)
        self._path = path
        self.threads = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
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
            lambda stop: self._run(messages, max_tokens, temperature, stop),
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
        """Gives what ``generate`` lays out for the model, as JSON values."""
        told = {"messages": list(map(asdict, messages)), "tools": list(map(asdict, tools))}
        return {**told, "max_tokens": max_tokens, "temperature": temperature}

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
        for part in (self._loaded and self._loaded.context, self._loaded and self._loaded.weights):
            if part:
                part.close()
        self._loaded = None
        self._lock.release()

    def _run(self, messages: Sequence[Message], limit: int, temperature: float, stop: Callable[[], bool]) -> Running:
        from quorra.inference.chat.engine import Sampler

        if not self._acquired(stop):
            return Usage(0, 0, 0, "cancelled"), ()
        sampler = None
        try:
            model = self._load()
            prompt, inside = self._prompt(model, messages)
            evaluated = model.context.prepare(prompt, stop)
            if evaluated < 0:
                return Usage(len(prompt), 0, 0, "cancelled"), ()
            sampler = Sampler(temperature)
            said, finish = yield from speak(_texts(model, sampler), Cleaner(inside), limit, stop)
            return Usage(len(prompt), evaluated, said, "length" if model.context.full else finish), ()
        finally:
            if sampler:
                sampler.close()
            self._lock.release()

    def _acquired(self, stop: Callable[[], bool]) -> bool:
        while not self._lock.acquire(timeout=0.05):
            if stop():
                return False
        return True

    def _prompt(self, model: _Loaded, messages: Sequence[Message]) -> tuple[list[int], str]:
        parts = model.template.parts(messages)
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
        if self._loaded is None:
            from quorra.inference.chat.engine import Context, Weights
            from quorra.inference.chat.template import Template

            weights = Weights(self._path or SMOLLM2.path())
            with ExitStack() as undo:
                undo.callback(weights.close)
                bos, eos, begin = weights.borders()
                template = Template(weights.meta("tokenizer.chat_template"), bos, eos)
                context = Context(weights, self.abilities.context, self.threads)
                undo.pop_all()
            self._loaded = _Loaded(weights, context, template, begin)
        return self._loaded


def _texts(model: _Loaded, sampler: "Sampler") -> Iterator[str]:
    """Gives the text of each generated token, a character that is not whole yet with a later one."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in model.context.follow(sampler):
        yield decoder.decode(model.weights.piece(token))
    if rest := decoder.decode(b"", final=True):
        yield rest
