"""What is asked of a home: barred to strangers, planned, then carried through the gate or parked in the inbox."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quorra.access import gate
from quorra.access.changes import documenting, merging, organizing, undoing, writing
from quorra.access.changes.documenting import Composed, Draft
from quorra.access.changes.pulling import Pull, Pulled
from quorra.access.planned import Planned, Written, told
from quorra.access.proposals import Kinds, Proposals
from quorra.ledger.change import Origin, Refused
from quorra.vault.library import Library
from quorra.vault.reorg.operation import Operation
from quorra.vault.reorg.reorganize import LinkGraph


class Changes:
    """The ways to change a home.

    What a stranger asks is refused before anything is looked at: what their links lead to is told to nobody.
    ``graph`` gives the links of all notes, ``inbox`` opens what waits for a yes.
    """

    def __init__(self, library: Library, graph: Callable[[], LinkGraph], inbox: Callable[[], Proposals]) -> None:
        self.library = library
        self.texts = library.texts
        self.ledger = library.texts.ledger
        self._graph = graph
        self._inbox = inbox

    def write(
        self, name: str, content: bytes, origin: Origin, *, expect: str | None = None, propose: bool = False
    ) -> Written:
        """Writes a note as it is given; ``expect`` is the blob it must still have on disk, empty for a new note."""
        if refused := gate.barred(origin.principal):
            return told(refused)
        if propose:
            return self._parked("note", writing.payload(self.library, name, content), origin)
        return self._carried(writing.plan(self.library, name, content, origin, expect), origin)

    def document(self, draft: Draft, origin: Origin, *, expect: str | None = None, propose: bool = False) -> Written:
        """Assembles a note and writes it; one that a tool, which the origin names, would overwrite is parked."""
        if refused := gate.barred(origin.principal):
            return told(refused)
        day = self.ledger.clock().date()
        made = documenting.make(self.library, draft, origin, day, expect=expect, propose=propose)
        if isinstance(made, Composed) and made.parked:
            return self._parked("note", documenting.payload(self.library, made), origin)
        return documenting.carry(self.library, made, origin)

    def organize(
        self, operations: Sequence[Operation], origin: Origin, *, propose: bool = False, dry: bool = False
    ) -> Written:
        """Reorganizes the vault; ``dry`` only says what would be done."""
        if refused := gate.barred(origin.principal):
            return told(refused)
        if propose and not dry:
            return self._parked("reorganize", {"operations": list(map(asdict, operations))}, origin)
        planned = organizing.plan(self.library, self._graph(), operations, origin)
        if dry and isinstance(planned, Planned):
            return Written("planned", issues=planned.issues, planned=planned)
        return self._carried(planned, origin)

    def undo(self, revision: str, origin: Origin) -> Written:
        """Takes a commit back; raises UnknownRevision."""
        if refused := gate.barred(origin.principal):
            return told(refused)
        return self._carried(undoing.plan(self.texts, revision, origin), origin)

    def pull(self, origin: Origin) -> Pulled:
        """Takes in what others committed at the remote; where both sides changed the same lines, theirs is parked."""
        if refused := gate.barred(origin.principal):
            return Pulled(told(refused))
        return Pull(self.texts, self._inbox(), origin.because("quorra remote pull"), self.ledger.clock()).run()

    def push(self, origin: Origin) -> Written:
        """Sends the branch to the remote, never by force."""
        if refused := gate.barred(origin.principal):
            return told(refused)
        target = self.ledger.remotes.chosen()
        if isinstance(target, Refused):
            return told(target)
        sent = self.ledger.remotes.push(target)
        if sent is None:
            return Written("applied", commit=self.ledger.head(), reason=f"{target} is up to date.")
        return told(sent)

    def _parked(self, kind: str, payload: Mapping[str, Any], origin: Origin) -> Written:
        return self._inbox().park(kind, payload, origin, self.ledger.clock())

    def _carried(self, planned: Planned | Written, origin: Origin) -> Written:
        return gate.carry(planned, origin.principal, self.texts)


def kinds(library: Library, graph: Callable[[], LinkGraph]) -> Kinds:
    """Gives what plans each kind of proposal on the files of the day."""

    def reorganized(kept: Mapping[str, Any], origin: Origin) -> Planned | Written:
        steps = [Operation(**step) for step in kept["operations"]]
        return organizing.plan(library, graph(), steps, origin)

    return {
        "note": lambda kept, origin: writing.again(library, kept, origin),
        "reorganize": reorganized,
        "merge": lambda kept, origin: merging.plan(library, kept, origin),
    }
