"""What stands before every address: the host's name, who is asking, safe headers, and one line in the log."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

import structlog
from litestar.connection import ASGIConnection
from litestar.datastructures import MutableScopeHeaders
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from quorra import metrics
from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.entry.auth import Auth, SignedOut

OPEN = frozenset({"/", "/health"})
SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

log = structlog.get_logger("quorra.http")


class WrongHost(QuorraError):
    """A name that is not this machine's leads here: a page that rebinds its own name, most likely."""

    code = "bad_input"

    def __init__(self) -> None:
        super().__init__("The service does not go by that host name.", "Use the address that quorra serve printed.")


class Door:
    """Wraps the whole application, so that a stranger can't even tell which addresses there are.

    ``hosts`` are the names that a request may call the service by; None takes any.
    """

    def __init__(self, app: ASGIApp, auth: Auth, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._auth = auth
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if str(scope["type"]) == "http":
            await self._request(cast("HTTPScope", scope), receive, send)
        elif str(scope["type"]) == "lifespan":
            await self._app(scope, receive, send)

    async def _request(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        start = perf_counter()
        seen = {"status": 0}
        scope.setdefault("state", {})
        guarded = _guarded(send, lambda status: seen.update(status=status))
        try:
            await self._serve(scope, receive, guarded)
        except Exception as error:  # noqa: BLE001 - the last edge: nothing may reach the server's own log with text in it
            errors.fault(error)
            scope["state"]["outcome"] = "internal"
        finally:
            _line(scope, seen["status"], perf_counter() - start)

    async def _serve(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        try:
            await self._identify(scope)
        except QuorraError as error:
            metrics.count("http_turned_away_total", reason=error.code)
            scope["state"]["outcome"] = error.code
            await errors.reply(error, ASGIConnection(scope))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _identify(self, scope: HTTPScope) -> None:
        visitor: ASGIConnection[Any, Any, Any, Any] = ASGIConnection(scope)
        host = visitor.headers.get("host", "")
        if not _port(host) or (self._hosts is not None and _name(host) not in self._hosts):
            raise WrongHost
        found = await self._auth.who(visitor)
        if found is None and scope["path"] not in OPEN:
            raise SignedOut
        scope["state"]["principal"] = found


def _guarded(send: Send, started: Callable[[int], None]) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            started(message["status"])
            kept = MutableScopeHeaders.from_message(message)
            for name, value in SAFE.items():
                kept.setdefault(name, value)
        await send(message)

    return guarded


def _name(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and _digits(port) else host).strip("[]").lower()


def _port(host: str) -> bool:
    """Tells whether the port in a host header, if there is one, can be one."""
    _, colon, port = host.rpartition(":")
    return not colon or not _digits(port) or (len(port) <= 5 and int(port) < 1 << 16)


def _digits(port: str) -> bool:
    return port.isascii() and port.isdigit()


def _line(scope: HTTPScope, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in METHODS else "OTHER"
    outcome = scope["state"].get("outcome", "ok")
    path = scope.get("path_template") or "-"
    log.info("request", method=method, path=path, status=status, ms=round(seconds * 1000, 1), outcome=outcome)
