"""The conversations of a home: what a person says becomes a run of its session, or the answer to what one waits for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from quorra.access.confirmations import Confirmations, Resolved, wish
from quorra.access.principals import AuthenticatedPrincipal
from quorra.access.window import Window
from quorra.agent import scopes
from quorra.agent.asking.answer import Answer, Event
from quorra.agent.conversation import assembly, history, replay, yes
from quorra.agent.conversation.calls import Caller, Unfit, fingerprint
from quorra.agent.conversation.inspector import Inspector, Record
from quorra.agent.conversation.kept import Kept, Stores
from quorra.agent.conversation.reply import Pending, Reply, Said, pending
from quorra.agent.conversation.turn import Turn
from quorra.agent.modes import Modes
from quorra.agent.prompt import Prompts
from quorra.agent.tools.registry import Registry
from quorra.agent.tools.tool import Reach, Rooms, Unreadable
from quorra.errors import QuorraError
from quorra.inference.protocol import Chat, Message
from quorra.state.inbox import Item
from quorra.state.sessions import Entry, Session

RECENT = 60
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


class Look(Protocol):
    """Answers by looking up first, for a model that can call no tools."""

    def __call__(
        self, question: str, *, window: Window, emit: Callable[[Event], None], cancelled: Callable[[], bool]
    ) -> Answer:
        """Answers one question by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, from where, when, and how they hear the reply while it is made."""

    principal: AuthenticatedPrincipal
    surface: str
    now: datetime
    emit: Callable[[Event], None]
    cancelled: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Talks:
    """Takes what people say and lets the loop answer it; one at a time, as the model does."""

    stores: Stores
    rooms: Rooms
    model: Callable[[], Chat]
    look: Look
    window: Callable[[str], Window]
    prompts: Prompts
    registry: Registry
    confirmations: Confirmations
    inspector: Inspector
    max_tokens: int
    modes: Modes = field(default_factory=Modes)

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
        caller = self._caller(session, principal, item.run, surface, now)
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
        return self._run(session, run.id, entries, speaker)

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
        return Reply("asked", text, (), self.model().name, session.id, item.run, pending_confirmation=shown)

    def _resolved(self, item: Item, state: str, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Goes on with the run that waited, whatever the person answered."""
        kept = Kept(self.stores, session, item.run, speaker.surface, speaker.now)
        with self.stores.database.transaction():
            if said.message.strip():
                kept.heard(said)
            kept.resolved(item, state, ref="" if said.message.strip() else said.message_id)
            self.stores.runs.move(item.run, "paused", "running", speaker.now)
        entries = self.stores.sessions.of_run(item.run)
        return self._run(session, item.run, entries, speaker, item, agreed=state == "approved")

    def _asked(self, said: Said, session: Session, speaker: Speaker) -> Reply:
        """Begins a run: what was asked is kept before anything is done about it."""
        chat = self.model()
        strategy = "tools" if _calls(chat) else "look-up"
        with self.stores.database.transaction():
            last = self.stores.sessions.last(session.id)
            seq = last.seq + 1 if last else 0
            run = self.stores.runs.begin(session.id, session.principal, seq, chat.name, strategy, speaker.now)
            Kept(self.stores, session, run.id, speaker.surface, speaker.now).heard(said)
        return self._run(session, run.id, self.stores.sessions.of_run(run.id), speaker)

    def _run(
        self,
        session: Session,
        run: str,
        entries: Sequence[Entry],
        speaker: Speaker,
        item: Item | None = None,
        agreed: bool = False,
    ) -> Reply:
        """Takes a run on from its entries, with what was said to the confirmation ``item`` where it waited for one."""
        chat = self.model()
        asked = entries[0].text
        record = self.inspector.begin(session.principal, session.id, run, speaker.now)
        kept = Kept(self.stores, session, run, speaker.surface, speaker.now)
        if not _calls(chat):
            return self._looked(asked, kept, record, speaker)
        caller = self._caller(session, speaker.principal, run, speaker.surface, speaker.now)
        behind = replay.behind(entries, wish(item).call) if item else []
        messages = self._messages(session, entries, caller.reach, kept, {call.id for call in behind}, item)
        for call, result in replay.answered(entries):
            caller.remember(call, result)
        turn = Turn(
            chat, caller, kept, self.confirmations, record, asked, messages, self.max_tokens, speaker.emit,
            speaker.cancelled, step=replay.steps(entries),
        )  # fmt: skip
        if item is None:
            return turn.run()
        return turn.approve(item, wish(item), behind) if agreed else turn.refuse(wish(item), behind)

    def _messages(
        self, session: Session, entries: Sequence[Entry], reach: Reach, kept: Kept, behind: set[str], item: Item | None
    ) -> list[Message]:
        """Gives the prompt, what was said before the run, and the run itself as far as it has come."""
        system = assembly.assemble(self.prompts, session, self.modes, reach)
        if system.entered:
            self.stores.sessions.entered(session.id)
        told = [{"name": one.name, "blob": one.blob, "commit": one.commit} for one in system.prompts]
        tools = fingerprint(self.registry.for_scope(session.scope, AuthenticatedPrincipal(session.principal)))
        kept.trace("prompt", prompts=told, tools=tools, scope=session.scope, mode=session.mode)
        past = self.stores.sessions.before(session.id, entries[0].seq, RECENT)
        open_calls = behind | ({wish(item).call} if item else set())
        own = [message for message in history.of_run(replay.own(entries), past) if message.answers not in open_calls]
        return [Message("system", system.text), *history.messages(past), *own]

    def _looked(self, asked: str, kept: Kept, record: Record, speaker: Speaker) -> Reply:
        """Answers by looking up, for a model that can't call tools."""
        answer = self.look(
            asked, window=self.window(speaker.principal.id), emit=speaker.emit, cancelled=speaker.cancelled
        )
        reply = Reply(
            answer.outcome, answer.answer, answer.citations, answer.model, kept.session.id, kept.run,
            dict(answer.timings), answer.near,
        )  # fmt: skip
        record.reply(answer.answer)
        if speaker.cancelled():
            kept.broken("", "interrupted", "cancelled")
            record.end("cancelled")
            return replace(reply, interrupted=True)
        if answer.outcome == "model_away":
            kept.broken("", "failed", "failed")
        else:
            kept.reply(reply)
        record.end("failed" if answer.outcome == "model_away" else "done")
        return reply

    def _caller(
        self, session: Session, principal: AuthenticatedPrincipal, run: str, surface: str, now: datetime
    ) -> Caller:
        reach = Reach(self.rooms, principal.id, self.window(principal.id), surface, session.id, run, now)
        return Caller(self.registry, self.stores.audit, reach, session.scope or (), principal)


def _calls(chat: Chat) -> bool:
    """Tells whether a model can be handed tools; one that is to quote answers by looking up."""
    return chat.abilities.tools and chat.abilities.style == "composition"


def title(text: str) -> str:
    """Names a session by the first words said in it: six words, 80 characters at most."""
    words = text.split()
    return " ".join(words[:6])[:80] + ("…" if len(words) > 6 else "")
