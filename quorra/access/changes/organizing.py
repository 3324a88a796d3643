"""Reorganizing the vault: operations become one change that takes every link along."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorra.access.planned import Planned, Written, told
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused
from quorra.vault.library import Library
from quorra.vault.reorg.moves import expand
from quorra.vault.reorg.operation import Operation
from quorra.vault.reorg.reorganize import Dangles, LinkGraph, Reorganized, reorganize

_SAID = {
    "create_folder": "Make",
    "move": "Move",
    "rename": "Rename",
    "promote_to_folder": "Promote",
    "delete": "Remove",
}


def plan(library: Library, graph: LinkGraph, operations: Sequence[Operation], origin: Origin) -> Planned | Written:
    """Plans operations on the vault as it lies on disk now, simulated before anything is written."""
    moves = expand(operations, [path for path in graph.files if not path.startswith("/")], library.texts.lies)
    if isinstance(moves, Refused):
        return told(moves)
    there = _Disk(library)
    done = reorganize(moves, graph, there.content)
    if isinstance(done, Refused):
        return replace(told(done), dangling=(done.before, done.after) if isinstance(done, Dangles) else None)
    dangling = (done.dangling_before, done.dangling_after)
    missing = [path for path in (*moves.to, *moves.gone) if there.blob(path) is None]
    if missing:
        return told(Refused("path", f"{missing[0]} is not a regular file.", missing[0]))
    subject = origin.reason or _subject(operations)
    inside = library.texts.settings.inside
    if not (moves.to or moves.gone or moves.emptied or library.texts.ledger.missing(map(inside, moves.folders))):
        reason = "Everything is as it would be already; nothing was changed."
        return replace(told(Refused("nothing", reason, None, "There is nothing left to do.")), dangling=dangling)
    change = ChangeSet(
        tuple(_edits(done, there)),
        subject,
        origin.because(subject),
        tuple(map(inside, moves.folders)),
        tuple(map(inside, moves.emptied)),
    )
    return Planned(change, (), tuple(sorted(moves.to.items())), done.rewritten, dangling)


class _Disk:
    """Files as they are on disk while one plan is made, each read once."""

    def __init__(self, library: Library) -> None:
        self.texts = library.texts
        self._read: dict[str, tuple[str, bytes] | None] = {}

    def content(self, name: str) -> bytes:
        found = self._look(name)
        return found[1] if found else b""

    def blob(self, name: str) -> str | None:
        found = self._look(name)
        return found[0] if found else None

    def _look(self, name: str) -> tuple[str, bytes] | None:
        if name not in self._read:
            self._read[name] = self.texts.held(name)
        return self._read[name]


def _edits(done: Reorganized, there: _Disk) -> list[Edit]:
    """Gives one edit for each path that holds something else afterwards."""
    after: dict[str, bytes | None] = dict.fromkeys((*done.moves.to, *done.moves.gone))
    after |= {new: there.content(old) for old, new in done.moves.to.items()}
    after |= done.texts
    known = _expected(done, there, after)
    inside = there.texts.settings.inside
    return [Edit(inside(path), content, known[path]) for path, content in sorted(after.items())]


def _expected(done: Reorganized, there: _Disk, after: Mapping[str, bytes | None]) -> dict[str, str | None]:
    """Gives the blob that each path holds now; a path that something only comes to holds none."""
    leaves = {*done.moves.to, *done.moves.gone}
    comes = set(done.moves.to.values()) - leaves
    return {path: None if path in comes else there.blob(path) for path in after}


def _subject(operations: Sequence[Operation]) -> str:
    if len(operations) > 1:
        return f"Reorganize the vault in {len(operations)} steps"
    step = operations[0]
    return f"{_SAID[step.op]} {step.src}{f' to {step.dst}' if step.dst else ''}"
