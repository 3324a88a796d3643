"""Who asks, and what their requests are typed as."""

from typing import Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.params import Parameter

Asked = Request[Any, Any, State]
Ident = Annotated[str, Parameter(pattern="^[A-Za-z0-9_-]{1,64}$")]
"""An id as it stands in an address."""


def caller(request: Asked) -> str:
    """Gives the principal that the door let in."""
    principal: str = request.scope["state"]["principal"]
    return principal
