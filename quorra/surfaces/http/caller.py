"""Who asks, and what an address reads of a request besides its body."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.params import Parameter

from quorra.access.principals import AuthenticatedPrincipal
from quorra.access.window import owns

if TYPE_CHECKING:
    from quorra.home import Home

Asked = Request[Any, Any, State]
IDENT = "^[A-Za-z0-9_-]{1,64}$"
Ident = Annotated[str, Parameter(pattern=IDENT)]
"""An id as it stands in an address."""
Limit = Annotated[int, Parameter(ge=1, le=1000)]
Most = Annotated[int | None, Parameter(ge=1, le=1000)]
From = Annotated[str | None, Parameter(pattern=IDENT)]
After = Annotated[int, Parameter(ge=-1, le=1 << 53)]


def home(request: Asked) -> "Home":
    """Gives the home that is served."""
    found: Home = request.app.state.home
    return found


def caller(request: Asked) -> AuthenticatedPrincipal:
    """Gives the principal that the door let in."""
    found: AuthenticatedPrincipal = request.scope["state"]["principal"]
    return found


def owner(request: Asked, what: str) -> None:
    """Raises OwnersOnly where somebody else than the owner asks for ``what``."""
    owns(caller(request).id, what)


def now() -> datetime:
    """Reads the clock."""
    return datetime.now().astimezone()
