"""The service as the bot sees it: HTTP in the name of one person, patient while the service is busy or away."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from quorra.errors import QuorraError

_WAITING = frozenset({429, 502, 503, 504})
_LONGEST = 30.0
_QUICK = 30.0
_TURN = 600.0
"""How long an answer may take: anything's, and a turn's, which stands in line for a model that thinks for minutes."""


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
    """Speaks for people to the service at a URL, with the key that lets it.

    ``patience`` is in seconds, and counts the waiting between requests alone; ``turn`` is how long a request to
    answer somebody may take. One that takes longer is repeated once: the service takes up what it has kept of it.
    """

    def __init__(self, url: str, key: str, patience: float, *, turn: float = _TURN) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, trust_env=False)
        self._patience = patience
        self._turn = turn

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def call(self, person: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Got:
        """Asks the service for something in a person's name; raises Away where it stays away."""
        waited, pause, hung = 0.0, 0.25, 0
        while True:
            try:
                got, wait = await self._once(person, method, path, body)
            except httpx.TransportError as error:
                got, wait = None, pause
                hung += isinstance(error, httpx.ReadTimeout)
            if got and not got.passes:
                return got
            pause, waited = min(pause * 2, _LONGEST), waited + wait
            if waited > self._patience or hung > 1:
                raise Away
            await asyncio.sleep(wait)

    async def once(self, person: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Got:
        """Asks once, for what is asked again later anyway; raises Away."""
        try:
            got, _ = await self._once(person, method, path, body)
        except httpx.TransportError as error:
            raise Away from error
        if got.passes:
            raise Away
        return got

    async def _once(self, person: str, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[Got, float]:
        timeout = httpx.Timeout(10.0, read=self._turn if path == "/chat" else min(_QUICK, self._turn))
        headers = {"X-Quorra-User-Email": person}
        answer = await self._http.request(method, path, json=body, headers=headers, timeout=timeout)
        try:
            found = answer.json() if answer.content else {}
        except ValueError:
            found = {}
        return Got(answer.status_code, found if isinstance(found, dict) else {}), _after(answer)


def _after(answer: httpx.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return min(float(told), _LONGEST) if told.isdigit() else 1.0
