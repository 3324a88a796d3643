"""What the service has for people afterwards, posted once into their direct rooms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorra.settings import Matrix
from quorra.surfaces.matrix.service import Service
from quorra.surfaces.matrix.speaking import wording
from quorra.surfaces.matrix.store import Store


@dataclass(frozen=True, slots=True)
class Notices:
    """The way from the outbox to the direct rooms."""

    settings: Matrix
    store: Store
    service: Service

    async def fetch(self, direct: Mapping[str, str]) -> None:
        """Keeps what waits for each person to be posted, and says that it is; raises Away."""
        for person, room in direct.items():
            got = await self.service.call(person, "GET", "/outbox")
            for notice in _waiting(got.body) if got.good else ():
                ident, subject = str(notice.get("id")), str(notice.get("subject", ""))
                if subject and not self.store.told(str(notice.get("run", "")), subject):
                    self.store.post(room, f"notice {ident}", wording.notice(subject))
                await self.service.call(person, "PUT", f"/outbox/{ident}", {"state": "sent"})


def _waiting(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = body.get("notices", body.get("items", []))
    return [notice for notice in found if isinstance(notice, Mapping) and notice.get("state", "queued") == "queued"]
