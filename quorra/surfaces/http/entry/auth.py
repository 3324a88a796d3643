"""Who is asking: a browser that opened the printed link once, or whoever a bearer's secret stands for."""

import asyncio
import secrets
from collections.abc import Sequence
from time import monotonic, time
from typing import Any, Protocol

from litestar.connection import ASGIConnection

from quorra.access.principals import AuthenticatedPrincipal
from quorra.access.window import OWNER
from quorra.errors import QuorraError
from quorra.surfaces.http.entry.attempts import Attempts, digest

SPEAKS_FOR = "x-quorra-user-email"
EVEN = 0.05
"""Seconds that a refusal takes at least, so that its time does not tell what was wrong."""
LASTS = 14 * 86400.0
"""Seconds after which a browser is signed out."""


class SignedOut(QuorraError):
    """Nobody we know is asking."""

    code = "signed_out"

    def __init__(self) -> None:
        super().__init__(
            "Sign in first.",
            "Open the newest link that quorra serve printed: each works once, and a restart prints another. "
            "A program sends a key: quorra keys create",
        )


class Finds(Protocol):
    """Finds out who is behind the bearer secrets and the e-mail addresses that a request came with."""

    async def who(self, secrets: Sequence[str], emails: Sequence[str]) -> AuthenticatedPrincipal | None:
        """Gives the principal; None for a stranger."""
        ...


class Auth:
    """Knows the one-time link, the sessions opened by it, and who finds out about bearers. Only digests are kept.

    A session ends after ``lasts`` seconds; the link, which stands in its owner's terminal, goes on until it is used.
    """

    def __init__(self, bearers: Finds, port: int, lasts: float = LASTS) -> None:
        self.cookie = f"quorra-{port}"
        self._bearers, self._lasts = bearers, lasts
        self._link: bytes | None = None
        self._ends: dict[bytes, float] = {}
        self._attempts = Attempts()

    def link(self) -> str:
        """Makes the one-time token of the login link."""
        token = secrets.token_urlsafe(32)
        self._link = digest(token)
        return token

    def enter(self, token: str, address: str) -> str:
        """Uses the link up and gives the secret of a new session; raises SignedOut for any other token."""
        if self._link is None or not secrets.compare_digest(digest(token), self._link):
            self._attempts.failed(address, token)
            raise SignedOut
        self._link = None
        secret = secrets.token_urlsafe(32)
        self._ends[digest(secret)] = time() + self._lasts
        return secret

    async def who(self, visitor: ASGIConnection[Any, Any, Any, Any]) -> AuthenticatedPrincipal | None:
        """Gives the principal behind a request; None for a stranger. Raises TooManyTries.

        Who sends a bearer's secret is judged by it alone, whatever cookie comes along.
        """
        sent, emails = _bearers(visitor), visitor.headers.getall(SPEAKS_FOR, [])
        if not sent and not emails:
            return self._browser(visitor)
        begun = monotonic()
        found = await self._bearers.who(sent, emails)
        if found is None:
            await asyncio.sleep(begun + EVEN - monotonic())
            self._attempts.failed(visitor.client.host if visitor.client else "", "\0".join([*sent, *emails]))
        return found

    def _browser(self, visitor: ASGIConnection[Any, Any, Any, Any]) -> AuthenticatedPrincipal | None:
        known = time() < self._ends.get(digest(visitor.cookies.get(self.cookie, "")), 0.0)
        return AuthenticatedPrincipal(OWNER) if known and _own_page(visitor) else None


def _bearers(visitor: ASGIConnection[Any, Any, Any, Any]) -> list[str]:
    parts = [value.partition(" ") for value in visitor.headers.getall("authorization", [])]
    return [secret.strip() for scheme, _, secret in parts if scheme.lower() == "bearer"]


def _own_page(visitor: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Tells whether no other page is behind the request; another port is the same site to a cookie."""
    origin = visitor.headers.get("origin")
    return origin is None or origin == f"http://{visitor.headers.get('host', '')}"
