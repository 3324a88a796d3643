"""How often an address may be wrong about who it is."""

import hashlib
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from time import monotonic
from typing import TypeVar

from quorra.errors import QuorraError

K = TypeVar("K")
V = TypeVar("V")


class TooManyTries(QuorraError):
    """An address has guessed too often; for a minute each further wrong secret of its is answered with this."""

    code = "too_many_tries"

    def __init__(self) -> None:
        super().__init__("Too many wrong keys came from this address.", "Wait a minute and try again.")


class Attempts:
    """Counts the different wrong secrets of each address; the same one again is a forgotten program, no guess.

    A right secret is never made to wait: strangers at one address must not lock its people out. Whoever has a
    network of IPv6 has all its addresses, so it counts as one; no more than ``places`` of them are remembered.
    """

    def __init__(self, most: int = 10, seconds: float = 60.0, places: int = 4096) -> None:
        self._most, self._seconds, self._places = most, seconds, places
        self._wrong: OrderedDict[str, OrderedDict[bytes, float]] = OrderedDict()

    def failed(self, address: str, secret: str) -> None:
        """Remembers a wrong secret and forgets what is old; raises TooManyTries where an address has to wait."""
        now, where = monotonic(), place(address)
        wrong = self._wrong.setdefault(where, OrderedDict())
        while wrong and next(iter(wrong.values())) <= now - self._seconds:
            wrong.popitem(last=False)
        waiting = len(wrong) >= self._most
        _last(wrong, digest(secret), now, 2 * self._most)
        _last(self._wrong, where, wrong, self._places)
        if waiting:
            raise TooManyTries

    def __len__(self) -> int:
        """Counts the places that are remembered."""
        return len(self._wrong)


def place(address: str) -> str:
    """Gives whom an address counts as: an address of IPv4 itself, one of IPv6 as its network of 64 bits."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or ip_network((found, 64), strict=False))


def _last(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Puts a value behind all others, and forgets the oldest where there are too many."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def digest(secret: str) -> bytes:
    """Gives what is kept of a secret in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
