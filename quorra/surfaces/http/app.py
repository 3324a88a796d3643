"""The service's addresses, put together for one open home."""

from typing import TYPE_CHECKING

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins.prometheus import PrometheusConfig

from quorra import __version__
from quorra.errors import QuorraError
from quorra.surfaces.http import errors
from quorra.surfaces.http.addresses import asking, chat, front
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry.auth import Auth

if TYPE_CHECKING:
    from quorra.home import Home

LARGEST = 1 << 20
ADDRESSES = [
    *(front.page, front.health, front.numbers),
    *(chat.chat, chat.streamed),
    *(asking.ask, asking.search),
]


def build(home: "Home", desk: Desk, auth: Auth) -> Litestar:
    """Makes the application; it stands behind a Door."""
    return Litestar(
        ADDRESSES,
        state=State({"home": home, "desk": desk, "auth": auth, "health": front.Health(home)}),
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
