"""Turns operations into one map of where each file goes."""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quorra.ledger.change import Refused
from quorra.ledger.snapshot import hidden
from quorra.vault import strays
from quorra.vault.links import fold
from quorra.vault.reorg.operation import Operation
from quorra.vault.texts import complete, is_note

OPENING = "overview.md"
# What links are made of, what turns a line's direction round, and what is not UTF-8.
_SYNTAX = re.compile(r"[\[\]|#^\\\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NEXT = {
    "bad_name": "Choose another name.",
    "empty_folder": "Make the other one with quorra mkdir, and remove this one with quorra remove.",
    "exists": "Choose another name, or move what is there first.",
    "itself": "Choose a place outside it.",
    "no_note": "Look for it with: quorra search",
    "not_a_note": "Name a note.",
    "not_empty": "Move or remove first what lies in it.",
}
Lies = Callable[[str], Collection[str] | None]


@dataclass(frozen=True, slots=True)
class Moves:
    """Where files go: ``to`` maps old paths to other ones, ``gone`` are removed.

    ``folders`` are made, those in ``emptied``, which hold nothing, removed.
    """

    to: Mapping[str, str]
    gone: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()

    def after(self, path: str) -> str | None:
        """Gives the path that a file has afterwards, None where it is gone."""
        return None if path in self.gone else self.to.get(path, path)


class _No(Exception):
    """An operation can't be done on the files as they lie."""

    def __init__(self, code: str, path: str, reason: str) -> None:
        super().__init__(reason)
        self.refused = Refused(code, reason, path, _NEXT[code])


def expand(operations: Sequence[Operation], files: Iterable[str], lies: Lies = lambda _: None) -> Moves | Refused:
    """Follows the operations one after the other, or all at once where only that makes sense, as in a swap.

    ``lies`` tells what is in a folder on disk, None where there is no such folder.
    """
    files = list(files)
    try:
        return _with_copies(_after(operations, _Tree(files, lies)), files)
    except _No as no:
        if no.refused.code != "exists":
            return no.refused
        try:
            return _with_copies(_at_once(operations, _Tree(files, lies)), files)
        except _No:
            return no.refused


class _Tree:
    """The vault's files while operations are followed: where each lies now, and where it lay first."""

    def __init__(self, files: Sequence[str], lies: Lies) -> None:
        self.lies = lies
        self.start = frozenset(files)
        self.first = dict(zip(files, files, strict=True))
        self.folded = {fold(path): path for path in files}
        self.inside: Counter[str] = Counter(folder for path in files for folder in _folders(path))
        self.gone: set[str] = set()
        self.made: dict[str, None] = {}
        self.emptied: dict[str, None] = {}

    def source(self, name: str) -> list[str]:
        """Gives the files that a name means: one, or a folder's; raises _No."""
        name = _clean(name)
        for path in (name, f"{name}.md"):
            if path in self.first:
                return [path]
        if self.inside[name]:
            return [path for path in self.first if path.startswith(f"{name}/")]
        if name in self.made or self.lies(name) is not None:
            raise _No("empty_folder", name, f"There is nothing in the folder {name} to move.")
        raise _No("no_note", name, f"There is no note, file or folder {name}.")

    def lift(self, path: str) -> str:
        """Takes a file out of its place and gives its first path."""
        self.folded.pop(fold(path), None)
        self.inside.subtract(_folders(path))
        return self.first.pop(path)

    def put(self, first: str, path: str) -> None:
        """Lays a file down; raises _No where something lies there."""
        there = self.folded.get(fold(path))
        if there is not None:
            raise _No("exists", path, f"{path} can't be made: {there} is there.")
        if self.inside[path] or path in self.made:
            raise _No("exists", path, f"{path} can't be made: a folder of that name is there.")
        for folder in _folders(path):
            if folder in self.first:
                raise _No("exists", path, f"{path} can't be made: {folder} is a file, not a folder.")
        self.first[path] = first
        self.folded[fold(path)] = path
        self.inside.update(_folders(path))

    def moves(self) -> Moves:
        """Gives the map from where files lay first to where they lie now."""
        to = {first: path for path, first in self.first.items() if path != first}
        emptied = tuple(folder for folder in self.emptied if not self.inside[folder])
        return Moves(to, frozenset(self.gone), tuple(self.made), emptied)


def _with_copies(moves: Moves, files: Sequence[str]) -> Moves:
    """Takes the conflicted copies of what moves along, each under its mark; raises _No where something lies there."""
    there = set(files)
    staying = there - moves.to.keys() - moves.gone
    copies = strays.copies(staying, there.__contains__)
    to = dict(moves.to)
    for path in sorted(copies, key=len):  # a copy of a copy after that
        if copies[path].of in to:
            to[path] = strays.renamed(path, copies[path].of, to[copies[path].of])
    if len(to) > len(moves.to):
        taken = {fold(path) for path in [*staying - to.keys(), *moves.to.values()]}
        for path in to.keys() - moves.to.keys():
            if fold(to[path]) in taken:
                raise _No("exists", to[path], f"{path} goes with its note, and {to[path]} is there already.")
    return replace(moves, to=to)


def _after(operations: Sequence[Operation], tree: _Tree) -> Moves:
    for operation in operations:
        _take(operation, tree)
    return tree.moves()


def _take(operation: Operation, tree: _Tree) -> None:
    if operation.op == "create_folder":
        _make(_clean(operation.src), tree)
    elif operation.op == "delete":
        _delete(operation, tree)
    else:
        _move(_pairs(operation, tree), tree)


def _at_once(operations: Sequence[Operation], tree: _Tree) -> Moves:
    """Moves everything from where it lay first, so that files may change places."""
    moving = [operation for operation in operations if operation.op not in ("create_folder", "delete")]
    for operation in operations:
        if operation not in moving:
            _take(operation, tree)
    pairs = [pair for operation in moving for pair in _pairs(operation, tree)]
    if len({old for old, _ in pairs}) < len(pairs):
        raise _No("exists", pairs[0][0], "One file would have to move twice.")
    _move(pairs, tree)
    return tree.moves()


def _move(pairs: Sequence[tuple[str, str]], tree: _Tree) -> None:
    lifted = [(tree.lift(old), new) for old, new in pairs]
    for first, new in lifted:
        tree.put(first, new)


def _pairs(operation: Operation, tree: _Tree) -> list[tuple[str, str]]:
    """Gives old and new path of each file that an operation moves; raises _No."""
    found = tree.source(operation.src)
    name = _clean(operation.src)
    if operation.op == "promote_to_folder":
        if len(found) > 1 or not is_note(found[0]):
            raise _No("not_a_note", name, f"{name} is no note; only a note can be promoted to a folder.")
        return [(found[0], f"{found[0].removesuffix('.md')}/{OPENING}")]
    to = _clean(operation.dst)
    if found[0] in (name, f"{name}.md"):
        pairs = [(found[0], complete(to) if is_note(found[0]) else to)]
    else:
        if to.startswith(f"{name}/"):
            raise _No("itself", to, f"The folder {name} can't be moved into itself.")
        pairs = [(path, f"{to}/{path[len(name) + 1 :]}") for path in found]
    for old, new in pairs:
        _fit(old, new)
    return pairs


def _fit(old: str, new: str) -> None:
    """Raises _No where a new name holds what a link can't spell; a name that only moves on is kept."""
    kept = set(old.split("/"))
    for part in new.split("/"):
        if part not in kept and (_SYNTAX.search(part) or part != part.strip()):
            raise _No("bad_name", new, f"{part!r} can't be a name: links could not spell it.")


def _make(folder: str, tree: _Tree) -> None:
    _fit("", folder)
    if folder in tree.first:
        raise _No("exists", folder, f"{folder} can't be made: a file is there.")
    if not tree.inside[folder]:
        tree.made[folder] = None


def _delete(operation: Operation, tree: _Tree) -> None:
    name = _clean(operation.src)
    file = next((path for path in (name, f"{name}.md") if path in tree.first), None)
    if file is None:
        _empty(name, tree)
    elif not is_note(file):
        raise _No("not_a_note", name, f"{name} is no note; only a dead or empty note can be removed.")
    else:
        tree.gone.add(tree.lift(file))


def _empty(folder: str, tree: _Tree) -> None:
    """Removes a folder; raises _No where anything stays in it, be it hidden or another folder."""
    there = tree.lies(folder)
    if there is None and not tree.inside[folder] and folder not in tree.made:
        raise _No("no_note", folder, f"There is no note, file or folder {folder}.")
    if tree.inside[folder] or {f"{folder}/{name}" for name in there or ()} - tree.start:
        raise _No("not_empty", folder, f"{folder} is a folder that holds something; only an empty one can be removed.")
    tree.made.pop(folder, None)
    if there is not None:
        tree.emptied[folder] = None


def _clean(name: str) -> str:
    """Gives a path without a closing slash; raises _No where it leads out of the vault or into what is hidden."""
    path = name.removesuffix("/")
    if hidden(path) or "" in path.split("/"):
        raise _No("bad_name", name, f"{name!r} is no path in the vault.")
    return path


def _folders(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
