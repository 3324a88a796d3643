"""The bot: it syncs, keeps what comes, and answers room by room, each room's messages in their order."""

import asyncio
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import nio

from quorra import metrics
from quorra.settings import Matrix
from quorra.surfaces.matrix import answering, client
from quorra.surfaces.matrix.answering import Answering
from quorra.surfaces.matrix.client import Secrets, SignedOut
from quorra.surfaces.matrix.hearing import intake, rules
from quorra.surfaces.matrix.hearing.rules import Confirm, Forward, Room
from quorra.surfaces.matrix.service import Service
from quorra.surfaces.matrix.speaking import sending, wording
from quorra.surfaces.matrix.speaking.notices import Notices
from quorra.surfaces.matrix.speaking.sending import Unsent
from quorra.surfaces.matrix.store import Outgoing, Store, Waiting

LOCKED = "I can't read a message here: its key has not reached me. I answer when it comes; else please send it again."
UNSENT = "An answer of mine could not be sent here."
_WAIT = 30_000
_PAUSE = 2.0
_RARELY = timedelta(hours=1)
_DAILY = timedelta(days=1)
_KEPT = timedelta(days=60)


class Bot:
    """One bot on its homeserver.

    ``every`` is in seconds, for what is looked after besides syncing; ``grace`` is what a late key is given.
    """

    def __init__(
        self,
        settings: Matrix,
        folder: Path,
        secrets: Secrets,
        *,
        clock: Callable[[], datetime],
        say: Callable[[str], None] = lambda _: None,
        every: float = 10.0,
        grace: timedelta = timedelta(seconds=10),
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._clock = clock
        self._say = say
        self._every = every
        self._grace = grace
        self._store = Store(folder)
        self._client = client.make(settings, folder)
        self._service = Service(settings.service, secrets.service, settings.patience)
        self._answering = Answering(settings, self._store, self._service)
        self._notices = Notices(settings, self._store, self._service)
        self._places = asyncio.Semaphore(settings.parallel)
        self._rooms: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Runs until it is cancelled; raises SignedOut."""
        tending = None
        try:
            await client.sign_in(self._client, self._store, self._secrets)
            await self._sync(whole=True)
            intake.unlock(self._client, self._store)
            self._say(f"{self._settings.user} is there, in {len(self._client.rooms)} rooms.")
            tending = asyncio.create_task(self._tend())
            while True:
                await self._sync()
        finally:
            tasks = [task for task in (tending, *self._rooms.values()) if task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._client.close()
            await self._service.close()
            self._store.close()

    async def _sync(self, *, whole: bool = False) -> None:
        """Takes in what is new, however often it has to be tried; raises SignedOut."""
        while True:
            try:
                since = self._store.kept("token")
                found = await client.step(self._client, since, wait=0 if whole else _WAIT, whole=whole)
                if isinstance(found, nio.SyncResponse):
                    await intake.take(self._client, self._store, found, since, self._settings.people, self._clock())
                    self._wake()
                    return
                if found.status_code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
                    self._store.keep(access="")
                    await client.sign_in(self._client, self._store, self._secrets)
                    continue
            except SignedOut:
                raise
            except Exception as error:  # noqa: BLE001 - the bot lives on; what came is asked for again
                self._fault(error)
            await asyncio.sleep(_PAUSE)

    def _wake(self) -> None:
        for room in self._store.busy():
            if room not in self._rooms and room in self._client.rooms:
                self._rooms[room] = asyncio.create_task(self._serve(room))

    async def _serve(self, room: str) -> None:
        """Answers what waits in a room and sends it, one after the other."""
        try:
            while room in self._client.rooms and room in self._store.busy():
                await self._flush(room)
                for event in self._store.waiting(room)[:1]:
                    async with self._places:
                        await self._answer(event)
        except Exception as error:  # noqa: BLE001 - the other rooms go on; this one is tried again
            self._fault(error)
        finally:
            del self._rooms[room]

    async def _answer(self, event: Waiting) -> None:
        try:
            decision = rules.decide(event.source, self._seen(event.room), self._clock())
            if event.source["type"] == "m.room.message" and not isinstance(decision, Confirm):
                self._store.aside(event.room)
            slow = isinstance(decision, Forward | Confirm)
            async with sending.typing(self._client, event.room) if slow else nullcontext():
                posted = await self._answering.answer(event, decision, self._clock())
        except Exception as error:  # noqa: BLE001 - a person gets a sentence, never silence
            self._fault(error)
            posted = answering.failed(event.source)
        self._store.answer(event, posted, self._clock())

    async def _flush(self, room: str) -> None:
        for out in self._store.outgoing(room):
            match await sending.send(self._client, room, out.txn, out.content):
                case Unsent(kind):
                    self._unsent(out, kind)
                case event:
                    self._store.sent(out.txn, event)

    def _unsent(self, out: Outgoing, kind: str) -> None:
        """Goes on without a message that could not be sent; its room is told, unless it takes not even that."""
        now = self._clock()
        metrics.count("matrix_unsent_total", kind=kind)
        self._say(f"A message could not be sent: {kind}.")
        self._store.sent(out.txn, "refused")
        if out.room in self._client.rooms and self._store.due(out.room, "unsent", _RARELY, now):
            self._store.post(out.room, f"unsent {out.txn}", wording.notice(UNSENT), now)

    def _seen(self, room: str) -> Room:
        """Gives what is known of a room now."""
        found, me = self._client.rooms[room], self._client.user_id
        names = {ident: user.display_name or "" for ident, user in found.users.items() if not user.invited}
        name = names.get(me) or me[1:].partition(":")[0]
        return Room(me, name, len(names) == 2, names, self._settings.people, self._store.asked(room))

    async def _tend(self) -> None:
        """Looks after what no sync brings: rooms to be tried again, what can't be read, what is old, the outbox."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self._late()
                self._prune()
                self._wake()
                await self._notices.fetch(self._direct(), self._clock())
                self._wake()
            except Exception as error:  # noqa: BLE001 - tried again next time
                self._fault(error)

    def _late(self) -> None:
        """Says so where messages could not be read for a while: once for all of a room that nothing was said of."""
        now = self._clock()
        for room, events in self._store.unread(now - self._grace).items():
            if self._store.due(room, "locked", _RARELY, now):
                self._store.tell_unread(room, events, wording.notice(LOCKED), now)

    def _prune(self) -> None:
        now = self._clock()
        if self._store.due("", "pruned", _DAILY, now):
            self._store.prune(now - _KEPT)

    def _direct(self) -> Mapping[str, str]:
        """Gives a direct room of each person who has one."""
        people, found = self._settings.people, dict[str, str]()
        for ident, room in self._client.rooms.items():
            there = {user for user, member in room.users.items() if not member.invited}
            others = list(there - {self._client.user_id})
            if len(others) == 1 and others[0] in people:
                found.setdefault(people[others[0]], ident)
        return found

    def _fault(self, error: Exception) -> None:
        """Tells of a fault by its kind and place; its message may hold private text."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        self._say(f"A fault: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}.")
