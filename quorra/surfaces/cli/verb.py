"""What every verb shares: ``--home``, ``--as``, ``--json``, one way out and one error table."""

import functools
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import rich_click as click

from quorra.access.window import OWNER, owns
from quorra.errors import QuorraError

if TYPE_CHECKING:
    from quorra.home import Home

DONE, FAILED, USAGE, AWAY = 0, 1, 2, 3
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
EXITS: Mapping[str, int] = {
    "busy": AWAY,
    "generation_failed": AWAY,
    "index_busy": AWAY,
    "model_away": AWAY,
    "remote_away": AWAY,
    "service_away": AWAY,
    "usage": USAGE,
}


class Usage(QuorraError):
    """The words of the command are not what the verb takes."""

    code = "usage"

    def __init__(self, error: click.ClickException) -> None:
        context = getattr(error, "ctx", None) or click.get_current_context(silent=True)
        message = error.format_message()
        super().__init__(
            message if message.endswith((".", "?")) else f"{message}.",
            f"See: {context.command_path if context else 'quorra'} --help",
        )


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
    after: ExitStack

    @contextmanager
    def open(self) -> Iterator["Home"]:
        """Opens the home; it is closed after the result is shown, as that may take longer than finding it."""
        from quorra import settings
        from quorra.home import Home

        where = self.home if self.home is not None else settings.find(Path.cwd())
        model, embedder = (os.environ.get(f"QUORRA_{name}_KEY", "") for name in ("MODEL", "EMBEDDER"))
        home = Home.open(settings.read(where.absolute()), model_key=model, embedder_key=embedder)
        self.after.callback(home.close)
        if self.principal == OWNER:
            for notice in home.notices():
                self.say(notice)
        home.window(self.principal, None)  # who is not known here gets no further, whatever the verb
        yield home

    def owns(self, what: str) -> None:
        """Raises OwnersOnly where somebody else than the owner asks for ``what``."""
        owns(self.principal, what)

    def say(self, line: str) -> None:
        """Tells a person how it goes, on stderr, so that stdout stays the answer's."""
        click.echo(_safe(line), err=True)


def verb(run: Callable[..., Result]) -> Callable[..., None]:
    """Turns a function of a Call into a click callback that prints its Result and exits."""

    @click.option("--home", type=click.Path(path_type=Path), help="The home's folder.")
    @click.option("--as", "principal", default=OWNER, show_default=True, help="Who is asking.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
    @functools.wraps(run)
    def command(home: Path | None, principal: str, as_json: bool, **rest: Any) -> None:
        try:
            with ExitStack() as after:
                result = run(Call(home, principal, as_json, after), **rest)
                show(result, as_json)
        except QuorraError as error:
            fail(error, as_json)
        except click.ClickException as error:
            fail(Usage(error), as_json)
        except BrokenPipeError:
            deaf()
        except OSError as error:
            fail(Disk(error), as_json)
        except Exception as error:  # noqa: BLE001 - a person gets a sentence, never a traceback
            fail(Fault(error), as_json)
        sys.exit(result.exit)

    return command


def named(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuses an empty name among those given: it comes from a script whose variable is unset."""
    names = value if isinstance(value, tuple) else (value,)
    if any(name is not None and not name.strip() for name in names):
        raise click.BadParameter("it is empty.", context, parameter)
    return value


def show(result: Result, as_json: bool) -> None:
    """Prints a result the way it was asked for."""
    text = plain(result.fields) if as_json else _safe(result.text)
    if text:
        click.echo(text)


def plain(fields: Mapping[str, Any]) -> str:
    """Gives one JSON object; a name that is not UTF-8 is told by escapes."""
    text = json.dumps(fields, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(fields)
    return text


def counted(number: int, one: str, many: str = "") -> str:
    """Writes a number with its noun, in the plural where it is not one."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _safe(text: str) -> str:
    """Makes visible what a terminal would obey: notes and file names may hold anything."""
    plain = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return plain.encode("utf-8", "backslashreplace").decode()


def fail(error: QuorraError, as_json: bool) -> NoReturn:
    """Prints an error in its one form and exits with the code of the table."""
    code = EXITS.get(error.code, FAILED)
    told = _safe(" ".join(part for part in (error.message, error.next) if part))
    try:
        if as_json:
            from quorra.surfaces import fields

            click.echo(plain(fields.error(error)))
        else:
            click.echo(told, err=True)
    except OSError:
        # The answer's own way is closed, be it full or gone: a person is told beside it.
        with suppress(OSError):
            click.echo(told, err=True)
        deaf(code)
    sys.exit(code)


def deaf(code: int = DONE) -> NoReturn:
    """Exits where nobody reads on or nothing more can be written; the flush at exit must not complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
