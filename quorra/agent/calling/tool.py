"""A tool: what a model is told of it, who can reach it, and what it does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Protocol

import msgspec

from quorra.access.changes.asked import Changes
from quorra.access.decision import Tier
from quorra.access.proposals import Proposals
from quorra.access.window import Window
from quorra.index.found import Found, Hit
from quorra.inference import protocol
from quorra.ledger.change import Origin
from quorra.state.sessions import Sessions
from quorra.vault.library import Library


class Search(Protocol):
    """Finds passages inside a window."""

    def __call__(self, question: str, *, window: Window, k: int, per_note: bool) -> Found:
        """Gives the best passages, one a note where ``per_note`` is set."""
        ...


@dataclass(frozen=True, slots=True)
class Rooms:
    """The home's rooms as tools reach them."""

    library: Library
    changes: Changes
    search: Search
    proposals: Callable[[], Proposals]
    sessions: Sessions


@dataclass(frozen=True, slots=True)
class Reach:
    """For whom and where a tool runs: everything it does is done in this principal's window and name.

    ``narrowed`` tells that others hear the reply too, so that the window is less than the principal's own.
    """

    rooms: Rooms
    principal: str
    window: Window
    surface: str
    session: str
    run: str
    now: datetime
    narrowed: bool = False

    def origin(self, tool: str, reason: str = "") -> Origin:
        """Gives the origin of a change that a tool makes."""
        return Origin(self.principal, self.surface, reason, session=self.session, tool=tool)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call, in the words that the model reads.

    ``ok`` is False where the call has to be changed to succeed; ``hits`` are the passages that
    a reply may be bound to; ``targets`` name what was touched, for the audit, which keeps only hashes of them.
    """

    text: str
    ok: bool = True
    hits: tuple[Hit, ...] = ()
    targets: tuple[str, ...] = ()
    commit: str | None = None
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What a tier-2 call would do, put in words from its arguments, never by the model.

    ``mark`` identifies the effect beyond the arguments: where it differs at the moment
    of approval, what was seen is not what would be done, and it is asked again.
    """

    title: str
    text: str
    mark: str = ""


Arguments = Any
"""An instance of the tool's own Struct."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, fixed when it is registered.

    ``takes`` is a Struct: its fields make the schema and its docstring the description.
    ``draft`` is what a tier-2 tool shows before anybody says yes; a Result there is an error told to the model.
    ``writes`` marks what changes the home at all, which only those may use who may write. ``useful`` tells
    whether a model should hear of it now, so that it has few to choose from; it can be reached all the same.
    """

    name: str
    takes: type[msgspec.Struct]
    scopes: frozenset[str]
    tier: Tier
    run: Callable[[Reach, Arguments], Result]
    draft: Callable[[Reach, Arguments], Draft | Result] | None = None
    writes: bool = False
    useful: Callable[[Reach], bool] = lambda _: True

    def offer(self) -> protocol.Tool:
        """Gives what a model is told."""
        return protocol.Tool(self.name, (self.takes.__doc__ or "").strip(), schema(self.takes))

    def read(self, text: str) -> Arguments:
        """Reads a model's arguments; raises Unreadable, whose sentence tells the model what to change.

        Nothing at all stands for no arguments, and numbers written as text for numbers.
        """
        try:
            given = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise Unreadable(self, f"they are not JSON ({error})") from error
        return self.take(given)

    def take(self, given: Any) -> Arguments:
        """Takes arguments that are JSON values already; raises Unreadable."""
        if not isinstance(given, dict):
            raise Unreadable(self, "they are not a JSON object")
        try:
            return msgspec.convert(given, self.takes, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise Unreadable(self, str(error)) from error


class Unreadable(ValueError):
    """A call's arguments are not what its tool takes."""

    def __init__(self, tool: Tool, why: str) -> None:
        told = json.dumps(schema(tool.takes), ensure_ascii=False)
        super().__init__(f"Invalid arguments for {tool.name}: {why}. It was not run. Its schema: {told}")


@cache
def schema(struct: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Gives a Struct's JSON schema, every reference put in its place, as small models read no others."""
    (found,), parts = msgspec.json.schema_components([struct], ref_template="{name}")

    def whole(part: Any, fields: bool = False) -> Any:
        if isinstance(part, dict):
            if not fields and "$ref" in part:
                return whole(parts[part["$ref"]])
            kept = [key for key in part if fields or key not in ("title", "default")]
            return {key: whole(part[key], key == "properties" and not fields) for key in kept}
        return [whole(each) for each in part] if isinstance(part, list) else part

    made: Mapping[str, Any] = whole(found)
    return {key: value for key, value in made.items() if key != "description"}
