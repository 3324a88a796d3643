"""Opens the chat model and the embedder that a home's settings name."""

from pathlib import Path

from quorra.errors import QuorraError
from quorra.inference.chat.llama import Llama
from quorra.inference.chat.scripted import Scripted
from quorra.inference.embed.minilm import MiniLM
from quorra.inference.protocol import Chat, Style
from quorra.inference.protocol import Embedder as EmbedderProtocol
from quorra.settings import Embedder, Model

PACKAGED = "SmolLM2-135M-Instruct"


class UnknownModel(QuorraError):
    """A model was named that is neither a backend nor a file."""

    code = "unknown_model"


def chat(model: Model, key: str = "", *, home: Path = Path()) -> Chat:
    """Gives the backend without loading it; ``key`` is an API key, paths in the settings start at ``home``."""
    path = home / model.path if model.path else None
    if model.backend == "scripted":
        return Scripted(_style(model, "composition"), model.context, path)
    style = _style(model, "composition" if path else "quotation")
    name = model.name or (path.stem if path else PACKAGED)
    return Llama(path, name=name, style=style, context=model.context, threads=model.threads)


def embedder(embedder: Embedder, key: str = "", *, home: Path = Path()) -> EmbedderProtocol:
    """Gives the embedder without loading it; ``key`` is an API key, paths in the settings start at ``home``."""
    return MiniLM(threads=embedder.threads)


def _style(model: Model, auto: Style) -> Style:
    return auto if model.answers == "auto" else model.answers
