"""Files as they are on disk, by path and blob id, named as people name them."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from quorra.ledger.change import Snapshot
from quorra.ledger.history import UnknownRevision
from quorra.ledger.ledger import Ledger
from quorra.ledger.snapshot import hidden
from quorra.settings import FACTS, Settings
from quorra.vault import strays
from quorra.vault.links import Names, fold
from quorra.vault.strays import Copy

ENDING = ".md"
_LINES = re.compile(r":\d+(?:-\d+)?$")
OWNED = ("members", "workspaces")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands: its blob, and the commit that holds it (None while none does)."""

    path: str
    blob: str
    commit: str | None


class Texts:
    """Reads a home's files; paths count from the repository's root, names from the vault's."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self.ledger = ledger
        self.settings = settings
        self._copies: tuple[str | None, frozenset[str]] = None, frozenset()

    def standing(self) -> Snapshot:
        """Gives the head commit and every file that differs from it on disk."""
        return self.ledger.snapshot()

    def snapshot(self) -> Snapshot:
        """Gives what stands, without files in passing; and to a reader, a conflicted copy is not there."""
        found = self.standing()
        dirty = {path: blob for path, blob in found.dirty.items() if not strays.passing(path)}
        return Snapshot(found.head, {**dirty, **dict.fromkeys(self.copies(found))})

    def copies(self, found: Snapshot) -> dict[str, Copy]:
        """Finds the conflicted copies of files that stand, tracked or not, by their paths."""
        named = {path for path in {*self._tracked(found.head), *found.dirty} if strays.copy(path)}
        there = (path for path in named if not strays.passing(path) and self._stands(path, found))
        return strays.copies(there, lambda path: self._stands(path, found))

    def _tracked(self, head: str | None) -> frozenset[str]:
        """Gives the paths of a commit that are named as conflicted copies are."""
        known, found = self._copies
        if head == known or head is None:
            return found if head else frozenset()
        changed = self.changes(known, head) if known else None
        if changed is None:
            found = frozenset(filter(strays.copy, self.ledger.paths(head, strays.WORD)))
        else:
            named = {path: blob for path, blob in changed.items() if strays.copy(path)}
            found = (found - named.keys()) | {path for path, blob in named.items() if blob}
        self._copies = head, found
        return found

    def _stands(self, path: str, found: Snapshot) -> bool:
        if path in found.dirty:
            return found.dirty[path] is not None
        return found.head is not None and self.ledger.at(found.head, path) is not None

    def tree(self, commit: str) -> Mapping[str, str]:
        """Maps every path of a commit to its blob id."""
        return self.ledger.tree(commit)

    def changes(self, old: str, new: str) -> Mapping[str, str | None] | None:
        """Maps each path that differs to its new blob id, None where it is gone; None if ``old`` is unknown."""
        try:
            return self.ledger.changes(old, new)
        except UnknownRevision:
            return None

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Reads committed blobs, each with its id."""
        return self.ledger.blobs(ids)

    def now(self, path: str) -> tuple[str, bytes] | None:
        """Reads a file as it is now, with the blob id of just these bytes; None where there is none."""
        content = self.ledger.on_disk(path)
        return None if content is None else (self.ledger.id_of(content), content)

    def held(self, name: str) -> tuple[str, bytes] | None:
        """Reads a file as it is now by its public name, as ``now`` does by its path."""
        return self.now(self.settings.inside(name))

    def behind(self, old: str | None, new: str | None) -> int:
        """Counts the commits that lead from ``old`` to ``new``."""
        return self.ledger.behind(old, new)

    def public(self, path: str) -> str | None:
        """Names a note as people see it; None for what is not searched."""
        name = self.settings.public(path)
        return name if name and is_note(name) and not hidden(path) else None

    def places(self) -> dict[str, Place]:
        """Maps the name of every file of vault and facts, attachments too, to where its text stands."""
        snapshot = self.standing()
        tree = self.tree(snapshot.head) if snapshot.head else {}
        found = {path: Place(path, blob, snapshot.head) for path, blob in tree.items() if path not in snapshot.dirty}
        found |= {path: Place(path, blob, None) for path, blob in snapshot.dirty.items() if blob is not None}
        kept = ((path, place) for path, place in found.items() if not hidden(path) and not strays.passing(path))
        named = ((self.settings.public(path), place) for path, place in kept)
        return {name: place for name, place in named if name}

    def owned(self) -> Iterator[str]:
        """Names the folders and pages on disk that belong to one member or workspace."""
        for root in (self.settings.home / self.settings.vault_root, self.settings.home / FACTS):
            tops = [top.name for top in root.glob("*") if fold(top.name) in OWNED]
            for top in tops:
                for entry in (root / top).glob("[!.]*"):
                    if entry.is_dir() or fold(entry.suffix) == ENDING:
                        yield f"{top}/{entry.name}{'/' if entry.is_dir() else ''}"

    def counted(self, name: str) -> str | None:
        """Gives a name as it counts from the vault, where it counts from the home; None where it does not."""
        root = self.settings.vault_root
        if not root or not name.startswith(f"{root}/") or self.lies(root) is not None:
            return None
        return name.removeprefix(f"{root}/")

    def lies(self, folder: str) -> list[str] | None:
        """Names what lies in a folder of the vault on disk, hidden or not; None where there is no such folder."""
        place = f"{self.settings.home}/{self.settings.inside(folder)}"
        if not plain(folder) or hidden(folder) or os.path.islink(place) or not os.path.isdir(place):
            return None
        return os.listdir(place)

    def read(self, place: Place) -> bytes:
        """Reads the text of a place: from git where it is committed, else from disk."""
        if place.commit:
            return self.ledger.blob(place.blob)
        now = self.now(place.path)
        return now[1] if now else b""


def is_note(path: str) -> bool:
    """Tells a note from an attachment."""
    return path.endswith(ENDING) and not strays.passing(path)


def notes(there: Collection[str]) -> list[str]:
    """Gives the notes among all the files there are: neither attachments nor conflicted copies."""
    copies = strays.copies(there, there.__contains__)
    return sorted(path for path in there if is_note(path) and path not in copies)


def complete(name: str) -> str:
    """Gives a note's name with its ending, which may be left out."""
    return name if name.endswith(ENDING) else name + ENDING


def plain(name: str) -> bool:
    """Tells whether a name goes straight down from the vault, or with a leading slash from the home."""
    return not {"", ".", ".."} & set(name.removeprefix("/").split("/"))


def named(name: str, there: Collection[str]) -> str | None:
    """Gives the file that a name means: its path, with or without ending or first slash, or a tail that only it has.

    Lines behind a colon, as a citation gives them, are passed over.
    """
    for path in dict.fromkeys((name, _LINES.sub("", name))):
        exact = (path, path + ENDING, f"/{path}", f"/{path}{ENDING}")
        found = next((each for each in exact if each in there), None)
        if found:
            return found
        tails = Names(there).tails(path)
        if len(tails) == 1:
            return tails[0]
    return None
