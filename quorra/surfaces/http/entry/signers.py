"""The public keys of an OpenID provider: fetched when a token needs them, and never at a stranger's pace."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import httpx
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from quorra import metrics

FRESH, KEPT, PAUSE = 3600.0, 86400.0, 20.0
"""Seconds after which keys are fetched again, may no longer be used, and between two fetches at least."""
PATIENCE, LARGEST, BITS = 5.0, 1 << 20, 2048

log = structlog.get_logger("quorra.http")


class Signers:
    """Keys by their id; an unknown id is looked for once in a while, however many ask for it.

    ``fresh`` are the seconds after which known keys are fetched again.
    """

    def __init__(self, issuer: str, jwks: str, pause: float, fresh: float = FRESH) -> None:
        self._issuer, self._jwks, self._pause, self._fresh = issuer, jwks, pause, fresh
        self._keys: Mapping[str, RSAKey] = {}
        self._fetched = self._tried = float("-inf")
        self._fetching = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        # Searches fill the threads that all share; who comes in must not wait behind them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="signers")

    async def get(self, kid: object) -> RSAKey | None:
        """Gives the key of an id, or the only one there is for a token that names none.

        A key that is known and may still be used is given at once, and looked for anew beside that.
        """
        if self._usable(kid) is None:
            await self._sought(kid)
        elif self._due(kid) and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._sought(kid))
        return self._usable(kid)

    async def _sought(self, kid: object) -> None:
        if self._due(kid):
            async with self._fetching:
                if self._due(kid):
                    await self._fetch()

    def _usable(self, kid: object) -> RSAKey | None:
        return self._known(kid) if monotonic() - self._fetched < KEPT else None

    def _known(self, kid: object) -> RSAKey | None:
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid) if isinstance(kid, str) else None

    def _due(self, kid: object) -> bool:
        wanted = self._known(kid) is None or monotonic() - self._fetched > self._fresh
        return wanted and monotonic() - self._tried > self._pause

    async def _fetch(self) -> None:
        """Fetches the keys; while the provider is away, those that are there go on."""
        try:
            self._keys = await asyncio.get_running_loop().run_in_executor(self._thread, self._provided)
            self._fetched = monotonic()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
            metrics.count("provider_failures_total", kind=type(error).__name__)
            log.warning("provider_away", why=type(error).__name__)
        finally:
            self._tried = monotonic()

    def _provided(self) -> Mapping[str, RSAKey]:
        with httpx.Client(timeout=PATIENCE) as client:
            where = self._jwks
            if not where:
                told = _read(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
                if told["issuer"] != self._issuer:
                    raise ValueError("it calls itself something else")
                where = told["jwks_uri"]
                if httpx.URL(where).scheme != httpx.URL(self._issuer).scheme:
                    raise ValueError("its keys lie where they could be exchanged")
            return _keys(_read(client, where)["keys"])


def _read(client: httpx.Client, url: str) -> dict[str, Any]:
    """Reads a JSON object from an address, within a time and a size."""
    end, body = monotonic() + PATIENCE, b""
    with client.stream("GET", url, headers={"Accept": "application/json"}) as response:
        response.raise_for_status()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > LARGEST or monotonic() > end:
                raise ValueError("it sends too much, or too slowly")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("it sends no object")
    return found


def _keys(found: Iterable[Any]) -> Mapping[str, RSAKey]:
    """Keeps what may sign with RS256 and is strong enough; other keys are none of ours."""
    kept = {}
    for each in filter(lambda each: isinstance(each, dict), found):
        if (each.get("kty"), each.get("use", "sig"), each.get("alg", "RS256")) != ("RSA", "sig", "RS256"):
            continue
        try:
            key = RSAKey.import_key({"kty": "RSA", "n": each["n"], "e": each["e"]})
        except (JoseError, ValueError, KeyError, TypeError):
            continue
        if key.public_key.key_size >= BITS:
            kept[str(each.get("kid", ""))] = key
    return kept
