"""Starts the service and stops it cleanly."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from ipaddress import ip_address
from types import FrameType
from typing import TYPE_CHECKING

import structlog
import uvicorn

from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.app import build
from quorra.surfaces.http.caller import now
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry import roads
from quorra.surfaces.http.entry.auth import Auth
from quorra.surfaces.http.entry.door import Door
from quorra.surfaces.http.upkeep import Upkeep, Watching

if TYPE_CHECKING:
    from quorra.home import Home

PATIENCE = 0.3


class BadHost(QuorraError):
    """The host is none that this machine can listen at."""

    code = "bad_host"


class NoKey(QuorraError):
    """Others could reach the service, and nothing would keep them out."""

    code = "no_key"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Quorra listens at {host}, beyond this machine, only once there is an API key, and there is none.",
            "Make one with: quorra keys create",
        )


class PortTaken(QuorraError):
    """Something else listens there already."""

    code = "service_away"

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"Quorra can't listen at {host}:{port}: {reason}.", "Use another port: quorra serve --port N")


def bind(host: str, port: int, has_key: bool) -> socket.socket:
    """Opens the listening socket; raises BadHost, NoKey or PortTaken."""
    host = host or "0.0.0.0"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise BadHost(f"There is no host called {host}.", "Use 127.0.0.1, or an address of this machine.") from error
    family, kind, protocol, _, address = found[0]
    if not _is_loopback(str(address[0])) and not has_key:
        raise NoKey(host)
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise PortTaken(host, port, (error.strerror or "it is taken").lower()) from error
    return listening


def run(home: "Home", listening: socket.socket, say: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; ``say`` is told the address, on loopback with the one-time login token."""
    _log_to_stderr()
    _open(home)
    address, port = listening.getsockname()[:2]
    local = _is_loopback(address)
    auth = Auth(roads.bearers(home), port)
    desk = Desk(home.settings.service.queue)
    hosts = frozenset({"localhost", "127.0.0.1", "::1", address}) if local else None
    door = Door(build(home, desk, auth), auth, hosts)
    upkeep = Upkeep(home, desk)
    watching = Watching(home)
    say(link(auth, address, port))
    upkeep.start()
    watching.start()
    try:
        _Server(_config(door), desk.stop).run([listening])
    finally:
        upkeep.stop()
        watching.stop()
        desk.close()
    watching.join(PATIENCE)
    upkeep.join(PATIENCE)
    if upkeep.is_alive():
        # It embeds, and is as safe to kill as any process here; waiting for its batch would take seconds.
        os._exit(0)


def link(auth: Auth, address: str, port: int) -> str:
    """Gives the service's address, with the one-time login token where only this machine can reach it."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}/" + (f"?token={auth.link()}" if _is_loopback(address) else "")


def _open(home: "Home") -> None:
    """Opens the rooms one by one, before threads could open one twice; a setting that can't work ends it here."""
    for room in (home.ledger, home.keys, home.index, home.embedder, home.model, home.review):
        assert room is not None
    home.talks.recover(now())


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, leave: Callable[[], None]) -> None:
        super().__init__(config)
        self._leave = leave

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Runs with quiet handlers below uvicorn's own, which raises a signal again once it has stopped."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        super().run(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._leave()
        super().handle_exit(sig, frame)


def _config(app: Door) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )


def _is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback


def _log_to_stderr() -> None:
    """Logs one JSON object a line, and only what Quorra says herself."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    threading.excepthook = lambda told: errors.fault(told.exc_value) if told.exc_value else None
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
