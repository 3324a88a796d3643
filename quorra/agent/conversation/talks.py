"""The conversations of a home: what a person says becomes a run of its session, or the answer to what one waits for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from quorra import yes
from quorra.access.confirmations import Confirmations, Resolved, wish
from quorra.access.principals import AuthenticatedPrincipal
from quorra.agent import scopes
from quorra.agent.asking.answer import Event
from quorra.agent.calling.calls import Unfit
from quorra.agent.calling.tool import Unreadable
from quorra.agent.conversation import replay
from quorra.agent.conversation.kept import Kept, Stores
from quorra.agent.conversation.reply import Pending, Reply, Said, pending
from quorra.agent.conversation.runner import Resolution, Runner, Speaker
from quorra.agent.prompting import history
from quorra.errors import QuorraError
from quorra.state.inbox import Item
from quorra.state.runs import Held, Run
from quorra.state.sessions import Entry, Repeated, Session


class Nothing(QuorraError):
    """Nothing was said."""

    code = "bad_input"

    def __init__(self) -> None:
        super().__init__("There is nothing to answer: the message is empty.", "Say something, or name what to confirm.")


@dataclass(frozen=True, slots=True)
class Talks:
    """Takes what people say and lets the loop answer it; one at a time, as the model does."""

    stores: Stores
    confirmations: Confirmations
    runner: Runner

    def say(
        self,
        said: Said,
        principal: AuthenticatedPrincipal,
        *,
        surface: str,
        now: datetime,
        emit: Callable[[Event], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Answers what a person says.

        Raises UnknownSession, ScopeFixed, NoScopes, UnknownScope, UnknownOrigin, Nothing, Held, GenerationFailed,
        and for a confirmation NoConfirmation, Resolved or Changed.
        """
        speaker = Speaker(principal, surface, now, emit, cancelled, said.window)
        if not said.message.strip() and said.confirmation_id is None:
            raise Nothing
        session = self._session(said, speaker)
        before = self.stores.sessions.by_ref(session.id, said.message_id) if said.message_id else None
        if before:
            return self._again(before, session, speaker)
        answer = yes.answer(said.message)
        if said.confirmation_id is not None:
            return self._resolved(said.confirmation_id, answer != "no", said, session, speaker)
        waiting = self.confirmations.open(principal.id, now, session.id) if answer else ()
        if waiting and not self._last(waiting[-1], session):
            return self._shown_again(waiting[-1], said, session, speaker)
        if waiting:
            said = replace(said, digest=waiting[-1].digest)
            return self._resolved(waiting[-1].id, answer == "yes", said, session, speaker)
        return self._asked(said, session, speaker)

    def waiting(self, principal: AuthenticatedPrincipal, now: datetime) -> tuple[Pending, ...]:
        """Gives what waits for a person's yes."""
        return tuple(pending(item) for item in self.confirmations.open(principal.id, now))

    def edit(
        self,
        ident: str,
        arguments: Mapping[str, Any],
        principal: AuthenticatedPrincipal,
        *,
        surface: str,
        now: datetime,
    ) -> Pending:
        """Changes the arguments of what waits; raises NoConfirmation, Resolved, and Unfit where they won't do."""
        item = self.confirmations.get(ident, principal.id)
        if item.state != "draft_ready":
            raise Resolved(item.state)
        session = self.stores.sessions.get(item.session, principal.id)
        speaker = Speaker(principal, surface, now, lambda _: None, lambda: False)
        caller = self.runner.caller(session, item.run, speaker)
        try:
            changed = caller.edited(wish(item), arguments)
        except Unreadable as error:
            raise Unfit(str(error)) from error
        with self.stores.database.transaction():
            item = self.confirmations.edit(item, changed, now)
            kept = Kept(self.stores, session, item.run, surface, now, principal.by)
            kept.shown(pending(item).question, item, "edit")
        return pending(item)

    def cancel(self, ident: str, principal: AuthenticatedPrincipal, *, surface: str, now: datetime) -> None:
        """Withdraws what waits; its run is cancelled. Raises NoConfirmation and Resolved."""
        with self.stores.database.transaction():
            item = self.confirmations.close(ident, principal.id, "cancelled", now)
            self._over(item, "cancelled", surface, now, principal.by)

    def forget(self, ident: str, principal: AuthenticatedPrincipal, *, surface: str, now: datetime) -> None:
        """Forgets a session; what waits in it is withdrawn first. Raises UnknownSession."""
        self.stores.sessions.get(ident, principal.id)
        self.expire(now)
        with self.stores.database.transaction():
            for item in self.confirmations.open(principal.id, now, ident):
                self.cancel(item.id, principal, surface=surface, now=now)
        self.stores.sessions.forget(ident)

    def expire(self, now: datetime) -> int:
        """Ends what has waited too long; gives how many."""
        with self.stores.database.transaction():
            late = self.confirmations.expire(now)
            for item in late:
                self._over(item, "expired", item.surface, now)
        return len(late)

    def recover(self, now: datetime) -> int:
        """Marks the runs that a process left behind when it died; they can be taken up from what they have kept."""
        runs = self.stores.runs
        self.expire(now)
        with self.stores.database.transaction():
            for item in self.confirmations.begun():
                if runs.free(item.run):
                    self._unsettled(item, now)
            waited = {item.run for item in self.confirmations.every()}
            left = [run for run in runs.open("paused") if run.id not in waited]
            cut = [run for run in (*runs.open(), *left) if runs.free(run.id)]
            for run in cut:
                self._cut(run, now)
        return len(cut)

    def _unsettled(self, item: Item, now: datetime) -> None:
        """Finds out what became of a yes whose process died: what had not begun waits once more."""
        kept = self._kept(item, item.surface, now)
        last = next((act.action for act in self.stores.audit.latest(item.run) if act.tool == item.tool), "approved")
        if last != "approved":
            self.confirmations.settle(item, done=last == "done", result="cut short", now=now)
            kept.audit("interrupted", item)
            return
        self.confirmations.again(item, now)
        kept.shown(pending(item).question, item, "ask")
        self.stores.runs.end(item.run, "paused", now)
        subject = f"Your yes was cut short before anything was done; it waits again: {item.title}"
        self.stores.outbox.put(item.principal, "cut", subject, now, session=item.session, run=item.run)

    def _cut(self, run: Run, now: datetime) -> None:
        """Marks a run as failed, and tells its person of what may have been done before it could be told."""
        self.stores.runs.note(run.id, "interrupted", {"state": "failed"}, now)
        self.stores.runs.end(run.id, "failed", now)
        entries = self.stores.sessions.of_run(run.id)
        told = {call.id for call, _ in replay.answered(entries)}
        untold = {call.name for call in replay.calls(entries) if call.id not in told}
        for act in self.stores.audit.latest(run.id):
            subject = f"{act.tool} was done, and then it was cut short."
            if act.action == "call":
                self.stores.audit.record(
                    now, principal=run.principal, action="interrupted", tool=act.tool, tier=act.tier,
                    session=run.session, run=run.id,
                )  # fmt: skip
                subject = f"{act.tool} was cut short: see whether it was done."
            elif act.action != "done" or act.tool not in untold:
                continue
            self.stores.outbox.put(run.principal, "cut", subject, now, session=run.session, run=run.id)

    def _kept(self, item: Item, surface: str, now: datetime, by: str = "") -> Kept:
        return Kept(self.stores, self.stores.sessions.get(item.session, item.principal), item.run, surface, now, by)

    def _over(self, item: Item, state: str, surface: str, now: datetime, by: str = "") -> None:
        self._kept(item, surface, now, by).resolved(item, state)
        self.stores.runs.move(item.run, "paused", "cancelled", now)

    def _session(self, said: Said, speaker: Speaker) -> Session:
        """Finds or begins the session, and fixes its scope where one is given; a gap ends its mode."""
        sessions, owner = self.stores.sessions, speaker.principal.id
        scope = None if said.scope is None else scopes.checked(said.scope)
        ident = said.session_id
        if ident is None and said.confirmation_id is not None:
            ident = self.confirmations.get(said.confirmation_id, owner).session
        if ident is None and said.message_id:
            ident = sessions.begun_by(owner, said.message_id, said.message)
        if ident is None:
            session = sessions.begin(owner, scopes.origin(said.origin), speaker.now)
            sessions.set_title(session.id, title(said.message))
        else:
            session = sessions.get(ident, owner)
        if scope is not None:
            sessions.commit_scope(session.id, scope)
        if session.mode and history.gap(datetime.fromisoformat(session.changed), speaker.now):
            sessions.set_mode(session.id, None)
        return sessions.get(session.id, owner)

    def _again(self, entry: Entry, session: Session, speaker: Speaker) -> Reply:
        """Gives the reply to a message that came before, or takes its run up where it was cut short."""
        self.expire(speaker.now)
        run = self.stores.runs.get(entry.run, session.principal)
        if not self.stores.runs.free(run.id):
            raise Held
        entries = self.stores.sessions.of_run(run.id)
        waits = [item for item in self.confirmations.open(session.principal, speaker.now) if item.run == run.id]
        there = replay.reply(session, run, entries, waits[-1] if waits else None)
        if there:
            speaker.emit(Event("token", there.answer))
            return there
        self.stores.runs.end(run.id, "running", speaker.now)
        return self.runner.run(session, run.id, entries, speaker)

    def _last(self, item: Item, session: Session) -> bool:
        """Tells whether nothing was said in a session since this was asked, and it was not edited elsewhere."""
        last = self.stores.sessions.last(session.id)
        if last is None or last.kind != "approval_request" or last.data["id"] != item.id:
            return False
        return not last.data["edited"]

    def _shown_again(self, item: Item, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Puts what waits before the person once more, as it is not clear that they mean it."""
        shown = pending(item)
        text = shown.question
        kept = Kept(self.stores, session, item.run, speaker.surface, speaker.now, speaker.principal.by)
        with self.stores.database.transaction():
            kept.heard(said)
            kept.shown(text, item, "ask")
        speaker.emit(Event("token", text))
        return Reply("asked", text, (), self.runner.model().name, session.id, item.run, pending_confirmation=shown)

    def _resolved(self, ident: str, agreed: bool, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Goes on with the run that waited, whatever the person answered."""
        words, now, owner = said.message.strip(), speaker.now, session.principal
        with self.stores.database.transaction():
            if agreed:
                item = self.confirmations.approve(ident, owner, now, session=session.id, digest=said.digest)
            else:
                item = self.confirmations.close(ident, owner, "declined", now, session.id)
            kept = self._kept(item, speaker.surface, now, speaker.principal.by)
            if words:
                kept.heard(said)
            kept.resolved(item, "approved" if agreed else "declined", ref="" if words else said.message_id)
            self.stores.runs.move(item.run, "paused", "running", now)
        entries = self.stores.sessions.of_run(item.run)
        answered = Resolution(item, agreed, "" if yes.answer(words) else words)
        return self.runner.run(session, item.run, entries, speaker, answered)

    def _asked(self, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Begins a run: what was asked is kept before anything is done about it."""
        chat, strategy = self.runner.model(), self.runner.strategy()
        try:
            with self.stores.database.transaction():
                last = self.stores.sessions.last(session.id)
                seq = last.seq + 1 if last else 0
                run = self.stores.runs.begin(session.id, session.principal, seq, chat.name, strategy, speaker.now)
                Kept(self.stores, session, run.id, speaker.surface, speaker.now).heard(said)
        except Repeated as error:
            return self._again(error.entry, session, speaker)
        return self.runner.run(session, run.id, self.stores.sessions.of_run(run.id), speaker)


def title(text: str) -> str:
    """Names a session by the first words said in it: six words, 80 characters at most."""
    words = text.split()
    return " ".join(words[:6])[:80] + ("…" if len(words) > 6 else "")
