"""Draws the part of a folder tree that a reorganization touches, short however much it moves."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from quorra.surfaces.cli.verb import counted

LINES, FILES = 24, 6
Node = dict[str, Any]


def drawn(paths: Collection[str], stays: Mapping[str, int]) -> list[str]:
    """Gives the lines of a tree of these paths, a folder's with a slash at its end.

    ``stays`` counts by folder the files that are there before and after. Long
    lists are cut, and where the whole would be long, deep folders are counted.
    """
    root: Node = {}
    if not paths:
        return ["  (nothing)"]
    for path in sorted(paths):
        _add(root, path)
    deepest = _depth(root)
    for depth in range(deepest, 0, -1):
        lines = list(_lines(root, "", stays, depth))
        if len(lines) <= LINES:
            return lines
    return [*lines[: LINES - 1], f"  … and {len(lines) - LINES + 1} more"]


def staying(names: Iterable[str], touched: Iterable[str]) -> Counter[str]:
    """Counts by folder the files that are none of those touched."""
    gone = set(touched)
    return Counter(name.rpartition("/")[0] for name in names if name not in gone and not name.startswith("/"))


def _add(root: Node, path: str) -> None:
    *folders, name = path.split("/")
    node = root
    for folder in folders:
        node = node.setdefault(f"{folder}/", {})
    if name:
        node[name] = None


def _depth(node: Node) -> int:
    return 1 + max((_depth(inner) for inner in node.values() if inner is not None), default=0)


def _lines(node: Node, place: str, stays: Mapping[str, int], depth: int) -> Iterator[str]:
    indent = "  " * (place.count("/") + 1)
    for name, inner in node.items():
        if inner is not None:
            there = f"{place}{name}"
            yield f"{indent}{name}" + ("" if depth > 1 or not inner else f"  ({counted(_count(inner), 'file')})")
            if depth > 1:
                yield from _lines(inner, there, stays, depth - 1)
    files = [name for name, inner in node.items() if inner is None]
    yield from (f"{indent}{name}" for name in (files if len(files) <= FILES else files[: FILES - 1]))
    if len(files) > FILES:
        yield f"{indent}… and {len(files) - FILES + 1} more"
    rest = stays.get(place.removesuffix("/"), 0)
    if rest and place:
        yield f"{indent}({rest} {'stays' if rest == 1 else 'stay'})"


def _count(node: Node) -> int:
    return sum(1 if inner is None else _count(inner) for inner in node.values())
