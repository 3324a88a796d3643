"""The service as the bot sees it: HTTP in the name of one person, patient while the service is busy or away."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import httpx

from quorra.errors import QuorraError

_WAITING = frozenset({429, 502, 503, 504})
_LONGEST = 30.0


class Away(QuorraError):
    """The service, or the model behind it, can't answer now."""

    code = "service_away"

    def __init__(self) -> None:
        super().__init__("I can't answer just now: the service or its model is away.", "Please ask me again later.")


@dataclass(frozen=True, slots=True)
class Got:
    """What the service said."""

    status: int
    body: Mapping[str, Any]

    @property
    def good(self) -> bool:
        """Tells whether it did what it was asked."""
        return 200 <= self.status < 300

    @property
    def passes(self) -> bool:
        """Tells whether asking again may help: not where the model failed, which costs as much again."""
        return self.code == "answering" or (self.status in _WAITING and self.code != "generation_failed")

    @property
    def code(self) -> str:
        """Gives the code of its refusal."""
        error = self.body.get("error")
        return str(error.get("code", "")) if isinstance(error, Mapping) else ""

    @property
    def sentence(self) -> str:
        """Gives the sentence of its refusal."""
        error = self.body.get("error")
        return str(error.get("message", "")) if isinstance(error, Mapping) else ""


class Service:
    """Speaks for people to the service at a URL, with the key that lets it; ``patience`` is in seconds."""

    def __init__(self, url: str, key: str, patience: float) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        timeout = httpx.Timeout(10.0, read=None)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=False)
        self._patience = patience

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def call(self, person: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Got:
        """Asks the service for something in a person's name; raises Away where it stays away."""
        end, pause = monotonic() + self._patience, 0.25
        while True:
            try:
                got, wait = await self._once(person, method, path, body)
            except httpx.TransportError:
                got, wait = None, pause
            if got and not got.passes:
                return got
            pause = min(pause * 2, _LONGEST)
            if monotonic() + wait > end:
                raise Away
            await asyncio.sleep(wait)

    async def _once(self, person: str, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[Got, float]:
        answer = await self._http.request(method, path, json=body, headers={"X-Quorra-User-Email": person})
        try:
            found = answer.json() if answer.content else {}
        except ValueError:
            found = {}
        return Got(answer.status_code, found if isinstance(found, dict) else {"items": found}), _after(answer)


def _after(answer: httpx.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return min(float(told), _LONGEST) if told.isdigit() else 1.0
