"""The conversations of a home: what a person says becomes a run of its session, or the answer to what one waits for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quorra.access.confirmations import Confirmations, Resolved, wish
from quorra.access.principals import AuthenticatedPrincipal
from quorra.agent import scopes
from quorra.agent.asking.answer import Event
from quorra.agent.conversation import history, replay, yes
from quorra.agent.conversation.calls import Unfit
from quorra.agent.conversation.kept import Kept, Stores
from quorra.agent.conversation.reply import Pending, Reply, Said, pending
from quorra.agent.conversation.runner import Resolution, Runner, Speaker
from quorra.agent.tools.tool import Unreadable
from quorra.errors import QuorraError
from quorra.state.inbox import Item
from quorra.state.sessions import Entry, Session

RECENT = 160
"""Entries of a session that are looked at for its history."""


class Nothing(QuorraError):
    """Nothing was said."""

    code = "bad_input"

    def __init__(self) -> None:
        super().__init__("There is nothing to answer: the message is empty.", "Say something, or name what to confirm.")


class Answering(QuorraError):
    """Another process answers this message just now."""

    code = "answering"

    def __init__(self) -> None:
        super().__init__("This message is being answered just now.", "Send it again in a moment.")


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

        Raises UnknownSession, ScopeFixed, UnknownScope, UnknownOrigin, Nothing, Answering, GenerationFailed, and
        for a confirmation NoConfirmation, Resolved or Changed.
        """
        speaker = Speaker(principal, surface, now, emit, cancelled)
        if not said.message.strip() and said.confirmation_id is None:
            raise Nothing
        session = self._session(said, speaker)
        before = self.stores.sessions.by_ref(session.id, said.message_id) if said.message_id else None
        if before:
            return self._again(before, session, speaker)
        if said.confirmation_id is not None:
            item = self.confirmations.approve(
                said.confirmation_id, principal.id, now, session=session.id, digest=said.digest
            )
            return self._resolved(item, "approved", said, session, speaker)
        answer = yes.answer(said.message)
        waiting = self.confirmations.open(principal.id, now, session.id) if answer else ()
        if answer and waiting:
            return self._naturally(answer == "yes", waiting[-1], said, session, speaker)
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
        caller = self.runner.caller(session, principal, item.run, surface, now)
        try:
            changed = caller.edited(wish(item), arguments)
        except Unreadable as error:
            raise Unfit(str(error)) from error
        with self.stores.database.transaction():
            item = self.confirmations.edit(item, changed, now)
            Kept(self.stores, session, item.run, surface, now).shown(pending(item).question, item, "edit")
        return pending(item)

    def cancel(self, ident: str, principal: AuthenticatedPrincipal, *, surface: str, now: datetime) -> None:
        """Withdraws what waits; its run is cancelled. Raises NoConfirmation and Resolved."""
        item = self.confirmations.close(ident, principal.id, "cancelled", now)
        self._over(item, "cancelled", surface, now)

    def expire(self, now: datetime) -> int:
        """Ends what has waited too long; gives how many."""
        late = self.confirmations.expire(now)
        for item in late:
            self._over(item, "expired", item.surface, now)
        return len(late)

    def recover(self, now: datetime) -> int:
        """Marks the runs that a process left behind when it died; they can be taken up from what they have kept."""
        for item in self.confirmations.begun():
            session = self.stores.sessions.get(item.session, item.principal)
            with self.stores.database.transaction():
                self.confirmations.settle(item, done=False, result="cut short", now=now)
                Kept(self.stores, session, item.run, item.surface, now).audit("failed", item)
        cut = self.stores.runs.open()
        for run in cut:
            with self.stores.database.transaction():
                self.stores.runs.note(run.id, "interrupted", {"state": "failed"}, now)
                self.stores.runs.move(run.id, "running", "failed", now)
        return len(cut)

    def _over(self, item: Item, state: str, surface: str, now: datetime) -> None:
        session = self.stores.sessions.get(item.session, item.principal)
        Kept(self.stores, session, item.run, surface, now).resolved(item, state)
        self.stores.runs.move(item.run, "paused", "cancelled", now)

    def _session(self, said: Said, speaker: Speaker) -> Session:
        """Finds or begins the session, and fixes its scope where one is given; a gap ends its mode."""
        sessions, owner = self.stores.sessions, speaker.principal.id
        scope = None if said.scope is None else scopes.checked(said.scope)
        ident = said.session_id
        if ident is None and said.confirmation_id is not None:
            ident = self.confirmations.get(said.confirmation_id, owner).session
        if ident is None and said.message_id:
            ident = sessions.of_ref(owner, said.message_id)
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
        if run.state == "running":
            raise Answering
        entries = self.stores.sessions.of_run(run.id)
        waits = [item for item in self.confirmations.open(session.principal, speaker.now) if item.run == run.id]
        there = replay.reply(session, run, entries, waits[-1] if waits else None)
        if there:
            speaker.emit(Event("token", there.answer))
            return there
        self.stores.runs.move(run.id, run.state, "running", speaker.now)
        return self.runner.run(session, run.id, entries, speaker)

    def _naturally(self, agreed: bool, item: Item, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Takes a plain yes or no as the answer to what was asked last; where more was said since, asks again."""
        last = self.stores.sessions.last(session.id)
        if last is None or last.kind != "approval_request" or last.data.get("id") != item.id:
            return self._shown_again(item, said, session, speaker)
        if agreed:
            item = self.confirmations.approve(item.id, item.principal, speaker.now, session=session.id)
        else:
            item = self.confirmations.close(item.id, item.principal, "declined", speaker.now, session.id)
        return self._resolved(item, "approved" if agreed else "declined", said, session, speaker)

    def _shown_again(self, item: Item, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Puts what waits before the person once more, as it is not clear that they mean it."""
        shown = pending(item)
        text = shown.question
        kept = Kept(self.stores, session, item.run, speaker.surface, speaker.now)
        with self.stores.database.transaction():
            kept.heard(said)
            kept.shown(text, item, "ask")
        speaker.emit(Event("token", text))
        return Reply("asked", text, (), self.runner.model().name, session.id, item.run, pending_confirmation=shown)

    def _resolved(self, item: Item, state: str, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Goes on with the run that waited, whatever the person answered."""
        kept = Kept(self.stores, session, item.run, speaker.surface, speaker.now)
        with self.stores.database.transaction():
            if said.message.strip():
                kept.heard(said)
            kept.resolved(item, state, ref="" if said.message.strip() else said.message_id)
            self.stores.runs.move(item.run, "paused", "running", speaker.now)
        words = "" if yes.answer(said.message) else said.message.strip()
        entries = self.stores.sessions.of_run(item.run)
        return self.runner.run(session, item.run, entries, speaker, Resolution(item, state == "approved", words))

    def _asked(self, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Begins a run: what was asked is kept before anything is done about it."""
        chat, strategy = self.runner.model(), self.runner.strategy()
        with self.stores.database.transaction():
            last = self.stores.sessions.last(session.id)
            seq = last.seq + 1 if last else 0
            run = self.stores.runs.begin(session.id, session.principal, seq, chat.name, strategy, speaker.now)
            Kept(self.stores, session, run.id, speaker.surface, speaker.now).heard(said)
        return self.runner.run(session, run.id, self.stores.sessions.of_run(run.id), speaker)


def title(text: str) -> str:
    """Names a session by the first words said in it: six words, 80 characters at most."""
    words = text.split()
    return " ".join(words[:6])[:80] + ("…" if len(words) > 6 else "")
