"""One run of the loop: the model speaks and calls, tools answer, until it has replied, waits for a yes, or is ended."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from quorra import metrics
from quorra.access.confirmations import Confirmations, Wish
from quorra.agent.asking import carried
from quorra.agent.asking.answer import Event
from quorra.agent.calling.calls import REPEATS, Caller, Ran
from quorra.agent.calling.tool import Result
from quorra.agent.conversation.kept import Kept
from quorra.agent.conversation.reply import Outcome, Pending, Reply
from quorra.agent.inspector import Record
from quorra.agent.tools.told import quoted
from quorra.index.found import Hit
from quorra.inference.protocol import Call, Chat, Message, ModelAway
from quorra.state.inbox import Item

STEPS, AT_ONCE, HITS = 24, 8, 60
"""How often a model may call tools in one run, how many it may call at once, and passages that a reply is bound to."""
_TOO_MANY = f"Not run: {AT_ONCE} calls at once are the most. Make it again by itself if it is still needed."
_CHARACTERS = 3
"""Characters that one token stands for at least."""
_SHORT = 400
"""What is left of an older tool result where the model's context is full."""


@dataclass(slots=True)
class Turn:
    """A run at work. ``messages`` grow as the model and its tools speak; ``kept`` holds what of it is stored.

    ``able`` is off where the model of today can't go on with it; ``hits`` are the passages by blob and lines.
    """

    chat: Chat
    caller: Caller
    kept: Kept
    confirmations: Confirmations
    record: Record
    messages: list[Message]
    max_tokens: int
    emit: Callable[[Event], None]
    cancelled: Callable[[], bool]
    able: bool = True
    hits: dict[tuple[str, tuple[int, int]], Hit] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    step: int = 0
    _text: str = ""

    def run(self, waiting: Sequence[Call] = ()) -> Reply:
        """Goes on to the end, answering first the calls that wait from before; raises GenerationFailed."""
        try:
            stopped = self._answer(waiting)
            while stopped is None:
                if self.step >= STEPS:
                    return self._end("stopped", f"The model called tools {STEPS} times without a reply; it was ended.")
                stopped = self._step()
            return stopped
        except ModelAway as away:
            return self._away(away)

    def approve(self, item: Item, wish: Wish, waiting: Sequence[Call], words: str = "") -> Reply:
        """Does what was said yes to and goes on with the calls behind it; ``words`` were said beside the yes."""
        answered = self.caller.approved(wish)
        if isinstance(answered, Wish):
            self._settle(item, done=False, result="changed")
            return self._ask(answered)
        result = answered.result
        changed = f"The person said yes to other arguments: {json.dumps(wish.arguments)}" if wish.edited else ""
        with self.kept.stores.database.transaction():
            self._settle(item, done=result.ok, result=result.commit or ("" if result.ok else "failed"))
            self._take(wish.call, replace(answered, result=_besides(result, changed, words)))
        if result.commit:
            self.notices.append(f"Done: {wish.title} (commit {result.commit[:10]}).")
        return self.run(waiting)

    def _settle(self, item: Item, done: bool, result: str) -> None:
        self.confirmations.settle(item, done=done, result=result, now=self.kept.now)

    def refuse(self, wish: Wish, waiting: Sequence[Call], words: str = "") -> Reply:
        """Tells the model that the person said no, and goes on."""
        said = _besides(Result("The person said no. Don't do it, and don't ask again.", ok=False), "", words)
        self._take(wish.call, Ran(said, wish.tool, 2))
        return self.run(waiting)

    def _step(self) -> Reply | None:
        """Lets the model speak once and answers its calls; gives the reply where the run ends here."""
        if not self.able:
            return self._end("stopped", "The model of today can't go on with this conversation's tools.")
        calls = self._speak()
        if self.cancelled():
            return self._interrupted()
        if not calls:
            return self._end("answered" if self.kept.text.strip() else "empty")
        self.kept.calls(calls, self._text, self.step)
        self.messages.append(Message("assistant", self._text, calls=tuple(calls)))
        self.step += 1
        return self._answer(calls)

    def _speak(self) -> Sequence[Call]:
        """Streams what the model says; its text goes out at once, its reasoning on a channel of its own."""
        tools = self.caller.offers()
        self._fit(sum(len(json.dumps(tool.parameters)) + len(tool.description) for tool in tools))
        self.record.call(self.chat.payload(self.messages, tools=tools, max_tokens=self.max_tokens))
        self._text = ""
        start = perf_counter()
        running = self.chat.generate(self.messages, tools=tools, max_tokens=self.max_tokens, cancelled=self.cancelled)
        try:
            for delta in running:
                if delta.channel == "reasoning":
                    self.record.reasoning(delta.text)
                    self.emit(Event("reasoning", delta.text))
                    continue
                if not self._text and self.kept.said:
                    self.emit(Event("token", "\n\n"))
                self._text += delta.text
                self.emit(Event("token", delta.text))
        finally:
            running.close()
            self._spent("model", perf_counter() - start)
            if self._text.strip():
                self.kept.said.append(self._text)
        if running.usage and running.usage.finish == "length":
            self.notices.append("The reply was cut where it had become too long.")
            return ()
        return running.calls

    def _answer(self, calls: Sequence[Call]) -> Reply | None:
        """Answers calls in their order, up to the first that a person has to be asked about."""
        for at, call in enumerate(calls):
            if self.cancelled():
                return self._interrupted()
            self.emit(Event("status", f"using {call.name}" if self.caller.reaches(call.name) else "using a tool"))
            answered = self.caller.call(call) if at < AT_ONCE else Ran(Result(_TOO_MANY, ok=False))
            if isinstance(answered, Wish):
                return self._ask(answered)
            self._take(call.id, answered)
            if self.caller.repeats >= REPEATS:
                return self._end("stopped", "The model made the same call again and again; it was ended.")
        return None

    def _take(self, call: str, ran: Ran) -> None:
        """Hands a call's answer to the model and to what is kept."""
        self._spent("tools", ran.seconds)
        self.hits |= {(hit.blob, hit.lines): hit for hit in ran.result.hits[: max(HITS - len(self.hits), 0)]}
        self.record.tool(ran.tool, ran.result.text)
        self.record.passages(ran.result.hits)
        self.messages.append(Message("tool", ran.result.text, answers=call))
        told = self.kept.result(call, ran)
        self.notices += told
        metrics.count("tool_calls_total", tool=ran.tool or "unknown", ok=str(ran.result.ok).lower())

    def _ask(self, wish: Wish) -> Reply:
        """Puts a wish before the person; the run waits for as long as they like."""
        before = bool(self.kept.said)
        shown = self.kept.ask(wish, self.confirmations)
        self.emit(Event("token", ("\n\n" if before else "") + shown.question))
        self.record.end("paused")
        return self._reply("asked", waiting=shown)

    def _end(self, outcome: Outcome, why: str = "") -> Reply:
        """Ends the run with what was said, bound to the passages that carry it."""
        if why:
            self.notices.append(why)
        elif outcome == "empty":
            self.notices.append("The model gave no answer.")
        start = perf_counter()
        claims, citations = carried.bind(self.kept.text, list(self.hits.values()))
        self._spent("verify", perf_counter() - start)
        reply = self._reply(outcome, claims=claims, citations=citations)
        self.kept.reply(reply)
        self.record.reply(reply.answer)
        self.record.end("done")
        return reply

    def _interrupted(self) -> Reply:
        """Keeps what had been said when whoever asked went away."""
        self.kept.broken("interrupted", "cancelled")
        self.record.reply(self.kept.text)
        self.record.end("cancelled")
        return self._reply("answered" if self.kept.text else "empty", interrupted=True)

    def _away(self, away: ModelAway) -> Reply:
        self.kept.broken("failed", "failed")
        self.record.end("failed")
        return replace(self._reply("model_away"), answer=f"{away.message} {away.next}".strip())

    def _reply(self, outcome: Outcome, waiting: Pending | None = None, **more: Any) -> Reply:
        metrics.count("answers_total", outcome=outcome)
        return Reply(
            outcome=outcome,
            answer=self.kept.text,
            citations=more.pop("citations", ()),
            model=self.chat.name,
            session_id=self.kept.session.id,
            run_id=self.kept.run,
            timings=self.timings,
            pending_confirmation=waiting,
            notices=tuple(self.notices),
            **more,
        )

    def _spent(self, name: str, seconds: float) -> None:
        self.timings[name] = self.timings.get(name, 0.0) + seconds

    def _fit(self, taken: int) -> None:
        """Shortens older tool results, the oldest first, until the messages fit beside ``taken`` characters."""
        over = taken + sum(len(message.content) for message in self.messages) - room(self.chat, self.max_tokens)
        for at, message in enumerate(self.messages[:-1]):
            if over <= 0:
                return
            if message.role == "tool" and len(message.content) > _SHORT:
                short = f"{message.content[:_SHORT]}\n[shortened: the model's context is full]"
                over -= len(message.content) - len(short)
                self.messages[at] = Message("tool", short, answers=message.answers)


def room(chat: Chat, max_tokens: int) -> int:
    """Gives how many characters surely fit a model's context beside its reply."""
    return max((chat.abilities.context - max_tokens) * _CHARACTERS, 2000)


def _besides(result: Result, changed: str, words: str) -> Result:
    """Adds to a result what the person changed of the call, and what they said beside yes or no."""
    said = f"The person added: {quoted.inline(words, _SHORT)}" if words else ""
    return replace(result, text="\n\n".join(part for part in (changed, result.text, said) if part))
