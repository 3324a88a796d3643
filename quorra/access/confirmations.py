"""Confirmations: tier-2 calls that wait in the inbox for the yes of the one person they were asked of."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from quorra.errors import QuorraError
from quorra.state import inbox
from quorra.state.inbox import Inbox, Item, State

KIND = "confirmation"
LIFETIME = timedelta(hours=24)


class NoConfirmation(QuorraError):
    """Nothing of this id waits for this person in this session; whether it is somebody else's is told to nobody."""

    code = "no_confirmation"

    def __init__(self) -> None:
        super().__init__("Nothing of that id waits for your yes here.", "See what does at: GET /confirmations")


class Resolved(QuorraError):
    """It was answered already, or it has expired."""

    code = "decided"

    def __init__(self, state: str) -> None:
        said = {"approved": "is being done", "draft_ready": "has expired", "failed": "was tried and did not succeed"}
        told = said.get(state, f"is {state} already")
        super().__init__(f"This {told}; nothing was done now.", "Ask for it again if it is still wanted.")


class Changed(QuorraError):
    """What waits is no longer what was shown."""

    code = "stale"

    def __init__(self) -> None:
        super().__init__("What waits is not what you were shown.", "Look at it again before you say yes.")


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that wants a yes: what it is, and what it would do in words; ``mark`` as the tool's draft gives it.

    ``edited`` tells that a person changed its arguments.
    """

    call: str
    tool: str
    arguments: Mapping[str, Any]
    title: str
    text: str
    mark: str
    edited: bool = False

    @property
    def digest(self) -> str:
        """Gives the hash of exactly what will be done."""
        told = json.dumps([self.tool, self.arguments, self.mark], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


class Confirmations:
    """The confirmations of one home. Each is resolved once, by the person it was asked of, in its own session."""

    def __init__(self, box: Inbox) -> None:
        self._box = box

    def ask(self, wish: Wish, *, session: str, run: str, principal: str, surface: str, now: datetime) -> Item:
        """Puts a wish into the inbox."""
        moment = now.isoformat(timespec="seconds")
        item = Item(
            id=inbox.ident(), kind=KIND, title=wish.title, payload=_payload(wish), principal=principal,
            surface=surface, reason="", state="draft_ready", created=moment, changed=moment, shown=wish.digest,
            result=None, session=session, run=run, tool=wish.tool, digest=wish.digest,
            expires=(now + LIFETIME).isoformat(timespec="seconds"),
        )  # fmt: skip
        self._box.put(item)
        return item

    def open(self, principal: str, now: datetime, session: str | None = None) -> tuple[Item, ...]:
        """Gives what waits for a person, in one session where it is named; the oldest first."""
        kept = (item for item in self._box.waiting(KIND) if item.principal == principal and not _over(item, now))
        return tuple(item for item in kept if session in (None, item.session))

    def get(self, ident: str, principal: str, session: str | None = None) -> Item:
        """Gives a confirmation of this person, in this session where it is named; raises NoConfirmation."""
        try:
            item = self._box.get(ident)
        except inbox.UnknownItem as error:
            raise NoConfirmation from error
        if item.kind != KIND or item.principal != principal or session not in (None, item.session):
            raise NoConfirmation
        return item

    def approve(
        self, ident: str, principal: str, now: datetime, *, session: str | None = None, digest: str | None = None
    ) -> Item:
        """Takes a yes, once; raises NoConfirmation, Resolved, and Changed where ``digest`` is of something else.

        What was edited needs its digest: whoever was shown it before must not say yes to something else.
        """
        item = self.get(ident, principal, session)
        if item.state != "draft_ready" or _over(item, now):
            raise Resolved(item.state)
        if digest not in (None, item.digest) or (digest is None and wish(item).edited):
            raise Changed
        self._move(item, "approved", now)
        return self._box.get(ident)

    def close(self, ident: str, principal: str, state: State, now: datetime, session: str | None = None) -> Item:
        """Ends one without doing it, as ``declined`` or ``cancelled``; raises NoConfirmation and Resolved."""
        item = self.get(ident, principal, session)
        if item.state != "draft_ready" or _over(item, now):
            raise Resolved(item.state)
        self._move(item, state, now)
        return item

    def edit(self, item: Item, wish: Wish, now: datetime) -> Item:
        """Puts another wish in an item's place; raises Resolved where somebody was quicker."""
        if not self._box.revise(item.id, item.digest, wish.title, _payload(wish), wish.digest, now):
            raise Resolved(self._box.get(item.id).state)
        return self._box.get(item.id)

    def settle(self, item: Item, done: bool, result: str, now: datetime) -> None:
        """Notes how an approved one ended; ``result`` is a commit, or a code that says why it failed."""
        self._box.move(item.id, "approved", "applied" if done else "failed", now, result)

    def again(self, item: Item, now: datetime) -> None:
        """Lets what was said yes to wait once more, as nothing was done about it."""
        self._box.move(item.id, "approved", "draft_ready", now, "cut short")

    def expire(self, now: datetime) -> tuple[Item, ...]:
        """Ends what has waited too long, and gives it."""
        late = [item for item in self._box.waiting(KIND) if _over(item, now)]
        return tuple(item for item in late if self._box.move(item.id, "draft_ready", "expired", now))

    def every(self) -> tuple[Item, ...]:
        """Gives whatever waits, whosever it is."""
        return self._box.waiting(KIND)

    def begun(self) -> tuple[Item, ...]:
        """Gives what was approved and is not settled."""
        return self._box.waiting(KIND, "approved")

    def _move(self, item: Item, state: State, now: datetime) -> None:
        if not self._box.move(item.id, "draft_ready", state, now):
            raise Resolved(self._box.get(item.id).state)


def wish(item: Item) -> Wish:
    """Gives what an item asks for."""
    kept = item.payload
    return Wish(kept["call"], item.tool, kept["arguments"], item.title, kept["text"], kept["mark"], kept["edited"])


def _payload(wish: Wish) -> Mapping[str, Any]:
    told = {"text": wish.text, "mark": wish.mark, "edited": wish.edited}
    return {"call": wish.call, "arguments": dict(wish.arguments), **told}


def _over(item: Item, now: datetime) -> bool:
    return datetime.fromisoformat(item.expires) <= now
