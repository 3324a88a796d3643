"""Who asks, and what an address reads of a request besides its body."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.params import Parameter

from quorra.access.principals import AuthenticatedPrincipal, named
from quorra.access.window import OWNER
from quorra.errors import QuorraError

Asked = Request[Any, Any, State]
IDENT = "^[A-Za-z0-9_-]{1,64}$"
Ident = Annotated[str, Parameter(pattern=IDENT)]
"""An id as it stands in an address."""
Limit = Annotated[int, Parameter(ge=1, le=1000)]
Most = Annotated[int | None, Parameter(ge=1, le=1000)]
After = Annotated[int, Parameter(ge=-1, le=1 << 53)]


class OwnersOnly(QuorraError):
    """Somebody else asked for what only the owner may do."""

    code = "not_owner"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is for the owner.", "Ask the owner.")


def caller(request: Asked) -> AuthenticatedPrincipal:
    """Gives the principal that the door let in."""
    return named(request.scope["state"]["principal"])


def owner(request: Asked, what: str) -> None:
    """Raises OwnersOnly where somebody else than the owner asks for ``what``."""
    if caller(request).id != OWNER:
        raise OwnersOnly(what)


def now() -> datetime:
    """Reads the clock."""
    return datetime.now().astimezone()
