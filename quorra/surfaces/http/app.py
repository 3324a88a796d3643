"""The service's addresses, put together for one open home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins.prometheus import PrometheusConfig
from litestar.types.internal_types import PathParameterDefinition

from quorra import __version__
from quorra.errors import QuorraError
from quorra.surfaces.http import errors, front
from quorra.surfaces.http.addresses import asking, chat, confirmations, inbox, inspect, outbox, runs, sessions
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry.auth import Auth

if TYPE_CHECKING:
    from quorra.home import Home

LARGEST = 1 << 20
ADDRESSES = [
    *(front.page, front.health, front.numbers),
    *(chat.chat, chat.streamed),
    *(asking.ask, asking.search),
    *(sessions.every, sessions.one, sessions.forget, sessions.messages, sessions.recent),
    *(sessions.purpose, sessions.set_purpose, sessions.clear_purpose),
    *(sessions.mode, sessions.set_mode, sessions.clear_mode),
    *(confirmations.waiting, confirmations.edit, confirmations.cancel),
    *(inbox.waiting, inbox.show, inbox.approve, inbox.decline),
    *(outbox.waiting, outbox.move, outbox.preferences, outbox.prefer),
    *(runs.one, runs.audit),
    *(inspect.turns, inspect.clear, inspect.report),
]


def build(home: "Home", desk: Desk, auth: Auth) -> Litestar:
    """Makes the application; it stands behind a Door."""
    return Litestar(
        # All at once: what is added to a path later would run those before it on two threads, one in the other.
        [Router("/", route_handlers=ADDRESSES)],
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
    speaks_for = SecurityScheme(
        type="apiKey",
        security_scheme_in="header",
        name="X-Quorra-User-Email",
        description="Beside a service's key: the address of the person for whom it speaks.",
    )
    return OpenAPIConfig(
        "Quorra",
        __version__,
        path="/schema",
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin(path=("/", "/openapi.json"))],
        components=Components(security_schemes={"key": bearer, "person": speaks_for}),
        security=[{"key": []}, {"key": [], "person": []}],
        operation_id_creator=_operation,
    )


def _operation(_: object, method: str, path: Sequence[str | PathParameterDefinition]) -> str:
    """Names an address by its method and path; the handler's own name is lost where it runs on a thread."""
    return "_".join([method.lower(), *(part if isinstance(part, str) else part.name for part in path)])
