"""What every verb shares: ``--home``, ``--as``, ``--json``, one way out and one error table."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import rich_click as click

from quorra.errors import QuorraError

if TYPE_CHECKING:
    from quorra.home import Home

DONE, FAILED, USAGE, AWAY = 0, 1, 2, 3
EXITS: Mapping[str, int] = {"model_away": AWAY, "busy": AWAY, "service_away": AWAY, "usage": USAGE}


@dataclass(frozen=True, slots=True)
class Result:
    """What a verb found: ``fields`` for programs, ``text`` for a person, and the exit code."""

    fields: Mapping[str, Any]
    text: str
    exit: int = DONE


@dataclass(frozen=True, slots=True)
class Call:
    """Where and for whom a verb runs."""

    home: Path | None
    principal: str
    json: bool

    @contextmanager
    def open(self) -> Iterator["Home"]:
        """Opens the home for the length of a verb."""
        from quorra import settings
        from quorra.home import Home

        where = self.home if self.home is not None else settings.find(Path.cwd())
        home = Home.open(settings.read(where.absolute()), key=os.environ.get("QUORRA_MODEL_KEY", ""))
        try:
            yield home
        finally:
            home.close()

    def say(self, line: str) -> None:
        """Tells a person how it goes, on stderr, so that stdout stays the answer's."""
        click.echo(line, err=True)


def verb(run: Callable[..., Result]) -> Callable[..., None]:
    """Turns a function of a Call into a click callback that prints its Result and exits."""

    @click.option("--home", type=click.Path(path_type=Path), help="The home's folder.")
    @click.option("--as", "principal", default="owner", show_default=True, help="Who is asking.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
    @functools.wraps(run)
    def command(home: Path | None, principal: str, as_json: bool, **rest: Any) -> None:
        call = Call(home, principal, as_json)
        try:
            result = run(call, **rest)
        except QuorraError as error:
            fail(error, as_json)
        show(result, as_json)
        sys.exit(result.exit)

    return command


def show(result: Result, as_json: bool) -> None:
    """Prints a result the way it was asked for."""
    text = json.dumps(result.fields, ensure_ascii=False) if as_json else result.text
    if text:
        click.echo(text)


def fail(error: QuorraError, as_json: bool) -> NoReturn:
    """Prints an error in its one form and exits with the code of the table."""
    if as_json:
        body = {"code": error.code, "message": error.message, "next": error.next}
        click.echo(json.dumps({"error": body}, ensure_ascii=False))
    else:
        click.echo(" ".join(part for part in (error.message, error.next) if part), err=True)
    sys.exit(EXITS.get(error.code, FAILED))
