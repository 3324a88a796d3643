"""Opens the chat model and the embedder that a home's settings name, loading neither."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from quorra.errors import QuorraError
from quorra.inference.chat.llama import Llama
from quorra.inference.chat.remote import Remote
from quorra.inference.chat.scripted import Scripted
from quorra.inference.embed.gguf import Gguf
from quorra.inference.embed.minilm import MiniLM
from quorra.inference.embed.remote import RemoteEmbedder
from quorra.inference.protocol import Chat, Style
from quorra.inference.protocol import Embedder as EmbedderProtocol
from quorra.inference.server import Server
from quorra.settings import Embedder, Model

PACKAGED = "SmolLM2-135M-Instruct"


class UnknownModel(QuorraError):
    """What was named is no backend, no file and no pulled model."""

    code = "unknown_model"


def chat(model: Model, key: str = "", *, home: Path = Path()) -> Chat:
    """Gives the backend; ``key`` is an API key, a relative path starts at ``home``."""
    path = home / model.path if model.path else None
    if model.backend == "scripted":
        return Scripted(_style(model, "composition"), model.context, path, model.tools == "auto")
    if model.backend == "openai":
        server = Server(_address(model.url, "model.url"), key, model.timeout)
        return Remote(
            server,
            name=model.name,
            style=_style(model, "composition"),
            context=model.context,
            tools=model.tools == "auto",
        )
    style = _style(model, "composition" if path else "quotation")
    name = model.name or (path.stem if path else PACKAGED)
    tools = path is not None and model.tools == "auto"
    return Llama(path, name=name, style=style, context=model.context, threads=model.threads, tools=tools)


def embedder(embedder: Embedder, key: str = "", *, home: Path = Path()) -> EmbedderProtocol:
    """Gives the embedder; ``key`` is an API key, a relative path starts at ``home``."""
    if embedder.backend == "openai":
        return RemoteEmbedder(Server(_address(embedder.url, "embedder.url"), key), name=embedder.name)
    if embedder.backend == "minilm":
        return MiniLM(threads=embedder.threads)
    if not embedder.path:
        raise UnknownModel("embedder.backend is gguf and embedder.path names no file.", "Set embedder.path.")
    return Gguf(home / embedder.path, embedder.threads)


def override(text: str, model: Model, places: Sequence[Path]) -> Model:
    """Reads what ``--model`` was given; raises UnknownModel.

    ``scripted``, ``scripted:FILE``, ``openai:URL#NAME``, the packaged model's name,
    or a GGUF file: a path from one of ``places``, or a name of one pulled there.
    """
    backend, _, rest = text.partition(":")
    if text in (PACKAGED, "llama"):
        return model.model_copy(update={"backend": "llama", "path": "", "name": ""})
    if backend == "openai":
        url, _, name = rest.partition("#")
        return model.model_copy(update={"backend": "openai", "url": _address(url, "--model"), "name": name, "path": ""})
    if backend == "scripted":
        path = str(_file(rest, places)) if rest else ""
        return model.model_copy(update={"backend": "scripted", "path": path, "name": ""})
    return model.model_copy(update={"backend": "llama", "path": str(_file(text, places)), "name": ""})


def _file(text: str, places: Sequence[Path]) -> Path:
    for place in [Path("/")] if Path(text).is_absolute() else places:
        for path in (place / text, place / f"{text}.gguf"):
            if text and path.is_file():
                return path.resolve()
    raise UnknownModel(
        f"{text!r} is no model file here and none that was pulled.",
        "Name a GGUF file, scripted, or openai:URL#NAME; quorra models list shows what is there.",
    )


def _address(url: str, where: str) -> str:
    wrong = UnknownModel(f"{where} must be a server's address, not {url!r}.", "Name it as http://127.0.0.1:8080/v1.")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isprintable()
    except ValueError as error:
        raise wrong from error
    if not good or " " in url:
        raise wrong
    return url


def _style(model: Model, auto: Style) -> Style:
    return auto if model.answers == "auto" else model.answers
