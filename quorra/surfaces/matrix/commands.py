"""``!quorra …``: what the bot does itself, by the addresses of the session; the model never hears of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorra.surfaces.matrix.service import Got, Service
from quorra.surfaces.matrix.speaking import wording

HELP = (
    "!quorra purpose TEXT sets what this conversation is for, !quorra purpose shows it, !quorra forget clears it.\n"
    "!quorra mode NAME enters a mode, !quorra mode leaves it.\n"
    "!quorra status tells where this conversation stands."
)
_NONE_YET = "There is no conversation here yet: it begins with your first message."
_KNOWN = frozenset({"purpose", "forget", "status", "mode"})


@dataclass(frozen=True, slots=True)
class Console:
    """Does commands for one person in one session."""

    service: Service
    person: str
    session: str | None

    async def do(self, words: Sequence[str]) -> str:
        """Does a command and gives the sentence that answers it; raises Away."""
        name, rest = (words[0].lower(), " ".join(words[1:])) if words else ("help", "")
        if name not in _KNOWN:
            return HELP
        if self.session is None:
            return _NONE_YET
        if name == "status":
            return _status(await self._ask("GET", ""))
        return await self._change(name, rest)

    async def _change(self, name: str, rest: str) -> str:
        match name, bool(rest):
            case "purpose", True:
                return _said(await self._ask("PUT", "/purpose", {"purpose": rest}), "The purpose is set.")
            case "purpose", False:
                return _purpose(await self._ask("GET", "/purpose"))
            case "mode", True:
                return _said(await self._ask("PUT", "/mode", {"mode": rest}), f"The mode is {rest} now.")
            case "mode", False:
                return _said(await self._ask("DELETE", "/mode"), "No mode is active now.")
        return _said(await self._ask("DELETE", "/purpose"), "The purpose is forgotten.")

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Got:
        return await self.service.call(self.person, method, f"/sessions/{self.session}{path}", body)


def _said(got: Got, done: str) -> str:
    return done if got.good else _failed(got)


def _purpose(got: Got) -> str:
    if not got.good:
        return _failed(got)
    purpose = got.body.get("purpose")
    return f"The purpose is: {purpose}" if purpose else "No purpose is set."


def _status(got: Got) -> str:
    if not got.good:
        return _failed(got)
    session = got.body
    scope = ", ".join(session["scope"] or ()) or "none yet"
    mode, purpose = session["mode"] or "none", session["purpose"] or "none"
    return f"Scope: {scope}. Mode: {mode}. Purpose: {purpose}. Conversation {session['id']}."


def _failed(got: Got) -> str:
    return _NONE_YET if got.code == "no_session" else wording.failed(got)
