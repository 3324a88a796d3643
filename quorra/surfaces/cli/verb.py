"""What every verb shares: ``--home``, ``--as``, ``--json``, one way out and one error table."""

import functools
import json
import os
import sys
import traceback
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
EXITS: Mapping[str, int] = {
    "busy": AWAY,
    "generation_failed": AWAY,
    "index_busy": AWAY,
    "model_away": AWAY,
    "pull_failed": AWAY,
    "service_away": AWAY,
    "usage": USAGE,
}


class Disk(QuorraError):
    """The machine refused a file."""

    code = "disk"

    def __init__(self, error: OSError) -> None:
        where = f"{error.filename}: " if error.filename else ""
        super().__init__(f"{where}{error.strerror or error}.", "Make room or set its rights, and try again.")


class Fault(QuorraError):
    """A fault of ours, told by its place alone."""

    code = "internal"

    def __init__(self, error: Exception) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        super().__init__(f"Quorra failed at this, and the fault is hers ({where}).", "Please report it.")


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
        except BrokenPipeError:
            raise
        except OSError as error:
            fail(Disk(error), as_json)
        except Exception as error:  # noqa: BLE001 - a person gets a sentence, never a traceback
            fail(Fault(error), as_json)
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
