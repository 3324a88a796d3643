"""Whom a bearer's secret stands for: a key's owner, whom a service speaks for, or whom a provider vouches for."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from quorra.access.principals import AuthenticatedPrincipal, People, named
from quorra.access.window import UnknownPrincipal
from quorra.state.keys import MARK, SERVICE, Key

if TYPE_CHECKING:
    from quorra.surfaces.http.entry.oidc import Claims, Provider

log = structlog.get_logger("quorra.http")


class Bearers:
    """Every road in but the link; each ends in the same principal for the same person, or in nobody.

    ``verify`` gives the key of a secret, ``opens`` raises UnknownPrincipal for whom the home does not know.
    """

    def __init__(
        self,
        verify: Callable[[str], Key | None],
        opens: Callable[[str], object],
        people: People,
        provider: "Provider | None" = None,
    ) -> None:
        self._verify, self._opens, self._people, self._provider = verify, opens, people, provider
        # The database may make a reader wait; the threads of those who are let in already must not wait with it.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="entry")

    async def who(self, secrets: Sequence[str], emails: Sequence[str]) -> AuthenticatedPrincipal | None:
        """Gives the principal, None for a stranger; only the log says what was wrong."""
        found = await self._found(secrets, emails)
        if isinstance(found, AuthenticatedPrincipal):
            return found
        log.info("turned_away", why=found)
        return None

    async def _found(self, secrets: Sequence[str], emails: Sequence[str]) -> AuthenticatedPrincipal | str:
        if len(secrets) != 1:
            return "no_secret" if not secrets else "two_secrets"
        run = asyncio.get_running_loop().run_in_executor
        if secrets[0].startswith(f"{MARK}_"):
            return await run(self._threads, self._by_key, secrets[0], emails)
        if self._provider is None:
            return "unknown_secret"
        if emails:
            return "speaks_for_others"
        claims = await self._provider.claims(secrets[0])
        if isinstance(claims, str):
            return claims
        return await run(self._threads, self._here, self._claimed(claims))

    def _by_key(self, secret: str, emails: Sequence[str]) -> AuthenticatedPrincipal | str:
        key = self._verify(secret)
        if key is None:
            return "unknown_key"
        if key.kind != SERVICE:
            return "speaks_for_others" if emails else self._here(replace(named(key.principal), by=key.id))
        if len(emails) != 1:
            return "service_for_nobody" if not emails else "service_for_two"
        person = self._people.by_email(_text(emails[0]))
        return self._here(person and replace(person, by=key.id))

    def _claimed(self, claims: "Claims") -> AuthenticatedPrincipal | None:
        """Gives whom a token is about: its subject decides, else an address that the provider has verified."""
        found = self._people.by_subject(claims.subject)
        return found or (self._people.by_email(claims.email) if claims.email else None)

    def _here(self, found: AuthenticatedPrincipal | None) -> AuthenticatedPrincipal | str:
        """Keeps whom the home still knows."""
        if found is None:
            return "unknown_person"
        try:
            self._opens(found.id)
        except UnknownPrincipal:
            return "not_in_home"
        return found


def _text(header: str) -> str:
    """Reads a header as UTF-8; what is none names nobody."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return ""
