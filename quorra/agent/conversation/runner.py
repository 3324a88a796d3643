"""Takes a run on from what is kept of it: its prompt, its past, its own messages, and a turn of the loop over them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from quorra.access.confirmations import Confirmations, wish
from quorra.access.principals import AuthenticatedPrincipal
from quorra.access.window import Window
from quorra.agent.asking.answer import Answer, Event
from quorra.agent.asking.ask import Witness
from quorra.agent.calling.calls import Caller, fingerprint
from quorra.agent.calling.registry import Registry
from quorra.agent.calling.tool import Reach, Rooms
from quorra.agent.conversation import replay
from quorra.agent.conversation.kept import Kept, Stores
from quorra.agent.conversation.reply import Reply
from quorra.agent.conversation.turn import Turn, room
from quorra.agent.inspector import Inspector, Record
from quorra.agent.prompting import assembly, history
from quorra.agent.prompting.modes import Modes
from quorra.agent.prompting.prompt import Prompts
from quorra.inference.protocol import Chat, Message
from quorra.state.inbox import Item
from quorra.state.sessions import Entry, Session

LOOKED_UP = 2000
"""Characters of a message that are looked up or checked against; reading it for that costs the square of its length."""
RECENT = 160
"""Entries of a session that are looked at for its history."""


class Look(Protocol):
    """Answers by looking up first, for a model that can call no tools."""

    def __call__(
        self,
        question: str,
        *,
        window: Window,
        emit: Callable[[Event], None],
        cancelled: Callable[[], bool],
        witness: Witness | None,
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
    window: str | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a person answered to what a run waited for; ``words`` are what they said beside a plain yes or no."""

    item: Item
    agreed: bool
    words: str = ""


@dataclass(frozen=True, slots=True)
class Runner:
    """Makes turns of a home's model, prompts and tools."""

    stores: Stores
    rooms: Rooms
    model: Callable[[], Chat]
    look: Look
    window: Callable[[str, str | None], Window]
    prompts: Prompts
    registry: Registry
    confirmations: Confirmations
    inspector: Inspector
    max_tokens: int
    modes: Modes = field(default_factory=Modes)

    def strategy(self) -> str:
        """Names how a run is answered: with tools, or by looking up where the model can call none or is to quote."""
        can = self.model().abilities
        return "tools" if can.tools and can.style == "composition" else "look-up"

    def run(
        self,
        session: Session,
        run: str,
        entries: Sequence[Entry],
        speaker: Speaker,
        resolved: Resolution | None = None,
    ) -> Reply:
        """Takes a run on from its entries, with what was answered to what it waited for."""
        kept = Kept(self.stores, session, run, speaker.surface, speaker.now, speaker.principal.by)
        with self.stores.runs.hold(run), ExitStack() as broken:
            record = self.inspector.begin(session.principal, session.id, run, speaker.now)
            broken.callback(self._fell, kept, record, speaker, resolved)
            if self.strategy() == "look-up" and resolved is None:
                reply = self._looked(entries[0].text, kept, record, speaker)
            else:
                reply = self._talked(entries, kept, record, speaker, resolved)
            broken.pop_all()
        return reply

    def _fell(self, kept: Kept, record: Record, speaker: Speaker, resolved: Resolution | None) -> None:
        """Keeps what had been said when a run fell; what fell it is told by whoever catches it."""
        gone = speaker.cancelled()
        record.end("cancelled" if gone else "failed")
        if resolved is not None:
            self.confirmations.settle(resolved.item, done=False, result="broke off", now=kept.now)
        if gone:
            kept.broken("interrupted", "cancelled")
        else:
            kept.broken("failed", "failed")

    def _talked(
        self, entries: Sequence[Entry], kept: Kept, record: Record, speaker: Speaker, resolved: Resolution | None
    ) -> Reply:
        """Lets the loop go on from where the entries end."""
        caller = self.caller(kept.session, kept.run, speaker)
        for call, result in replay.answered(entries):
            caller.remember(call, result)
        waited = wish(resolved.item) if resolved else None
        behind = replay.behind(entries, waited.call) if waited else []
        unanswered = {call.id for call in behind} | ({waited.call} if waited else set())
        turn = Turn(
            self.model(), caller, kept, self.confirmations, record,
            self._messages(entries, caller.reach, kept, unanswered), self.max_tokens, speaker.emit, speaker.cancelled,
            able=self.strategy() == "tools", step=replay.steps(entries),
            hits={(hit.blob, hit.lines): hit for hit in replay.hits(entries, self.rooms.library.texts)},
        )  # fmt: skip
        if resolved is None or waited is None:
            return turn.run()
        if resolved.agreed:
            return turn.approve(resolved.item, waited, behind, resolved.words)
        return turn.refuse(waited, behind, resolved.words)

    def caller(self, session: Session, run: str, speaker: Speaker) -> Caller:
        """Gives what runs a session's calls for whoever speaks."""
        owner, text = speaker.principal.id, speaker.window
        reach = Reach(
            self.rooms, owner, self.window(owner, text), speaker.surface, session.id, run, speaker.now,
            narrowed=text is not None,
        )  # fmt: skip
        return Caller(self.registry, self.stores.audit, reach, session.scope or (), speaker.principal)

    def _messages(self, entries: Sequence[Entry], reach: Reach, kept: Kept, unanswered: set[str]) -> list[Message]:
        """Gives the prompt, what was said before the run, and the run itself as far as it has come."""
        session = kept.session
        system = assembly.assemble(self.prompts, session, self.modes, reach)
        kept.entered = system.entered
        told = [{"name": one.name, "blob": one.blob, "commit": one.commit} for one in system.prompts]
        tools = fingerprint(self.registry.for_scope(session.scope, AuthenticatedPrincipal(session.principal)))
        kept.trace("prompt", prompts=told, tools=tools, scope=session.scope, mode=session.mode)
        past = self.stores.sessions.before(session.id, entries[0].seq, RECENT)
        own = [message for message in history.of_run(replay.own(entries), past) if message.answers not in unanswered]
        past_room = min(history.ROOM, room(self.model(), self.max_tokens) // 3)
        return [Message("system", system.text), *history.messages(past, room=past_room), *own]

    def _looked(self, asked: str, kept: Kept, record: Record, speaker: Speaker) -> Reply:
        """Answers by looking up."""

        def emit(event: Event) -> None:
            if event.kind == "reasoning":
                record.reasoning(event.text)
            if event.kind == "token":
                kept.said[:] = [kept.text + event.text]
            speaker.emit(event)

        window = self.window(speaker.principal.id, speaker.window)
        told = [self.prompts.read(name) for name in ("ask/rules", "ask/question")]
        kept.trace("prompt", prompts=[{"name": one.name, "blob": one.blob, "commit": one.commit} for one in told])
        answer = self.look(asked[:LOOKED_UP], window=window, emit=emit, cancelled=speaker.cancelled, witness=record)
        cut = f"Only the first {LOOKED_UP} characters were looked up." if len(asked) > LOOKED_UP else ""
        reply = Reply(
            answer.outcome, answer.answer, answer.citations, answer.model, kept.session.id, kept.run,
            dict(answer.timings), answer.near, notices=(cut,) if cut else (),
        )  # fmt: skip
        record.reply(answer.answer)
        if speaker.cancelled():
            kept.broken("interrupted", "cancelled")
            record.end("cancelled")
            return replace(reply, interrupted=True)
        if answer.outcome == "model_away":
            kept.broken("failed", "failed")
            record.end("failed")
            return reply
        found = [{"blob": one.blob, "commit": one.commit, "lines": list(one.lines)} for one in answer.citations]
        kept.trace("retrieval", passages=found)
        kept.reply(reply)
        record.end("done")
        return reply
