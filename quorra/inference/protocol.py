"""What a chat model and an embedder promise, whoever runs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from quorra.errors import QuorraError

Vectors = npt.NDArray[np.float32]
Style = Literal["quotation", "composition"]


def unit(rows: Vectors) -> Vectors:
    """Scales rows to unit length; a row of zeros stays one."""
    scaled: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), np.float32(1e-12))
    return scaled


class ModelAway(QuorraError):
    """The model can't be reached or loaded; nothing was generated."""

    code = "model_away"


class GenerationFailed(QuorraError):
    """A reply broke off or could not begin; what was streamed so far is not an answer."""

    code = "generation_failed"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it: ``arguments`` is JSON text, perhaps broken, and empty where there are none."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model is told of a tool; ``parameters`` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation handed to a model.

    ``calls`` are what an assistant's message asks for; ``answers`` is the id of the call that a tool's message answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[Call, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a backend declares it can do; ``context`` counts tokens."""

    streaming: bool
    tools: bool
    context: int
    style: Style


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply: cleaned visible text, or reasoning, which is never persisted."""

    channel: Literal["text", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What one generation cost; ``evaluated`` counts prompt tokens not served from the cache.

    Both counts of the prompt are 0 where a server doesn't tell them. ``finish`` is
    ``stop``, ``calls``, ``length``, ``cancelled``, or ``empty`` for a reply that
    ended by itself without a visible word or a call.
    """

    prompt: int
    evaluated: int
    generated: int
    finish: str


class Generation(Protocol):
    """A running reply: iterate its deltas, then read ``usage`` and ``calls``; ``close`` stops the model.

    There are no calls where the reply broke off.
    """

    usage: Usage | None
    calls: tuple[Call, ...]

    def __iter__(self) -> Iterator[Delta]: ...

    def close(self) -> None:
        """Stops the model, from whichever thread."""
        ...


class Chat(Protocol):
    """A chat model. It serves one generation at a time and holds no history."""

    name: str
    abilities: Abilities

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Generation:
        """Starts a reply; iterating it raises ModelAway before the first delta, GenerationFailed at any."""
        ...

    def payload(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
    ) -> Mapping[str, Any]:
        """Gives what ``generate`` would really hand to the model, as JSON values."""
        ...

    def reachable(self) -> bool:
        """Tells whether a reply could begin now; never raises."""
        ...

    def close(self) -> None:
        """Frees what the model holds."""
        ...


class Embedder(Protocol):
    """Texts to unit-length float32 rows of ``dim`` numbers, one text's vector independent of its batch.

    ``name`` identifies weights, graph and pooling: vectors of two names never mix.
    """

    @property
    def name(self) -> str:
        """What to key vectors by; raises ModelAway where that can't be told."""
        ...

    @property
    def dim(self) -> int:
        """How many numbers a vector has; raises ModelAway where that can't be told."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Gives one row a text, finite for any text; raises ModelAway."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Gives for each text a unit-length row for every token that is read of it; raises ModelAway.

        One row, the text's own vector, where the backend doesn't tell tokens apart.
        """
        ...

    def close(self) -> None:
        """Frees what the model holds."""
        ...
