"""How the caller's turns went, step by step, and the owner's audit of what was done."""

from typing import Any

import msgspec
from litestar import get

from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import After, Asked, Ident, Limit, caller, home, owner


class Event(msgspec.Struct):
    """One step of a run: ids, hashes, numbers and verdicts, no text."""

    n: int
    at: str
    kind: str
    data: dict[str, Any]


class Run(msgspec.Struct):
    """A turn: where it is, what it asked (the number of an entry of its session), and its trace."""

    id: str
    session: str
    question: int
    state: str
    backend: str
    strategy: str
    started: str
    ended: str
    events: tuple[Event, ...] = ()


class Act(msgspec.Struct):
    """One line of the audit: who did what, where and when; ``target`` is a keyed hash.

    ``by`` is the id of the key that was used, so that a service which speaks for somebody is known.
    """

    n: int
    at: str
    principal: str
    by: str
    action: str
    tool: str
    tier: int
    session: str
    run: str
    target: str
    ok: bool | None


class Audit(msgspec.Struct):
    """A page of the audit, whether its chain holds, and what is wrong with it where it does not."""

    entries: tuple[Act, ...]
    next: int | None
    holds: bool
    problems: tuple[str, ...]


@get("/runs/{ident:str}", sync_to_thread=True, responses=errors.documented(*errors.ALL, 404))
def one(request: Asked, ident: Ident) -> Run:
    """Tells how one of the caller's turns went."""
    run = msgspec.convert(home(request).runs.get(ident, caller(request).id), Run, from_attributes=True)
    run.events = msgspec.convert(home(request).runs.events(ident), tuple[Event, ...], from_attributes=True)
    return run


@get("/audit", sync_to_thread=True, responses=errors.documented(*errors.ALL))
def audit(request: Asked, after: After = 0, limit: Limit = 100) -> Audit:
    """Gives a page of the audit, and checks its chain; for the owner."""
    owner(request, "The audit")
    found = home(request).audit.entries(after, limit + 1)
    acts = msgspec.convert(found[:limit], tuple[Act, ...], from_attributes=True)
    problems = tuple(home(request).audit.verify())
    return Audit(acts, acts[-1].n if len(found) > limit else None, not problems, problems)
