"""What of a run is kept: its words as entries of the session, its trace as ids, hashes and numbers beside them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from quorra.access.confirmations import Confirmations, Wish
from quorra.agent.calling.calls import Ran
from quorra.agent.conversation.reply import Pending, Reply, Said, pending
from quorra.index.found import Hit
from quorra.inference.protocol import Call
from quorra.state import runs, sessions
from quorra.state.audit import Audit
from quorra.state.database import Database
from quorra.state.inbox import Item
from quorra.state.outbox import Outbox
from quorra.state.runs import Runs
from quorra.state.sessions import Entry, Mark, Session, Sessions


@dataclass(frozen=True, slots=True)
class Stores:
    """The tables that conversations are kept in, of one database."""

    database: Database
    sessions: Sessions
    runs: Runs
    audit: Audit
    outbox: Outbox


@dataclass(slots=True)
class Kept:
    """The memory of one run; what belongs together is written together.

    ``by`` is the id of the key that its person came with, ``said`` are the words
    that have gone out, ``entered`` tells that the mode's entry context was given.
    """

    stores: Stores
    session: Session
    run: str
    surface: str
    begun: datetime
    by: str = ""
    said: list[str] = field(default_factory=list)
    entered: bool = False
    _start: float = field(default_factory=perf_counter)
    _events: list[tuple[runs.Kind, dict[str, Any]]] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        """Gives the moment, as the surface's clock shows it."""
        return self.begun + timedelta(seconds=perf_counter() - self._start)

    @property
    def text(self) -> str:
        """Gives what has been said so far."""
        return "\n\n".join(self.said)

    def trace(self, kind: runs.Kind, **data: Any) -> None:
        """Adds an event to the trace; it is written with the next entry."""
        self._events.append((kind, data))

    def calls(self, calls: Sequence[Call], text: str, step: int) -> None:
        """Keeps the calls of one step, the words said with them at the first."""
        with self.stores.database.transaction():
            for at, call in enumerate(calls):
                data = {"name": call.name, "arguments": call.arguments, "step": step}
                entry = self._append("tool_call", "" if at else text, call=call.id, data=data)
                self.trace("call", seq=entry.seq, step=step)
            self._flush()

    def result(self, call: str, ran: Ran) -> list[str]:
        """Keeps a call's answer; gives what its person is told of afterwards."""
        result = ran.result
        told: list[str] = []
        kind: runs.Kind = "retry" if ran.again or ran.changed is not None else "result"
        hits = [{"blob": hit.blob, "commit": hit.commit, "lines": list(hit.lines)} for hit in result.hits]
        if hits:
            self.trace("retrieval", passages=hits)
        self.trace(
            kind, tool=ran.tool, tier=ran.tier, ok=result.ok, ms=round(ran.seconds * 1000, 1), again=ran.again,
            changed=list(ran.changed or ()), commit=result.commit, proposal=result.proposal,
        )  # fmt: skip
        with self.stores.database.transaction():
            data = {"name": ran.tool, "ok": result.ok, "hits": [_place(hit) for hit in result.hits]}
            self._append("tool_result", result.text, call=call, data=data)
            if ran.tier == 1 and result.ok and not ran.again:
                told.append(_notice(ran))
                self.stores.outbox.put(
                    self.session.principal, "done", told[0], self.now, session=self.session.id, run=self.run
                )
            self._flush()
        return told

    def heard(self, said: Said) -> None:
        """Keeps what a person said."""
        self._append("user", said.message, ref=said.message_id)

    def ask(self, wish: Wish, confirmations: Confirmations) -> Pending:
        """Puts a wish before the person, in the inbox and in the session; the run waits."""
        with self.stores.database.transaction():
            item = confirmations.ask(
                wish, session=self.session.id, run=self.run, principal=self.session.principal,
                surface=self.surface, now=self.now,
            )  # fmt: skip
            shown = pending(item)
            self.said.append(shown.question)
            self.trace("approval", id=item.id, state="asked", tool=item.tool, digest=item.digest)
            self._request(self.text, item)
            self.audit("ask", item)
            self._end("paused")
        return shown

    def shown(self, text: str, item: Item, action: str) -> None:
        """Keeps that what waits was put before the person once more, or with other arguments."""
        self.trace("approval", id=item.id, state=action, tool=item.tool, digest=item.digest)
        self._request(text, item, edited=action == "edit")
        self.audit(action, item)
        self._flush()

    def resolved(self, item: Item, state: str, ref: str = "") -> None:
        """Keeps what a person answered."""
        self.trace("approval", id=item.id, state=state, tool=item.tool, digest=item.digest)
        with self.stores.database.transaction():
            self._append("approval_resolved", "", data={"id": item.id, "state": state}, ref=ref)
            self.audit(state, item)
            self._flush()

    def reply(self, reply: Reply) -> None:
        """Keeps a reply; the run is done."""
        if reply.claims is not None:
            bound = sum(bool(claim.citations) for claim in reply.claims)
            self.trace("verdict", carried=bound, sentences=len(reply.claims))
        data = {
            "outcome": reply.outcome,
            "model": reply.model,
            "citations": [_bare(asdict(each)) for each in reply.citations],
            "claims": None if reply.claims is None else [asdict(claim) for claim in reply.claims],
            "notices": list(reply.notices),
        }
        timings = {name: round(seconds * 1000, 1) for name, seconds in reply.timings.items()}
        with self.stores.database.transaction():
            entry = self._append("assistant", reply.answer, data=data)
            self.trace("reply", seq=entry.seq, outcome=reply.outcome, ms=timings)
            self._end("done")

    def broken(self, mark: Mark, state: runs.State) -> None:
        """Keeps what had been said of a reply that broke off."""
        self.trace("interrupted", state=state)
        with self.stores.database.transaction():
            if self.text.strip():
                self._append("assistant", self.text, mark=mark)
            self._end(state)

    def audit(self, action: str, item: Item) -> None:
        """Notes in the audit what became of a confirmation."""
        self.stores.audit.record(
            self.now, principal=self.session.principal, action=action, tool=item.tool, tier=2,
            session=self.session.id, run=self.run, target=item.digest, ok=None, by=self.by,
        )  # fmt: skip

    def _append(self, kind: sessions.Kind, text: str, **more: Any) -> Entry:
        return self.stores.sessions.append(self.session.id, kind, text, self.now, run=self.run, **more)

    def _request(self, text: str, item: Item, edited: bool = False) -> None:
        data = {"id": item.id, "digest": item.digest, "tool": item.tool, "edited": edited}
        self._append("approval_request", text, data=data)

    def _end(self, state: runs.State) -> None:
        self._flush()
        if self.entered and state in ("done", "paused"):
            self.stores.sessions.entered(self.session.id)
        self.stores.runs.end(self.run, state, self.now)

    def _flush(self) -> None:
        events, self._events = self._events, []
        for kind, data in events:
            self.stores.runs.note(self.run, kind, data, self.now)


def _notice(ran: Ran) -> str:
    """Says in one sentence what was done at tier 1."""
    what = ", ".join(ran.result.targets) or "nothing named"
    if ran.result.proposal:
        return f"Proposal {ran.result.proposal} waits in the inbox: {what}."
    return f"Written: {what} (commit {ran.result.commit[:10]})." if ran.result.commit else f"Done: {ran.tool}, {what}."


def _place(hit: Hit) -> dict[str, Any]:
    """Tells where a hit stands; its text can be had again from there."""
    told = {"path": hit.path, "lines": list(hit.lines), "blob": hit.blob, "commit": hit.commit}
    return {**told, "heading": hit.heading, "title": hit.title, "date": hit.date}


def _bare(citation: dict[str, Any]) -> dict[str, Any]:
    """Leaves out a citation's quote: the note holds it."""
    return {key: value for key, value in citation.items() if key != "quote"}
