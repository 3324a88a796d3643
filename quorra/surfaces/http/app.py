"""The service's addresses, put together for one open home."""

import asyncio
import base64
import hashlib
import re
from dataclasses import dataclass, field
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Litestar, MediaType, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig, ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins.prometheus import PrometheusConfig
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from quorra import __version__, metrics
from quorra.errors import QuorraError
from quorra.index.found import Found, Mode
from quorra.surfaces import fields
from quorra.surfaces.http import chat, errors
from quorra.surfaces.http.auth import Auth, SignedOut
from quorra.surfaces.http.chat import Asked
from quorra.surfaces.http.desk import Desk

if TYPE_CHECKING:
    from quorra.home import Home

LARGEST = 1 << 20
UNWELL = ResponseSpec(dict[str, bool], generate_examples=False, description="Not all is well.")
NUMBERS = CONTENT_TYPE_LATEST.partition("; charset")[0]
FOUND = ResponseSpec(Found, generate_examples=False, description="Hits, and how fresh they are.")
PAGE = (files("quorra.surfaces.http") / "page.html").read_text(encoding="utf-8")


class Search(msgspec.Struct, forbid_unknown_fields=True):
    """What to look for: k notes at most, within a window and at a revision where one is named."""

    question: str
    k: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    window: str | None = None
    at: str | None = None


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


@get("/health", responses={503: UNWELL})
async def health(request: Asked) -> Response[dict[str, bool]]:
    """Tells whether model, index and git really answer; a stranger learns only if all is well."""
    parts = await request.app.state.health.probe()
    good = all(parts.values())
    body = {"ok": good, **(parts if request.scope["state"]["principal"] else {})}
    number = 200 if good else 503
    return Response(body, status_code=number, headers=errors.headers(number))


@post("/search", status_code=200, responses={200: FOUND, **errors.documented(400, 401, 403, 413, 415, 429, 503)})
async def search(request: Asked, data: Search) -> dict[str, Any]:
    """Finds notes, one hit a note: its best passage."""
    home: Home = request.app.state.home
    window = home.window(request.scope["state"]["principal"], data.window)
    found = await asyncio.to_thread(home.search, data.question, k=data.k, mode=data.mode, window=window, at=data.at)
    return fields.found(found)


@get(
    "/metrics",
    media_type=NUMBERS,
    sync_to_thread=False,
    responses=errors.documented(401, 429),
)
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


def build(home: "Home", desk: Desk, auth: Auth) -> Litestar:
    """Makes the application; it stands behind a Door."""
    return Litestar(
        [health, search, chat.chat, chat.stream, numbers, page],
        state=State({"home": home, "desk": desk, "auth": auth, "health": Health(home)}),
        middleware=[PrometheusConfig(app_name="quorra", prefix="quorra_http", group_path=True).middleware],
        exception_handlers={
            QuorraError: errors.known,
            HTTPException: errors.refused,
            RecursionError: errors.nested,
            Exception: errors.broken,
        },
        openapi_config=_schema(),
        guards=[errors.json_only],
        request_max_body_size=LARGEST,
        logging_config=None,
        debug=False,
    )


def _schema() -> OpenAPIConfig:
    bearer = SecurityScheme(type="http", scheme="bearer", description="A key made with: quorra keys create")
    return OpenAPIConfig(
        "Quorra",
        __version__,
        path="/schema",
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin(path=("/", "/openapi.json"))],
        components=Components(security_schemes={"key": bearer}),
        security=[{"key": []}],
    )


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
