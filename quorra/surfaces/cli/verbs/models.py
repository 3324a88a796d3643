"""The verbs about model files: list what is here, fetch what is asked for."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from quorra.surfaces.cli.verb import Call, Result, verb

if TYPE_CHECKING:
    from quorra.inference.packaged import Packaged
    from quorra.settings import Settings


@click.group()
def models() -> None:
    """List and fetch models."""


@models.command("list")
@verb
def listed(call: Call) -> Result:
    """List the models that are here and those that quorra.toml names."""
    with call.open() as home:
        rows = _rows(home.settings)
    lines = [f"{row['name']:40} {row['kind']:11} {_size(row['bytes'])}" for row in rows]
    return Result({"models": rows}, "\n".join(lines))


@models.command()
@click.argument("what", metavar="NAME|URL")
@verb
def pull(call: Call, what: str) -> Result:
    """Fetch a model that quorra.toml names, or one by URL; URL#sha256=HEX checks it."""
    from quorra.inference import pull as pulling

    with call.open() as home:
        call.owns("Fetching models")
        folder = home.settings.private / "models"
        with ExitStack() as shown:
            got = pulling.pull(what, home.settings.models, folder, _progress(what, shown))
    row = {**_row(_name(got.path), "pulled", got.path), "sha256": got.sha256, "checked": got.checked}
    text = f"{got.path} is here now. Use it: quorra ask --model {_name(got.path)} 'your question'"
    if not got.checked:
        text += f"\nNobody said what its sha256 should be; it is {got.sha256}."
    return Result({"models": [row]}, text)


def _progress(label: str, shown: ExitStack) -> Callable[[int, int], None]:
    """Gives what is told of bytes done and all; the bar appears with the first, so that a refusal shows none."""
    bars: list[Any] = []

    def told(done: int, whole: int) -> None:
        if not bars:
            bars.append(shown.enter_context(click.progressbar(length=whole or done, label=label, file=sys.stderr)))
        bars[0].length = whole or done
        bars[0].update(done - bars[0].pos)

    return told


def _rows(settings: "Settings") -> list[dict[str, Any]]:
    from quorra.inference import packaged, pull
    from quorra.inference.open import PACKAGED

    held = pull.held(settings.private / "models")
    here = {_name(path) for path in held}
    return [
        _packaged(PACKAGED, packaged.SMOLLM2),
        _packaged("all-MiniLM-L6-v2", packaged.WEIGHTS),
        *(_row(_name(path), "pulled", path) for path in held),
        *({**_row(name, "to pull", None), "url": one.url} for name, one in settings.models.items() if name not in here),
    ]


def _packaged(name: str, file: "Packaged") -> dict[str, Any]:
    from quorra.inference.protocol import ModelAway

    try:
        return _row(name, "packaged", file.path())
    except ModelAway:
        return _row(name, "missing", None)


def _row(name: str, kind: str, path: Path | None) -> dict[str, Any]:
    size = path.stat().st_size if path else None
    return {"name": name, "kind": kind, "path": str(path) if path else None, "bytes": size}


def _name(path: Path) -> str:
    return path.name.removesuffix(".gguf")


def _size(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:,.0f} MB"
