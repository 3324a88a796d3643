"""The page, and how the service is doing."""

import asyncio
import base64
import hashlib
import re
from dataclasses import dataclass, field
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.datastructures import Cookie
from litestar.openapi import ResponseSpec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from quorra import metrics
from quorra.surfaces.http import errors
from quorra.surfaces.http.caller import Asked
from quorra.surfaces.http.entry.auth import Auth, SignedOut

if TYPE_CHECKING:
    from quorra.home import Home

UNWELL = ResponseSpec(dict[str, bool], generate_examples=False, description="Not all is well.")
NUMBERS = CONTENT_TYPE_LATEST.partition("; charset")[0]
PAGE = (files("quorra.surfaces.http") / "page.html").read_text(encoding="utf-8")


@dataclass
class Health:
    """Remembers for a second what was really probed, and lets one probe at a time run."""

    home: "Home"
    parts: dict[str, bool] = field(default_factory=dict)
    probed: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def probe(self) -> dict[str, bool]:
        """Tells which of model, index and git answer."""
        async with self.lock:
            if monotonic() - self.probed > 1:
                self.parts = await asyncio.to_thread(self.home.reachable)
                self.probed = monotonic()
            return self.parts


@get("/health", responses={**errors.documented(400, 429), 503: UNWELL})
async def health(request: Asked) -> Response[dict[str, bool]]:
    """Tells whether model, index and git really answer; a stranger learns only if all is well."""
    parts = await request.app.state.health.probe()
    good = all(parts.values())
    body = {"ok": good, **(parts if request.scope["state"]["principal"] else {})}
    number = 200 if good else 503
    return Response(body, status_code=number, headers=errors.headers(number))


@get("/metrics", media_type=NUMBERS, sync_to_thread=False, responses=errors.documented(*errors.ALL))
def numbers() -> bytes:
    """Gives counters and timings in Prometheus' form; numbers only."""
    return generate_latest() + "".join(_samples()).encode()


@get("/", include_in_schema=False, media_type=MediaType.HTML)
async def page(request: Asked, token: str | None = None) -> Response[str]:
    """Shows the page to whoever is signed in, and signs in whoever brings the one-time link."""
    auth: Auth = request.app.state.auth
    cookies = []
    if request.scope["state"]["principal"] is None:
        if token is None:
            raise SignedOut
        secret = auth.enter(token, request.client.host if request.client else "")
        cookies.append(Cookie(key=auth.cookie, value=secret, path="/", httponly=True, samesite="strict"))
    return Response(PAGE, cookies=cookies, headers={"Content-Security-Policy": _policy(PAGE)})


def _samples() -> list[str]:
    lines = []
    for (name, labels), value in sorted(metrics.counts().items()):
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        lines.append(f"quorra_{name}{{{inside}}} {value}\n")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _policy(html: str) -> str:
    """Lets the page run its own script and style and talk to this service, and nothing else."""
    hashes = {}
    for tag in ("script", "style"):
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[0]
        hashes[tag] = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
