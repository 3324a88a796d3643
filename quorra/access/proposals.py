"""Proposals: changes that wait in the inbox as operations, planned anew on today's tree whenever they are looked at."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from quorra.access import gate
from quorra.access.changes import patch
from quorra.access.planned import Planned, Written, told
from quorra.ledger.change import ChangeSet, Origin
from quorra.state import inbox
from quorra.state.audit import Audit
from quorra.state.inbox import Inbox, Item, UnknownItem
from quorra.vault.texts import Texts

MINUTE = timedelta(minutes=1)
TOOL = "review"
ENDS = {"approve": "applied", "decline": "declined"}
CHANGED = "It would do something else now than when it was seen."
Kinds = Mapping[str, Callable[[Mapping[str, Any], Origin], Planned | Written]]


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as it would be applied now: its change, or why it can't be; ``rendering`` names the commit to look at."""

    item: Item
    planned: Planned | None
    rendering: str | None
    reason: str | None


class Proposals:
    """The inbox's proposals of one home; ``kinds`` plans each kind's payload on today's tree."""

    def __init__(self, box: Inbox, texts: Texts, kinds: Kinds) -> None:
        self.box, self.texts, self.ledger, self.kinds = box, texts, texts.ledger, kinds

    def get(self, ident: str) -> Item:
        """Gives a proposal; raises UnknownItem, for what waits in the inbox but is none, too."""
        item = self.box.get(ident)
        if item.kind not in self.kinds:
            raise UnknownItem(ident)
        return item

    def waiting(self) -> tuple[Item, ...]:
        """Gives the proposals that wait for a person, the oldest first."""
        return tuple(item for item in self.box.waiting() if item.kind in self.kinds)

    def every(self) -> tuple[Item, ...]:
        """Gives every proposal there was, the oldest first."""
        return tuple(item for item in self.box.every() if item.kind in self.kinds)

    def park(self, kind: str, payload: Mapping[str, Any], origin: Origin, now: datetime) -> Written:
        """Puts a change into the inbox if it could be made today; the rendering first, the row second."""
        planned = self.kinds[kind](payload, origin)
        if isinstance(planned, Written):
            return planned
        ident = inbox.ident()
        rendering = self.ledger.render(ident, planned.change)
        if not isinstance(rendering, str):
            return told(rendering, planned.issues)
        moment = now.isoformat(timespec="seconds")
        mark = self._mark(planned.change)
        reason = origin.reason or planned.change.subject
        item = Item(
            id=ident, kind=kind, title=planned.change.subject, payload=payload, principal=origin.principal,
            surface=origin.surface, reason=reason, state="draft_ready", created=moment, changed=moment,
            shown=mark, result=None,
        )  # fmt: skip
        self.box.put(item)
        return Written("parked", proposal=ident, issues=planned.issues, planned=planned)

    def show(self, ident: str) -> Shown:
        """Renders an item on today's tree and notes that it was seen so; raises UnknownItem."""
        item = self.get(ident)
        if item.state != "draft_ready":
            return Shown(item, None, None, f"It is {item.state} already.")
        planned = self.plan(item)
        if isinstance(planned, Written):
            return Shown(item, None, self.ledger.renderings().get(ident), planned.reason)
        rendering = self.ledger.render(ident, planned.change)
        if not isinstance(rendering, str):
            return Shown(item, planned, None, rendering.reason)
        self.box.show(ident, self._mark(planned.change))
        return Shown(item, planned, rendering, None)

    def approve(self, ident: str, principal: str, now: datetime) -> Written:
        """Does what was proposed, once, if it still is what was seen; raises UnknownItem."""
        refused = gate.barred(principal)
        if refused is not None:
            return told(refused)
        item = self.get(ident)
        if not self.box.move(ident, "draft_ready", "approved", now):
            return _late(self.box.get(ident))
        planned = self.plan(item)
        if isinstance(planned, Planned) and self._mark(planned.change) != item.shown:
            self.box.move(ident, "approved", "draft_ready", now, CHANGED)
            return Written("parked", proposal=ident, reason=CHANGED, next=f"Look again: quorra review show {ident}")
        done = gate.carry(planned, principal, self.texts)
        if done.outcome == "applied":
            self.box.move(ident, "approved", "applied", now, done.commit)
            self.ledger.withdraw(ident)
        else:
            self.box.move(ident, "approved", "failed", now, done.reason)
            self.box.move(ident, "failed", "draft_ready", now, done.reason)
        return replace(done, proposal=ident)

    def decline(self, ident: str, reason: str, now: datetime) -> Written:
        """Closes an item without doing it; raises UnknownItem."""
        self.get(ident)
        if not self.box.move(ident, "draft_ready", "declined", now, reason or None):
            return _late(self.box.get(ident))
        self.ledger.withdraw(ident)
        return Written("declined", proposal=ident, reason=reason or None)

    def recover(self, now: datetime, audit: Audit) -> None:
        """Finishes what a process that died left between two steps: refs, rows and audit follow each other again.

        An item that was approved within the last minute may be at work in a process that lives.
        """
        refs = self.ledger.renderings()
        alive = ("draft_ready", "approved", "failed")
        rows = {item.id: item for item in self.box.every() if item.state in alive and item.kind in self.kinds}
        for name in refs.keys() - rows.keys():
            self.ledger.withdraw(name)
        for item in rows.values():
            if item.state != "draft_ready":
                if now - datetime.fromisoformat(item.changed) > MINUTE:
                    self._settle(item, now)
            elif item.id not in refs and isinstance(planned := self.plan(item), Planned):
                self.ledger.render(item.id, planned.change)
        self._told(now, audit)

    def _told(self, now: datetime, audit: Audit) -> None:
        """Notes in the audit how an answer ended whose process did not come to note it."""
        states = {item.id: item.state for item in self.every()}
        for ident, act in audit.unended(TOOL, states).items():
            if states[ident] in ("approved", "failed") or now - datetime.fromisoformat(act.at) <= MINUTE:
                continue
            ok = states[ident] == ENDS.get(act.action)
            audit.record(
                now, principal=act.principal, by=act.by, action="done" if ok else "failed", tool=TOOL, tier=act.tier,
                target=ident, ok=ok,
            )  # fmt: skip

    def _settle(self, item: Item, now: datetime) -> None:
        """Finds out whether an approved change was made before the process died."""
        made = next((e for e in self.ledger.log(None, 500) if e.trailers.get("Quorra-Proposal") == item.id), None)
        if made:
            self.box.move(item.id, item.state, "applied", now, made.commit)
            self.ledger.withdraw(item.id)
        else:
            self.box.move(item.id, item.state, "draft_ready", now, "It was cut short; nothing was changed.")

    def plan(self, item: Item) -> Planned | Written:
        """Plans an item on today's tree without noting that anybody saw it."""
        return self.kinds[item.kind](item.payload, Origin(item.principal, item.surface, item.reason, proposal=item.id))

    def _mark(self, change: ChangeSet) -> str:
        """Identifies what a change does, wherever in its files that may stand by now."""
        found = hashlib.sha256()
        for edit in sorted(change.edits, key=lambda edit: edit.path):
            before = self.ledger.on_disk(edit.path) or b""
            lines = before.splitlines(keepends=True)
            found.update(f"{edit.path}\0{edit.content is None}\0".encode("utf-8", "surrogateescape"))
            for hunk in patch.hunks(before, edit.content or b""):
                found.update(b"\1".join((*lines[hunk.start : hunk.stop], b"\2", *hunk.lines, b"\3")))
        return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Review:
    """Answers proposals for people; each answer is in the audit before it is carried out, and after.

    ``by`` is the id of the key that a person, or a service for them, came with.
    """

    proposals: Proposals
    audit: Audit
    clock: Callable[[], datetime]

    def approve(self, ident: str, principal: str, by: str = "") -> Written:
        """Does what was proposed, as ``Proposals.approve``."""
        return self._answered("approve", ident, principal, by, partial(self.proposals.approve, ident, principal))

    def decline(self, ident: str, reason: str, principal: str, by: str = "") -> Written:
        """Closes an item without doing it, as ``Proposals.decline``."""
        return self._answered("decline", ident, principal, by, partial(self.proposals.decline, ident, reason))

    def _answered(self, action: str, ident: str, principal: str, by: str, do: Callable[[datetime], Written]) -> Written:
        self.proposals.get(ident)  # what is not there is not even tried
        return self.audit.act(
            self.clock, lambda: do(self.clock()), lambda done: done.good, principal=principal, by=by, action=action,
            tool=TOOL, tier=2, target=ident,
        )  # fmt: skip


def _late(item: Item) -> Written:
    reason = f"{item.id} is {item.state} already."
    helps = "See what waits with: quorra review list"
    if item.state in ("approved", "failed"):
        reason = f"{item.id} is being applied just now."
        helps = f"See in a minute what became of it: quorra review show {item.id}"
    done = item.result if item.state == "applied" else None
    return Written("refused", commit=done, proposal=item.id, reason=reason, code="decided", next=helps)
