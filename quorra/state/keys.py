"""API keys: random, shown once, kept as a hash."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from quorra.errors import QuorraError
from quorra.state.database import Database

MARK = "qk"
COLUMNS = "id, name, principal, created, revoked, kind"
KEY, SERVICE = "key", "service"


class UnknownKey(QuorraError):
    """No key has this id."""

    code = "key"


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key once it has been shown; moments are ISO 8601.

    A ``service`` key stands for nobody, as its service says for whom it speaks: its principal is empty.
    """

    id: str
    name: str
    principal: str
    created: str
    revoked: str | None
    kind: str = KEY


class Keys:
    """The keys of one home; safe to ask from several threads."""

    def __init__(self, database: Database) -> None:
        self._ask = database.ask

    def create(self, name: str, principal: str, now: datetime, kind: str = KEY) -> tuple[Key, str]:
        """Makes a key and gives it with its secret, which can't be had again."""
        ident = secrets.token_hex(4)
        secret = f"{MARK}_{ident}_{secrets.token_urlsafe(32)}"
        key = Key(ident, name, principal, now.isoformat(timespec="seconds"), None, kind)
        self._ask(
            "INSERT INTO keys (id, name, principal, hash, created, kind) VALUES (?, ?, ?, ?, ?, ?)",
            ident, name, principal, _hash(secret), key.created, kind,
        )  # fmt: skip
        return key, secret

    def every(self) -> tuple[Key, ...]:
        """Gives every key, the oldest first, revoked ones too."""
        rows = self._ask(f"SELECT {COLUMNS} FROM keys ORDER BY created, rowid")
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

    def verify(self, secret: str) -> Key | None:
        """Gives the key that a secret is of, None for an unknown or revoked one; as much is done for either."""
        ident = (*secret.split("_", 2), "", "")[1]
        rows = self._ask(f"SELECT {COLUMNS}, hash FROM keys WHERE id = ? AND revoked IS NULL", ident)
        right = hmac.compare_digest(rows[0]["hash"] if rows else "", _hash(secret))
        return Key(*rows[0][:-1]) if right else None


def _hash(secret: str) -> str:
    # A secret of 256 random bits needs no salt and no slow hash.
    return hashlib.sha256(secret.encode()).hexdigest()
