"""Tokens of an OpenID provider, believed as far as OpenID Connect Core 3.1.3.7 and RFC 8725 let them be."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import time
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from quorra.settings import Oidc
from quorra.surfaces.http.entry.signers import FRESH, PAUSE, Signers

ALGORITHM = "RS256"
KINDS = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
LEEWAY = 30
"""Seconds by which the clocks of provider and home may differ."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Whom a token is about; ``email`` is empty unless the provider has verified it."""

    subject: str
    email: str


class Provider:
    """Reads the tokens of one issuer that were made for one audience."""

    def __init__(self, told: Oidc, pause: float = PAUSE, fresh: float = FRESH) -> None:
        self._told = told
        self._signers = Signers(told.issuer, told.jwks, pause, fresh)
        # Headers that nobody knows are to be ignored (RFC 7515, 4), those under "crit" are not.
        self._registry = JWSRegistry(algorithms=[ALGORITHM], strict_check_header=False)

    async def claims(self, token: str) -> Claims | str:
        """Gives what a token says of its person, or a word for why it is not believed."""
        try:
            header = jws.extract_compact(token.encode(), registry=self._registry).headers()
            if str(header.get("typ") or "").lower() not in KINDS:
                return "token_kind"
            key = await self._signers.get(header.get("kid"))
            if key is None:
                return "unknown_signer"
            found = jwt.decode(token, key, registry=self._registry).claims
            self._expected().validate(found)
        except JoseError as error:
            return f"token_{error.error}"
        except (ValueError, TypeError, RecursionError):
            return "token_unreadable"
        return Claims(found["sub"], _email(found))

    def _expected(self) -> JWTClaimsRegistry:
        return JWTClaimsRegistry(
            now=int(time()),
            leeway=LEEWAY,
            iss={"essential": True, "value": self._told.issuer},
            aud={"essential": True, "value": self._told.audience},
            sub={"essential": True},
            exp={"essential": True},
        )


def _email(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    return email if claims.get("email_verified") is True and isinstance(email, str) else ""
