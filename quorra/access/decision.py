"""Decides which tools somebody may use: pure, and closed to whatever is not known to be allowed."""

from dataclasses import dataclass
from typing import Literal

from quorra.access import gate
from quorra.access.principals import AuthenticatedPrincipal, Principal, ReservationPrincipal
from quorra.access.window import MEMBER, OWNER

Tier = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Allowed:
    """It may be done; what it takes before or after is the tier's matter."""


@dataclass(frozen=True, slots=True)
class Denied:
    """It may not be done, whoever says yes to it."""

    code: str
    reason: str


Decision = Allowed | Denied


def decide(principal: Principal, *, tier: Tier, writes: bool) -> Decision:
    """Decides for a principal about a tool of this tier that changes the home or does not.

    A guest may look at what their window shows and no more; a member may not write while only the owner does.
    """
    if tier not in (0, 1, 2):
        return Denied("no_tier", f"There is no tier {tier}.")
    match principal:
        case AuthenticatedPrincipal(id) if id == OWNER or id.startswith(MEMBER):
            refused = gate.barred(id) if writes else None
            return Allowed() if refused is None else Denied(refused.code, refused.reason)
        case ReservationPrincipal() if tier == 0 and not writes:
            return Allowed()
        case ReservationPrincipal():
            return Denied("not_signed_in", "A guest may look and no more.")
        case _:
            return Denied("not_signed_in", "Nobody who is known asks.")
