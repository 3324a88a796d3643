"""Who acts, with which credentials, and what the placeholders of an attack stand for."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from tests.bench.attacks.stage import PEOPLE, Stage, git, sqlite

PLACE = re.compile(r"\{([a-z_]+)((?::[^{}\"\s]*)?)\}")
REPEAT = re.compile(r"REPEAT:(.*):(\d+)", re.DOTALL)
NOBODY = "00000000-0000-4000-8000-000000000000"


def principal(who: str) -> str:
    """Gives a person's principal as the home spells it."""
    return who if who in ("", "owner") else f"member:{who}"


@dataclass
class Actor:
    """Who a step acts as: the person that the credentials rightly stand for, none for strangers, and the headers."""

    who: str
    headers: list[tuple[str, str]]


@dataclass
class Cast:
    """The people of one attack, what they have by now, and what stands for it in the attack's text."""

    stage: Stage
    hide: str = ""
    proposals: list[str] = field(default_factory=list)
    cards: dict[str, "Card"] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def actor(self, name: str) -> Actor:
        """Gives who acts under a name of the attacks."""
        made = self.stage.made
        if name in made.keys and name != "service":
            who = name.removeprefix("key-of-")
            return Actor(who if who in PEOPLE else "", [_bearer(made.keys[name])])
        if name.startswith("service-for-"):
            who = name.removeprefix("service-for-")
            mail = ("X-Quorra-User-Email", f"{who}@example.org")
            return Actor(who if who in PEOPLE else "", [_bearer(made.keys["service"]), mail])
        if name.startswith("token-of-"):
            who = name.removeprefix("token-of-")
            return Actor(who if who in PEOPLE else "", [_bearer(made.provider.token(who, []))])
        if name == "cookie-of-owner":
            return Actor("owner", [("Cookie", self.cookies.get("owner", ""))])
        if name == "stranger":
            return Actor("", [_bearer(made.provider.token("stranger", []))])
        return Actor("", [])

    def card(self, which: str, who: str) -> "Card | None":
        """Gives the card that a step means: a person's, else anybody's."""
        whose = which.removeprefix("of:") if which.startswith("of:") else who
        mine = [card for card in self.cards.values() if card.who == whose] or list(self.cards.values())
        return (mine[0] if which == "first" else mine[-1]) if mine else None

    def fill(self, value: Any) -> Any:
        """Puts what is meant in the place of placeholders, in texts wherever they stand."""
        if isinstance(value, dict):
            return {self.fill(key): self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if not isinstance(value, str):
            return value
        if repeated := REPEAT.fullmatch(value):
            return repeated[1] * int(repeated[2])
        return PLACE.sub(self._place, value)

    def _place(self, found: re.Match[str]) -> str:
        name, rest = found[1], found[2].removeprefix(":")
        told = getattr(self, f"_at_{name}", None)
        return (told(rest) if told else None) or found[0]

    def _at_proposal(self, rest: str) -> str | None:
        if not self.proposals:
            return None
        at = int(rest) - 1 if rest.isdigit() else -1
        return self.proposals[at] if at < len(self.proposals) else None

    def _at_session(self, who: str) -> str | None:
        if self.hide == f"session:{who}" and who in self.sessions:
            return hashlib.sha256(b"nobody").hexdigest()[: len(self.sessions[who])]
        return self.sessions.get(who)

    def _at_confirmation(self, who: str) -> str | None:
        card = self.card(f"of:{who}", who)
        return card.ident if card and card.who == who else None

    def _at_digest(self, who: str) -> str | None:
        card = self.card(f"of:{who}", who)
        return card.digest if card and card.who == who else None

    def _at_confirmation_event(self, who: str) -> str | None:
        return self.events.get(who)

    def _newest(self, sql: str, who: str) -> str | None:
        with sqlite(self.stage.folder) as state:
            row = state.execute(sql, (principal(who),)).fetchone()
        return str(row[0]) if row else None

    def _at_run(self, who: str) -> str | None:
        return self._newest("SELECT id FROM runs WHERE principal = ? ORDER BY rowid DESC LIMIT 1", who)

    def _at_message(self, who: str) -> str | None:
        found = self._newest("SELECT id FROM sessions WHERE principal = ? ORDER BY rowid DESC LIMIT 1", who)
        return f"{found}-0" if found else None

    def _at_outbox(self, who: str) -> str | None:
        return self._newest("SELECT id FROM outbox WHERE principal = ? ORDER BY rowid DESC LIMIT 1", who)

    def _at_inspect(self, who: str) -> str | None:
        kept = self.stage.home.inspector.of(principal(who))
        return str(kept[-1]["id"]) if kept else None

    def _at_note_blob(self, path: str) -> str | None:
        return git(self.stage.folder, "rev-parse", f"HEAD:vault/{path}").strip()

    def _at_commit(self, rest: str) -> str | None:
        return git(self.stage.folder, "rev-parse", rest or "HEAD").strip()

    def _at_home(self, _: str) -> str:
        return str(self.stage.folder)

    def _at_service_secret(self, _: str) -> str:
        return self.stage.made.keys["service"]

    def _at_key_id(self, who: str) -> str | None:
        return self.stage.made.idents.get(f"key-of-{who}")

    def _at_key(self, rest: str) -> str | None:
        who, _, variant = rest.partition(":")
        secret = self.stage.made.keys.get(f"key-of-{who}") or self.stage.made.keys.get(who)
        if secret is None:
            return None
        halves = {"first-half": secret[: len(secret) // 2], "hash": hashlib.sha256(secret.encode()).hexdigest()}
        halves |= {"upper": secret.upper(), "other-id": f"qk_{'0' * 8}_{secret.split('_', 2)[2]}"}
        return halves.get(variant, secret)

    def _at_cookie(self, who: str) -> str | None:
        return self.cookies.get(who)

    def _at_link(self, rest: str) -> str | None:
        who, _, variant = rest.partition(":")
        if who != "owner":
            return None
        link = self.stage.link
        return link[:-1] + ("a" if link[-1] != "a" else "b") if variant else link

    def _at_jwt(self, rest: str) -> str:
        who, *variants = re.split(r":(?=[a-z0-9_]+=)", rest)
        return self.stage.made.provider.token(who, variants)


@dataclass
class Card:
    """A question that was put before somebody; ``digest`` is of what they were shown last."""

    ident: str
    who: str
    session: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    first: str
    text: str
    shown: int


def _bearer(secret: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {secret}")
