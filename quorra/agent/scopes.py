"""The scopes that a session may have; each brings its prompt ``prompts/scopes/NAME.md`` and the tools that name it."""

from collections.abc import Sequence

from quorra.errors import QuorraError

GENERAL = "general"
SCOPES = (GENERAL,)
ORIGINS = ("standard", "matrix", "open_webui", "voice")
"""Where a session is held; each brings its style, ``prompts/origin/NAME.md``."""


class UnknownScope(QuorraError):
    """There is no such scope."""

    code = "unknown_scope"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no scope {name!r}.", f"There are: {', '.join(SCOPES)}.")


class NoScopes(QuorraError):
    """A list of scopes is empty."""

    code = "unknown_scope"

    def __init__(self) -> None:
        super().__init__(
            "A scope names at least one; leave the field out for none.", f"There are: {', '.join(SCOPES)}."
        )


class UnknownOrigin(QuorraError):
    """There is no such origin."""

    code = "unknown_origin"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no origin {name!r}.", f"There are: {', '.join(ORIGINS)}.")


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """Gives the names once each, in their order; raises NoScopes and UnknownScope."""
    if not names:
        raise NoScopes
    for name in names:
        if name not in SCOPES:
            raise UnknownScope(name)
    return tuple(dict.fromkeys(names))


def origin(name: str | None) -> str:
    """Gives an origin by its name, the standard one for none; raises UnknownOrigin."""
    if name is not None and name not in ORIGINS:
        raise UnknownOrigin(name)
    return name or ORIGINS[0]
