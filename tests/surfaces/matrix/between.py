"""A proxy before the homeserver, which limits the rate of sending when it is told to, and remembers what was sent."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Between:
    """Passes requests on; the next ``limited`` sends are answered with 429 and the wait of ``wait_ms``.

    The next ``refused`` ones are answered with 413.
    """

    target: str
    limited: int = 0
    refused: int = 0
    wait_ms: int = 1200
    sends: list[tuple[float, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._http = httpx.AsyncClient(base_url=self.target, timeout=60, trust_env=False)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        path = scope["raw_path"].decode()
        if "/send/m.room" in path:
            status = 429 if self.limited else 413 if self.refused else 200
            self.sends.append((time.monotonic(), path.partition("?")[0], status))
            if self.limited:
                self.limited -= 1
                told = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests", "retry_after_ms": self.wait_ms}
                await _reply(send, 429, json.dumps(told).encode())
                return
            if self.refused:
                self.refused -= 1
                await _reply(send, 413, json.dumps({"errcode": "M_TOO_LARGE", "error": "Too large"}).encode())
                return
        query = scope["query_string"].decode()
        headers = [(name, value) for name, value in scope["headers"] if name not in (b"host", b"content-length")]
        passing = asyncio.ensure_future(
            self._http.request(scope["method"], path + (f"?{query}" if query else ""), content=body, headers=headers)
        )
        gone = asyncio.ensure_future(receive())
        await asyncio.wait({passing, gone}, return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            gone.cancel()
            await _reply(send, passing.result().status_code, passing.result().content)
        else:
            passing.cancel()


async def _reply(send: Any, status: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})
