"""API keys: random, shown once, kept as a hash."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from quorra.errors import QuorraError
from quorra.state.database import Database

MARK = "qk"


class UnknownKey(QuorraError):
    """No key has this id."""

    code = "key"


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key once it has been shown; moments are ISO 8601."""

    id: str
    name: str
    principal: str
    created: str
    revoked: str | None


class Keys:
    """The keys of one home; safe to ask from several threads."""

    def __init__(self, database: Database) -> None:
        self._ask = database.ask

    def create(self, name: str, principal: str, now: datetime) -> tuple[Key, str]:
        """Makes a key and gives it with its secret, which can't be had again."""
        ident = secrets.token_hex(4)
        secret = f"{MARK}_{ident}_{secrets.token_urlsafe(32)}"
        key = Key(ident, name, principal, now.isoformat(timespec="seconds"), None)
        self._ask(
            "INSERT INTO keys (id, name, principal, hash, created) VALUES (?, ?, ?, ?, ?)",
            ident, name, principal, _hash(secret), key.created,
        )  # fmt: skip
        return key, secret

    def every(self) -> tuple[Key, ...]:
        """Gives every key, the oldest first, revoked ones too."""
        rows = self._ask("SELECT id, name, principal, created, revoked FROM keys ORDER BY created, rowid")
        return tuple(Key(*row) for row in rows)

    def active(self) -> tuple[Key, ...]:
        """Gives the keys that open something."""
        return tuple(key for key in self.every() if key.revoked is None)

    def revoke(self, ident: str, now: datetime) -> Key:
        """Ends a key for good; raises UnknownKey."""
        moment = now.isoformat(timespec="seconds")
        self._ask("UPDATE keys SET revoked = coalesce(revoked, ?) WHERE id = ?", moment, ident)
        for key in self.every():
            if key.id == ident:
                return key
        raise UnknownKey(f"No key has the id {ident!r}.", "See the ids with: quorra keys list")

    def verify(self, secret: str) -> str | None:
        """Gives the principal that a secret stands for, None for an unknown or revoked one."""
        parts = secret.split("_", 2)
        if len(parts) != 3 or parts[0] != MARK:
            return None
        rows = self._ask("SELECT hash, principal FROM keys WHERE id = ? AND revoked IS NULL", parts[1])
        if not rows or not hmac.compare_digest(rows[0]["hash"], _hash(secret)):
            return None
        principal: str = rows[0]["principal"]
        return principal


def _hash(secret: str) -> str:
    # A secret of 256 random bits needs no salt and no slow hash.
    return hashlib.sha256(secret.encode()).hexdigest()
