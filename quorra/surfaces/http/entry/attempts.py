"""How often an address may be wrong about who it is."""

import hashlib
from time import monotonic

from quorra.errors import QuorraError


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
        self._wrong.setdefault(address, {})[digest(secret)] = now
        for other, wrong in list(self._wrong.items()):
            fresh = {digest: when for digest, when in wrong.items() if when > now - self._seconds}
            self._wrong[other] = dict(list(fresh.items())[-2 * self._most :])
            if not fresh:
                del self._wrong[other]
        if waiting:
            raise TooManyTries


def digest(secret: str) -> bytes:
    """Gives what is kept of a secret in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
