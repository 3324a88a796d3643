"""What the service has for people afterwards, posted once into their direct rooms."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from quorra.settings import Matrix
from quorra.surfaces.matrix.service import Away, Service
from quorra.surfaces.matrix.speaking import wording
from quorra.surfaces.matrix.store import Store


@dataclass(frozen=True, slots=True)
class Notices:
    """The way from the outbox to the direct rooms."""

    settings: Matrix
    store: Store
    service: Service

    async def fetch(self, direct: Mapping[str, str], now: datetime) -> None:
        """Keeps what waits for each person to be posted, and says that it is; what can't be had now is left."""
        await asyncio.gather(*(self._fetch(person, room, now) for person, room in direct.items()))

    async def _fetch(self, person: str, room: str, now: datetime) -> None:
        with suppress(Away):
            got = await self.service.once(person, "GET", "/outbox")
            for notice in got.body["notices"] if got.good else ():
                ident, subject = notice["id"], notice["subject"]
                if not self.store.told(notice["run"], subject):
                    self.store.post(room, f"notice {ident}", wording.notice(subject), now)
                await self.service.once(person, "PUT", f"/outbox/{ident}", {"state": "sent"})
