"""Domains and windows: which tables a principal's search may open."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from quorra.errors import QuorraError
from quorra.settings import FACTS
from quorra.vault.links import fold
from quorra.vault.texts import OWNED

OWNER = "owner"
HOUSEHOLD = "household"
MEMBER = "member:"
_OWNED = re.compile(rf"/?(?:{FACTS}/)?({'|'.join(OWNED)})/([^/]+?)(?:/|\.md$)")


class UnknownPrincipal(QuorraError):
    """Nobody of this name is known to the home."""

    code = "unknown_principal"

    def __init__(self, principal: str, domains: Collection[str]) -> None:
        members = [name.removeprefix(MEMBER) for name in sorted(domains) if name.startswith(MEMBER)]
        super().__init__(
            f"This home knows nobody called {principal!r}.",
            f"Known are: {', '.join([OWNER, *members])}. "
            "A member has a folder of that name under members/, or a page of it under facts/members/.",
        )


class UnknownDomain(QuorraError):
    """The home has no such domain."""

    code = "window"

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(f"This home has no domain {name!r}.", f"There are: {', '.join(sorted(known))}.")


class OwnersOnly(QuorraError):
    """Somebody else asked for what only the owner may do."""

    code = "not_owner"

    def __init__(self, what: str, principal: str) -> None:
        super().__init__(f"{what} is for the owner, not for {principal}.", "Ask the owner.")


def owns(principal: str, what: str) -> None:
    """Raises OwnersOnly where somebody else than the owner asks for ``what``."""
    if principal != OWNER:
        raise OwnersOnly(what, principal)


def domain(path: str) -> str:
    """Names the one domain that a note or facts page belongs to, from its public path.

    However a folder's name is spelled, case and Unicode form never open it to others.
    """
    owned = _OWNED.match(fold(path))
    if not owned:
        return HOUSEHOLD
    return f"{owned[1].removesuffix('s')}:{owned[2]}"


@dataclass(frozen=True, slots=True)
class Window:
    """The domains that a principal may search; None opens every one there is."""

    domains: tuple[str, ...] | None = None

    @property
    def whole(self) -> bool:
        """Tells whether the window opens the whole home."""
        return self.domains is None

    def sees(self, path: str) -> bool:
        """Tells whether a note of this public path lies inside the window."""
        return self.domains is None or domain(path) in self.domains

    def narrowed(self, wanted: Collection[str], known: Collection[str]) -> "Window":
        """Keeps only the named domains, and of those only what this window already opens.

        Raises UnknownDomain where the whole home is open and a name is not ``known`` in it. Nobody else
        learns which domains there are: what is closed and what is not there are the same to them.
        """
        wanted = [fold(name) for name in wanted]
        if self.domains is not None:
            return Window(tuple(name for name in wanted if name in self.domains))
        for name in wanted or ("",):
            if name not in known:
                raise UnknownDomain(name, known)
        return Window(tuple(wanted))


def of(principal: str, known: Collection[str]) -> Window:
    """Gives a principal's window: the owner's is the whole home, a member's the household and their own.

    ``known`` are the domains that there are; raises UnknownPrincipal for a member without one.
    """
    if principal == OWNER:
        return Window(None)
    own = MEMBER + fold(principal.removeprefix(MEMBER))
    if own not in known:
        raise UnknownPrincipal(principal, known)
    return Window((HOUSEHOLD, own))
