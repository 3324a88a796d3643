"""The caller's sessions: what was said in them, their purpose and their mode."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import delete, get, put
from msgspec import Meta

from quorra.agent.prompting.modes import Modes
from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import After, Asked, From, Ident, Limit, Most, caller, home, now

if TYPE_CHECKING:
    from quorra.state import sessions as state

MODES = Modes()
PURPOSE = 2000
FOUND = errors.documented(*errors.ALL, 404)
PEOPLES = ("name", "tool", "ok", "outcome", "model", "citations", "claims", "notices", "id", "state")
"""What of an entry's data is meant for people."""


class NoScope(QuorraError):
    """A mode belongs to a scope, and the session has none yet."""

    code = "no_scope"

    def __init__(self) -> None:
        super().__init__("This session has no scope yet, so it has no modes.", "Say something in it with a scope.")


class Session(msgspec.Struct):
    """A session as its person sees it; ``scope`` is null until its first message brings one."""

    id: str
    origin: str
    scope: tuple[str, ...] | None
    mode: str | None
    purpose: str | None
    title: str
    created: str
    changed: str


class Sessions(msgspec.Struct, omit_defaults=True):
    """Sessions, the newest first; ``next`` is what to ask for ``after`` where there are more."""

    sessions: tuple[Session, ...]
    next: str | None = None


class Entry(msgspec.Struct):
    """One entry of a session: what was said, called, answered or asked, and in ``data`` what belongs to it."""

    seq: int
    kind: str
    text: str
    at: str
    mark: str
    run: str
    data: dict[str, Any]


class Messages(msgspec.Struct):
    """Entries in their order; ``next`` is what to ask for ``after`` where there are more."""

    messages: tuple[Entry, ...]
    next: int | None = None


class Purpose(msgspec.Struct, forbid_unknown_fields=True):
    """What a session is for."""

    purpose: Annotated[str, Meta(min_length=1, max_length=PURPOSE)]


class PurposeNow(msgspec.Struct):
    """What a session is for, if that was said."""

    purpose: str | None


class Mode(msgspec.Struct, forbid_unknown_fields=True):
    """The mode that a session is to be in."""

    mode: Annotated[str, Meta(min_length=1, max_length=64)]


class ModeNow(msgspec.Struct):
    """The mode that a session is in, if any, and those that it may be in."""

    mode: str | None
    modes: dict[str, str]


@get("/sessions", sync_to_thread=True, responses=FOUND)
def every(request: Asked, after: From = None, limit: Most = None) -> Sessions:
    """Lists the caller's sessions, all of them or a page, the newest first."""
    most = None if limit is None else limit + 1
    found = home(request).sessions.every(caller(request).id, after=after, limit=most)
    more = limit is not None and len(found) > limit
    kept = found[:limit]
    return Sessions(tuple(map(_session, kept)), kept[-1].id if more else None)


@get("/sessions/{ident:str}", sync_to_thread=True, responses=FOUND)
def one(request: Asked, ident: Ident) -> Session:
    """Shows one session."""
    return _session(_own(request, ident))


@delete("/sessions/{ident:str}", sync_to_thread=True, responses=FOUND)
def forget(request: Asked, ident: Ident) -> None:
    """Forgets a session: its messages, what waits in it, and the traces and records of its runs."""
    home(request).inspector.clear(_own(request, ident).principal, ident)
    home(request).talks.forget(ident, caller(request), surface="http", now=now())


@get("/sessions/{ident:str}/messages", sync_to_thread=True, responses=FOUND)
def messages(request: Asked, ident: Ident, after: After = -1, limit: Most = None) -> Messages:
    """Gives the entries of a session, all of them or a page."""
    _own(request, ident)
    found = home(request).sessions.entries(ident, after=after, limit=None if limit is None else limit + 1)
    more = limit is not None and len(found) > limit
    kept = found[:limit]
    return Messages(tuple(map(_entry, kept)), kept[-1].seq if more else None)


@get("/sessions/{ident:str}/messages/recent", sync_to_thread=True, responses=FOUND)
def recent(request: Asked, ident: Ident, limit: Limit = 20) -> Messages:
    """Gives what was said last, without tools and questions; the oldest first."""
    _own(request, ident)
    return Messages(tuple(map(_entry, home(request).sessions.recent(ident, limit))))


@get("/sessions/{ident:str}/purpose", sync_to_thread=True, responses=FOUND)
def purpose(request: Asked, ident: Ident) -> PurposeNow:
    """Tells what a session is for."""
    return PurposeNow(_own(request, ident).purpose)


@put("/sessions/{ident:str}/purpose", sync_to_thread=True, responses=errors.documented(*errors.BODY, 404))
def set_purpose(request: Asked, ident: Ident, data: Purpose) -> PurposeNow:
    """Says what a session is for."""
    _own(request, ident)
    home(request).sessions.set_purpose(ident, data.purpose)
    return PurposeNow(data.purpose)


@delete("/sessions/{ident:str}/purpose", sync_to_thread=True, responses=FOUND)
def clear_purpose(request: Asked, ident: Ident) -> None:
    """Takes a session's purpose away."""
    _own(request, ident)
    home(request).sessions.set_purpose(ident, None)


@get("/sessions/{ident:str}/mode", sync_to_thread=True, responses=FOUND)
def mode(request: Asked, ident: Ident) -> ModeNow:
    """Tells the mode that a session is in, and the modes of its scope."""
    return _mode(_own(request, ident))


@put("/sessions/{ident:str}/mode", sync_to_thread=True, responses=errors.documented(*errors.BODY, 404, 409))
def set_mode(request: Asked, ident: Ident, data: Mode) -> ModeNow:
    """Puts a session into a mode of its scope; 409 while it has no scope."""
    session = _own(request, ident)
    if session.scope is None:
        raise NoScope
    home(request).sessions.set_mode(ident, MODES.validate(data.mode, session.scope).name)
    return _mode(_own(request, ident))


@delete("/sessions/{ident:str}/mode", sync_to_thread=True, responses=FOUND)
def clear_mode(request: Asked, ident: Ident) -> None:
    """Takes a session out of its mode."""
    _own(request, ident)
    home(request).sessions.set_mode(ident, None)


def _own(request: Asked, ident: str) -> "state.Session":
    """Gives the caller's own session; raises UnknownSession for another's just as for none."""
    return home(request).sessions.get(ident, caller(request).id)


def _session(value: "state.Session") -> Session:
    return msgspec.convert(value, Session, from_attributes=True)


def _entry(value: "state.Entry") -> Entry:
    data = {name: value.data[name] for name in PEOPLES if name in value.data}
    return Entry(value.seq, value.kind, value.text, value.at, value.mark, value.run, data)


def _mode(session: "state.Session") -> ModeNow:
    return ModeNow(session.mode, {mode.name: mode.description for mode in MODES.for_scope(session.scope or ())})
