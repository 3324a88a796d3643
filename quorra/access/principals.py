"""Who can be speaking: somebody of the home, a guest with a reservation, or nobody that is known."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from quorra.access import window
from quorra.access.window import MEMBER, OWNER, Window
from quorra.settings import SUBJECT, address
from quorra.vault.links import fold

GUEST = "guest:"


@dataclass(frozen=True, slots=True)
class AuthenticatedPrincipal:
    """The owner or a member, by the one id that every road in leads to: ``owner`` or ``member:SLUG``.

    ``by`` is the id of the key that was used, for the audit alone; nobody is somebody else for it.
    """

    id: str
    by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ReservationPrincipal:
    """A guest of one workspace until a moment; nothing of it leads to the owner or a member."""

    reservation: str
    workspace: str
    ends: datetime


@dataclass(frozen=True, slots=True)
class AnonymousPrincipal:
    """Somebody of whom nothing is known."""


Principal = AuthenticatedPrincipal | ReservationPrincipal | AnonymousPrincipal


def by(principal: Principal) -> str:
    """Gives the id of the key that a principal came with."""
    return principal.by if isinstance(principal, AuthenticatedPrincipal) else ""


def named(name: str) -> AuthenticatedPrincipal:
    """Gives the principal that a name stands for, however it is spelled: ``owner``, ``mira``, ``member:Mira``."""
    return AuthenticatedPrincipal(OWNER if name == OWNER else MEMBER + fold(name.removeprefix(MEMBER)))


def opened(principal: Principal, known: Collection[str], now: datetime) -> Window:
    """Gives a principal's window; ``known`` are the home's domains. Raises UnknownPrincipal.

    A guest sees what was laid out for the guests of their workspace, until their time is over.
    """
    match principal:
        case AuthenticatedPrincipal(id):
            return window.of(id, known)
        case ReservationPrincipal(workspace=workspace, ends=ends) if now < ends:
            return Window((GUEST + fold(workspace),))
        case _:
            return Window(())


@dataclass(frozen=True, slots=True)
class People:
    """Finds a home's principals by what others vouch for; ``table`` is the settings' ``[people]``."""

    table: Mapping[str, str]

    def by_email(self, text: str) -> AuthenticatedPrincipal | None:
        """Gives whose e-mail address this is: the whole address decides, never its domain alone."""
        return None if text.startswith(SUBJECT) else self._one(address(text))

    def by_subject(self, text: str) -> AuthenticatedPrincipal | None:
        """Gives whom the provider of tokens calls this."""
        return self._one(SUBJECT + text)

    def _one(self, key: str) -> AuthenticatedPrincipal | None:
        name = self.table.get(key)
        return None if name is None else named(name)
