"""The turn inspector: what was really sent to the model, for the caller's own turns; and reports of bugs."""

from typing import Annotated, Any

import msgspec
from litestar import delete, get, post
from msgspec import Meta

from quorra.agent.inspector import bug
from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import IDENT, Asked, caller, home, now

FOLDER = "bugs"
FOUND = errors.documented(*errors.ALL, 404)


class NoTurn(QuorraError):
    """There is no such record, or it is another's."""

    code = "no_turn"

    def __init__(self) -> None:
        super().__init__("There is no such turn to look at.", "The last ones are kept in memory: GET /inspect/turns")


class NotDeveloper(QuorraError):
    """Who asks has not switched on that turns are shown to them."""

    code = "no_turn"

    def __init__(self) -> None:
        super().__init__(
            "Your turns are shown only while your preference developer_mode is on.",
            'Set it with PUT /preferences and the body {"developer_mode": true}.',
        )


class NotKept(QuorraError):
    """A report could not be written."""

    code = "disk"

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The report can't be kept: {error.strerror}.", "Make room or set the home's rights.")


class Turns(msgspec.Struct):
    """The caller's last turns, each as it was sent: payloads, tools, passages, reasoning, reply."""

    turns: list[dict[str, Any]]


class Bug(msgspec.Struct, forbid_unknown_fields=True):
    """What went wrong, and if wanted the record of the turn in which it did."""

    text: Annotated[str, Meta(min_length=1, max_length=20_000)]
    turn: Annotated[str, Meta(pattern=IDENT)] | None = None


class Report(msgspec.Struct):
    """A report that was kept, by the names of its files in the home's private folder."""

    files: list[str]


@get("/inspect/turns", sync_to_thread=True, responses=FOUND)
def turns(request: Asked) -> Turns:
    """Shows what was really sent to the model in the caller's last turns; 404 unless developer mode is on."""
    return Turns(home(request).inspector.of(_developer(request)))


@delete("/inspect/turns", sync_to_thread=True, responses=FOUND)
def clear(request: Asked) -> None:
    """Forgets the records of the caller's turns; 404 unless developer mode is on."""
    home(request).inspector.clear(_developer(request))


@post("/bugs", sync_to_thread=True, responses=errors.documented(*errors.BODY, 404, 503))
def report(request: Asked, data: Bug) -> Report:
    """Keeps a report of a bug in the home's private folder, with the record of a turn only where one is named."""
    record = None if data.turn is None else home(request).inspector.get(_developer(request), data.turn)
    if data.turn is not None and record is None:
        raise NoTurn
    try:
        written = bug(record, f"{caller(request).id}:\n\n{data.text}", home(request).private / FOLDER, now())
    except OSError as error:
        raise NotKept(error) from error
    return Report([f"{FOLDER}/{file.name}" for file in written])


def _developer(request: Asked) -> str:
    """Gives the caller where they have developer mode on; raises NotDeveloper."""
    principal = caller(request).id
    if not home(request).preferences.of(principal).developer_mode:
        raise NotDeveloper
    return principal
