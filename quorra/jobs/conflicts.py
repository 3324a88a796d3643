"""Conflicted copies become merges that wait in the inbox, once for each text of each copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorra.access import hands
from quorra.access.changes import merging
from quorra.home import Home
from quorra.ledger.change import Origin, Snapshot
from quorra.state.inbox import Item
from quorra.vault.strays import Copy
from quorra.vault.texts import is_note

SURFACE = "watch"
AT_ONCE = 20
_KIND = "merge"
_DECIDED = ("draft_ready", "approved", "failed", "declined", "expired")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflicted copy of a file; ``proposal`` waits in the inbox to merge it, None where there is none to make."""

    path: str
    copy: str
    proposal: str | None


class Conflicts:
    """Remembers which conflicted copies of a home were told of."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._known: set[tuple[str, str]] = set()

    def fresh(self, copies: Mapping[str, Copy], snapshot: Snapshot) -> list[str]:
        """Gives the copies that were not told of yet as they are now."""
        return sorted(path for path in copies if self._key(path, snapshot) not in self._known)

    def meet(self, paths: Sequence[str], copies: Mapping[str, Copy], snapshot: Snapshot) -> tuple[Conflict, ...]:
        """Tells of some copies, each with the merge that waits for it; drops the merges of what is gone."""
        self._known &= {self._key(path, snapshot) for path in copies}
        box = self.home.proposals.box
        for item in box.waiting():
            if item.surface == SURFACE and item.kind == _KIND and not self._stands(item):
                self._drop(item)
        kept = [item for item in box.every() if item.kind == _KIND] if paths else []
        found = tuple(self._one(path, copies[path], kept) for path in paths)
        self._known |= {self._key(path, snapshot) for path in paths}
        return found

    def _key(self, path: str, snapshot: Snapshot) -> tuple[str, str]:
        return path, snapshot.dirty.get(path) or ""

    def _stands(self, item: Item) -> bool:
        copy, note = item.payload.get("copy"), item.payload["path"]
        return copy is None or all(self.home.texts.held(name) is not None for name in (copy, note))

    def _drop(self, item: Item) -> None:
        if self.home.proposals.box.move(item.id, "draft_ready", "cancelled", self.home.ledger.clock()):
            self.home.ledger.withdraw(item.id)

    def _based(self, payload: dict[str, Any], kept: Sequence[Item]) -> dict[str, Any]:
        """Takes the common version from a former merge of the same text, for a note that has moved since."""
        former = (item.payload for item in kept if item.payload["theirs"] == payload["theirs"] and item.payload["base"])
        moved = (each for each in former if self.home.texts.held(each["path"]) is None)
        return payload | {"base": next((each["base"] for each in moved), payload["base"])}

    def _one(self, path: str, copy: Copy, kept: Sequence[Item]) -> Conflict:
        """Parks the merge of a copy into its note, unless that was done for the same text before."""
        told = self.home.settings
        note, name = told.public(copy.of) or copy.of, told.public(path) or path
        now = self.home.texts.now(path)
        if now is None or not is_note(note):
            return Conflict(note, name, None)
        payload = self._based(merging.payload(self.home.texts, note, now[1], copy=name), kept)
        for item in (each for each in kept if each.payload.get("copy") == name):
            if item.payload["theirs"] == payload["theirs"] and item.state in _DECIDED:
                return Conflict(note, name, item.id if item.state == "draft_ready" else None)
            self._drop(item)
        hand = hands.whose(told, [path])[path]
        origin = Origin(hand.principal, SURFACE, f"Merge the conflicted copy that {copy.kind} left of {note}")
        parked = self.home.proposals.park(_KIND, payload, origin, self.home.ledger.clock())
        return Conflict(note, name, parked.proposal)
