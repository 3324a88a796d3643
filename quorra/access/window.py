"""Domains and windows: which tables a principal's search may open."""

import re
from dataclasses import dataclass

HOUSEHOLD = "household"
_OWNED = re.compile(r"/?(?:facts/)?(members|workspaces)/([^/]+?)(?:/|\.md$)")


def domain(path: str) -> str:
    """Names the one domain that a note or facts page belongs to, from its public path."""
    owned = _OWNED.match(path)
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

    def narrowed(self, domains: tuple[str, ...]) -> "Window":
        """Keeps only the named domains, and of those only what this window already opens."""
        return Window(domains if self.domains is None else tuple(d for d in domains if d in self.domains))


def of(principal: str) -> Window:
    """Gives a principal's window: the owner's is the whole home, a member's the household and their own."""
    if principal == "owner":
        return Window(None)
    return Window((HOUSEHOLD, principal if ":" in principal else f"member:{principal}"))
