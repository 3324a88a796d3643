"""One call of a model: read, checked, run or put before a person; what can't be run tells the model what to change."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import msgspec

from quorra.access.confirmations import Wish
from quorra.access.principals import Principal, by
from quorra.agent.calling.registry import Registry
from quorra.agent.calling.tool import Arguments, Draft, Reach, Result, Tool, Unreadable
from quorra.errors import QuorraError
from quorra.inference import protocol
from quorra.inference.protocol import Call
from quorra.state.audit import Audit

REPEATS = 3
"""How often an unchanged call may come back before the run is ended."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A call that was answered; ``tool`` is empty where there is no such tool, ``again`` where it was not run anew.

    ``changed`` names the arguments in which it differs from the failed call before it.
    """

    result: Result
    tool: str = ""
    tier: int = 0
    seconds: float = 0.0
    again: bool = False
    changed: tuple[str, ...] | None = None


@dataclass(slots=True)
class Caller:
    """Runs the calls of one run, within what its session and principal reach."""

    registry: Registry
    audit: Audit
    reach: Reach
    scope: tuple[str, ...]
    principal: Principal
    repeats: int = 0
    _done: dict[str, Result] = field(default_factory=dict)
    _failed: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def tools(self) -> tuple[Tool, ...]:
        """Gives what can be reached."""
        return self.registry.for_scope(self.scope, self.principal)

    def offers(self) -> list[protocol.Tool]:
        """Gives what the model is told of: what can be reached and is of use now."""
        return [tool.offer() for tool in self.tools() if tool.useful(self.reach)]

    def reaches(self, name: str) -> bool:
        """Tells whether there is a tool of this name here."""
        return self._tool(name) is not None

    def remember(self, call: Call, result: Result) -> None:
        """Takes note of a call that was answered before this process took the run on."""
        tool = self._tool(call.name)
        if tool:
            try:
                given = tool.read(call.arguments)
            except Unreadable:
                return
            self._note(tool, given, result)

    def call(self, call: Call) -> Ran | Wish:
        """Answers a call, or gives what a person has to be asked first."""
        tool = self._tool(call.name)
        if tool is None:
            return Ran(Result(self._unknown(call.name), ok=False))
        try:
            given = tool.read(call.arguments)
        except Unreadable as error:
            return self._repeated(tool, call.arguments) or self._kept(
                tool, call.arguments, Result(str(error), ok=False)
            )
        before = self._repeated(tool, given)
        if before:
            return before
        if tool.draft:
            return self._wish(tool, call, given)
        return self._run(tool, given)

    def approved(self, wish: Wish) -> Ran | Wish:
        """Runs what a person said yes to; where it would do something else by now, gives what to ask instead."""
        tool = self._tool(wish.tool)
        if tool is None:
            return Ran(Result(self._unknown(wish.tool), ok=False))
        try:
            given = tool.take(dict(wish.arguments))
        except Unreadable as error:
            return Ran(Result(str(error), ok=False), tool.name, tool.tier)
        now = self._wish(tool, Call(wish.call, wish.tool, ""), given)
        if isinstance(now, Ran):
            self._record(tool, "failed", "", ok=False)
            return now
        return self._run(tool, given) if now.digest == wish.digest else replace(now, edited=wish.edited)

    def edited(self, wish: Wish, arguments: Mapping[str, Any]) -> Wish:
        """Gives a wish with other arguments; raises Unreadable, and Unfit where they could not be carried out."""
        tool = self._tool(wish.tool)
        if tool is None:
            raise Unfit(self._unknown(wish.tool))
        now = self._wish(tool, Call(wish.call, wish.tool, ""), tool.take(dict(arguments)))
        if isinstance(now, Ran):
            raise Unfit(now.result.text)
        return replace(now, edited=True)

    def _tool(self, name: str) -> Tool | None:
        return self.registry.get_for_scope(name, self.scope, self.principal)

    def _unknown(self, name: str) -> str:
        there = ", ".join(tool.name for tool in self.tools())
        return f"There is no tool {name[:64]!r}. " + (f"The tools are: {there}." if there else "There are no tools.")

    def _wish(self, tool: Tool, call: Call, given: Arguments) -> Ran | Wish:
        assert tool.draft is not None
        try:
            draft: Draft | Result = tool.draft(self.reach, given)
        except QuorraError as error:
            draft = _told(error)
        if isinstance(draft, Result):
            return self._kept(tool, given, draft)
        return Wish(call.id, tool.name, plain(given), draft.title, draft.text, draft.mark)

    def _run(self, tool: Tool, given: Arguments) -> Ran:
        """Runs a tool; what writes or asks is in the audit before it happens and after."""
        start = perf_counter()
        result = Result("It broke off.", ok=False)
        if tool.tier:
            self._record(tool, "call", json.dumps(plain(given), ensure_ascii=False), None)
        try:
            result = tool.run(self.reach, given)
        except QuorraError as error:
            result = _told(error)
        finally:
            if tool.tier:
                self._record(tool, "done" if result.ok else "failed", "\n".join(result.targets), result.ok)
        ran = self._kept(tool, given, result)
        return Ran(result, tool.name, tool.tier, perf_counter() - start, changed=ran.changed)

    def _record(self, tool: Tool, action: str, target: str, ok: bool | None) -> None:
        reach = self.reach
        self.audit.record(
            reach.now, principal=reach.principal, action=action, tool=tool.name, tier=tool.tier,
            session=reach.session, run=reach.run, target=target, ok=ok, by=by(self.principal),
        )  # fmt: skip

    def _repeated(self, tool: Tool, given: Arguments | str) -> Ran | None:
        """Answers a call that was made before, just so: running it again would tell nothing new."""
        before = self._done.get(_key(tool, given))
        if before is None:
            return None
        self.repeats += 1
        said = "failed" if not before.ok else "was answered"
        text = f"This very call {said} before, so it was not run again. Change its arguments, or answer without it."
        return Ran(Result(f"{text}\n\n{before.text}", before.ok), tool.name, tool.tier, again=True)

    def _kept(self, tool: Tool, given: Arguments | str, result: Result) -> Ran:
        changed = self._note(tool, given, result)
        return Ran(result, tool.name, tool.tier, changed=changed)

    def _note(self, tool: Tool, given: Arguments | str, result: Result) -> tuple[str, ...] | None:
        """Remembers an answer, forgetting older ones where the home was changed; tells what a retry changed."""
        if tool.writes and result.ok:
            self._done.clear()
        self._done[_key(tool, given)] = result
        now = {"": given} if isinstance(given, str) else plain(given)
        before = self._failed.pop(tool.name, None)
        if not result.ok:
            self._failed[tool.name] = now
        if before is None:
            return None
        return tuple(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))


class Unfit(QuorraError):
    """Arguments that a person edited can't be carried out."""

    code = "bad_input"

    def __init__(self, why: str) -> None:
        super().__init__(why, "Change the arguments and try again.")


def plain(given: Arguments) -> dict[str, Any]:
    """Gives arguments as JSON values."""
    made: dict[str, Any] = msgspec.to_builtins(given)
    return made


def fingerprint(tools: Iterable[Tool]) -> str:
    """Identifies the tools that a model is offered."""
    told = json.dumps([[tool.name, tool.tier, tool.offer().parameters] for tool in tools], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _key(tool: Tool, given: Arguments | str) -> str:
    told = given if isinstance(given, str) else json.dumps(plain(given), sort_keys=True)
    return f"{tool.name} {told}"


def _told(error: QuorraError) -> Result:
    return Result(" ".join(part for part in (error.message, error.next) if part), ok=False)
