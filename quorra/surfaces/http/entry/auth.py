"""Who is asking: a browser that opened the printed link once, or a program with an API key."""

import hashlib
import secrets
from collections.abc import Callable
from time import monotonic
from typing import Any

from litestar.connection import ASGIConnection

from quorra.errors import QuorraError


class SignedOut(QuorraError):
    """Nobody we know is asking."""

    code = "signed_out"

    def __init__(self) -> None:
        super().__init__(
            "Sign in first.",
            "Open the newest link that quorra serve printed: each works once, and a restart prints another. "
            "A program sends a key: quorra keys create",
        )


class TooManyTries(QuorraError):
    """An address has guessed too often; for a minute each further wrong secret of its is answered with this."""

    code = "too_many_tries"

    def __init__(self) -> None:
        super().__init__("Too many wrong keys came from this address.", "Wait a minute and try again.")


class Attempts:
    """Counts the different wrong secrets of each address; the same one again is a forgotten program, no guess.

    A right secret is never made to wait: strangers at one address must not lock its people out.
    """

    def __init__(self, most: int = 10, seconds: float = 60.0) -> None:
        self._most = most
        self._seconds = seconds
        self._wrong: dict[str, dict[bytes, float]] = {}

    def failed(self, address: str, secret: str) -> None:
        """Remembers a wrong secret and forgets what is old; raises TooManyTries where an address has to wait."""
        now = monotonic()
        waiting = sum(when > now - self._seconds for when in self._wrong.get(address, {}).values()) >= self._most
        self._wrong.setdefault(address, {})[_digest(secret)] = now
        for other, wrong in list(self._wrong.items()):
            fresh = {digest: when for digest, when in wrong.items() if when > now - self._seconds}
            self._wrong[other] = dict(list(fresh.items())[-2 * self._most :])
            if not fresh:
                del self._wrong[other]
        if waiting:
            raise TooManyTries


class Auth:
    """Knows the one-time link, the sessions opened by it, and how to verify a key. Only digests are kept.

    ``verify`` gives a key's principal, or None for a key that is unknown or revoked.
    """

    def __init__(self, verify: Callable[[str], str | None], port: int) -> None:
        self.cookie = f"quorra-{port}"
        self._verify = verify
        self._link: bytes | None = None
        self._sessions: set[bytes] = set()
        self._attempts = Attempts()

    def link(self) -> str:
        """Makes the one-time token of the login link."""
        token = secrets.token_urlsafe(32)
        self._link = _digest(token)
        return token

    def enter(self, token: str, address: str) -> str:
        """Uses the link up and gives the secret of a new session; raises SignedOut for any other token."""
        if self._link is None or not secrets.compare_digest(_digest(token), self._link):
            self._attempts.failed(address, token)
            raise SignedOut
        self._link = None
        secret = secrets.token_urlsafe(32)
        self._sessions.add(_digest(secret))
        return secret

    def who(self, visitor: ASGIConnection[Any, Any, Any, Any]) -> str | None:
        """Gives the principal behind a request's cookie or key; None for a stranger. Raises TooManyTries."""
        if self._own_page(visitor) and _digest(visitor.cookies.get(self.cookie, "")) in self._sessions:
            return "owner"
        scheme, _, key = visitor.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return None
        address = visitor.client.host if visitor.client else ""
        principal = self._verify(key.strip())
        if principal is None:
            self._attempts.failed(address, key)
        return principal

    @staticmethod
    def _own_page(visitor: ASGIConnection[Any, Any, Any, Any]) -> bool:
        """Tells whether no other page is behind the request; another port is the same site to a cookie."""
        origin = visitor.headers.get("origin")
        return origin is None or origin == f"http://{visitor.headers.get('host', '')}"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
