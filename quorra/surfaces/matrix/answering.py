"""Answering one event: what the rules decide is done with the service, and comes back as messages to post."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from quorra.settings import Matrix
from quorra.surfaces.matrix.commands import Console
from quorra.surfaces.matrix.hearing.rules import Command, Confirm, Decision, Forward, Ignore, Say
from quorra.surfaces.matrix.service import Away, Got, Service
from quorra.surfaces.matrix.speaking import wording
from quorra.surfaces.matrix.store import Posted, Store, Waiting

_DAILY = timedelta(days=1)
_BREATH = timedelta(seconds=20)
"""How far apart refusals in one room are at least."""


def resolve_scope(room: str, settings: Matrix) -> tuple[str, ...]:
    """Gives the scope of a room's conversations; a direct room and one that is not named have the general one."""
    return settings.rooms.get(room, ("general",))


ALONE = "That was asked while only you listened. Ask for it again here, or answer it on Quorra's page."


@dataclass(frozen=True, slots=True)
class Answering:
    """Gets answers from the service."""

    settings: Matrix
    store: Store
    service: Service

    async def answer(self, event: Waiting, decision: Decision, now: datetime) -> Posted:
        """Does what was decided about an event; nothing is posted here, so that a repeat comes to the same."""
        try:
            match decision:
                case Ignore():
                    return Posted()
                case Say(sentence, once):
                    return self._sentence(event, sentence if self._due(event.room, once, now) else "")
                case Command(person, words):
                    session = self.store.session(event.room, _holder(decision))
                    return self._sentence(event, await Console(self.service, person, session).do(words))
                case Confirm():
                    return await self._confirmed(event, decision)
                case Forward():
                    return await self._forwarded(event, decision)
        except Away as away:
            return self._sentence(event, f"{away.message} {away.next}")

    async def _forwarded(self, event: Waiting, said: Forward) -> Posted:
        session = self.store.session(event.room, _holder(said))
        got = await self._chat(event, said, session)
        if got.code == "no_session" and session is not None:
            got = await self._chat(event, said, None)
        return self._replied(event, said, got)

    async def _chat(self, event: Waiting, said: Forward, session: str | None) -> Got:
        body: dict[str, Any] = {"message": said.text, "message_id": event.event, **_open(said)}
        if session is None:
            body |= {"scope": list(resolve_scope(event.room, self.settings)), "origin": "matrix"}
        else:
            body["session_id"] = session
        return await self.service.call(said.person, "POST", "/chat", body)

    async def _confirmed(self, event: Waiting, said: Confirm) -> Posted:
        asked = said.asked
        if said.heard and asked.session != self.store.session(event.room, _holder(said)):
            return self._sentence(event, ALONE)
        body = {
            "message": "yes" if said.agreed else "no", "message_id": event.event, "session_id": asked.session,
            "confirmation_id": asked.id, "digest": asked.digest, **_open(said),
        }  # fmt: skip
        got = await self.service.call(said.person, "POST", "/chat", body)
        if got.code == "stale":
            return await self._shown_again(event, said, got)
        if got.good or got.code in ("decided", "no_confirmation", "no_session"):
            self.store.settle(asked.id)
        return self._replied(event, said, got)

    async def _shown_again(self, event: Waiting, said: Confirm, got: Got) -> Posted:
        """Shows what waits as it is now, where it was changed since it was shown here."""
        waiting = await self.service.call(said.person, "GET", "/confirmations")
        for pending in waiting.body.get("confirmations") or ():
            if pending.get("id") == said.asked.id:
                body = {"answer": got.sentence, "pending_confirmation": pending}
                asked = wording.asked(body, said.person, said.asked.session)
                return Posted(wording.replied(wording.told(body), event.source), _holder(said), asked=asked)
        self.store.settle(said.asked.id)
        return self._sentence(event, wording.failed(got))

    def _replied(self, event: Waiting, said: Forward | Confirm, got: Got) -> Posted:
        if not got.good:
            return self._sentence(event, wording.failed(got))
        body = got.body
        session = str(body.get("session_id") or "")
        return Posted(
            wording.replied(wording.told(body), event.source),
            _holder(said),
            session,
            wording.asked(body, said.person, session),
            str(body.get("run_id") or ""),
            tuple(map(str, body.get("notices") or ())),
        )

    def _sentence(self, event: Waiting, text: str) -> Posted:
        return Posted(wording.replied(text, event.source) if text else ())

    def _due(self, room: str, once: str, now: datetime) -> bool:
        if not once:
            return True
        if once.startswith("refusal") and not self.store.due(room, "refusal", _BREATH, now):
            return False
        return self.store.due(room, once, _DAILY, now)


def failed(event: Mapping[str, Any]) -> Posted:
    """Gives the answer to an event that a fault of ours left without one."""
    return Posted(wording.replied("Something went wrong here, and the fault is mine. Please ask again.", event))


def _holder(said: Forward | Confirm | Command) -> str:
    """Names whose session it is; a room that others came to goes on with nothing of what was said alone."""
    return f"{said.person} heard" if said.heard else said.person


def _open(said: Forward | Confirm) -> dict[str, str]:
    """Narrows what is open to the household where others hear the reply."""
    return {"window": "household"} if said.heard else {}
