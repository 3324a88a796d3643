"""Two histories put together: which files that changes here, and where both sides changed the same lines."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.objects import Row
from quorra.ledger.plumbing.repository import Repository

# A file that they add to a folder that moved here goes along.
WORDS = ("-c", "merge.directoryRenames=true", "merge-tree", "--write-tree", "-z", "--messages")
PLAIN = ("CONFLICT (contents)", "CONFLICT (binary)", "CONFLICT (modify/delete)")
Rows = Mapping[str, Row | None]
Pair = tuple[Row | None, Row | None]


@dataclass(frozen=True, slots=True)
class Clash:
    """One path where both sides changed the same lines, by blob id; None where a side has no such file."""

    path: str
    base: str | None
    ours: str | None
    theirs: str | None


@dataclass(frozen=True, slots=True)
class Joint:
    """What a merge of ``theirs`` into ``ours`` does; at a clash our side stands in full.

    ``forward`` tells that nothing was committed here meanwhile, so that the
    branch can simply move on; where they have nothing new, ``theirs`` is
    ``ours``. ``changes`` holds each path's row before and
    after. ``edited`` names those of them that differ on disk from ``ours``.
    """

    ours: str
    theirs: str
    forward: bool
    changes: Mapping[str, Pair]
    clashes: tuple[Clash, ...] = ()
    edited: tuple[str, ...] = ()


def join(repo: Repository, ours: str, theirs: str) -> Joint | None:
    """Puts two commits together without touching anything; None where they share no history.

    Raises Blocked where both changed what is no regular file.
    """
    base = repo.git.run("merge-base", ours, theirs, good=(0, 1)).decode().strip()
    if not base:
        return None
    if base == theirs:
        return Joint(ours, ours, True, {})
    trees = [repo.tree_of(commit) for commit in (base, ours, theirs)]
    rows, clashes = (_rows(repo, trees[1], trees[2]), ()) if base == ours else _merge(repo, ours, theirs, trees)
    return Joint(ours, theirs, base == ours, _pairs(repo, trees[1], rows), clashes)


def _merge(
    repo: Repository, ours: str, theirs: str, trees: Sequence[str | None]
) -> tuple[dict[str, Row | None], tuple[Clash, ...]]:
    """Lets git merge, path by path where the two sides' renames meet; gives the rows that change and the clashes."""
    told = repo.git.run(*WORDS, ours, theirs, good=(0, 1)).split(b"\0")
    stages, plain = _told(told)
    if not plain:
        return _by_path(repo, *trees)
    goal = repo.objects.graft(told[0].decode(), {path: sides.get(2) for path, sides in stages.items()})
    clashes = tuple(_clash(path, *(sides.get(stage) for stage in (1, 2, 3))) for path, sides in stages.items())
    return _rows(repo, trees[1], goal), clashes


def _told(told: list[bytes]) -> tuple[dict[str, dict[int, Row]], bool]:
    """Reads what git says of conflicts: their paths' stages, and whether each is at one path alone."""
    stages: dict[str, dict[int, Row]] = {}
    at = 1
    while at < len(told) and told[at]:
        head, _, name = told[at].partition(b"\t")
        mode, ident, stage = head.decode().split(" ")
        stages.setdefault(os.fsdecode(name), {})[int(stage)] = Row(mode, ident)
        at += 1
    at, plain = at + 1, True
    while at < len(told) and told[at]:
        at += 1 + int(told[at])
        kind = told[at].decode()
        plain = plain and (kind in PLAIN or not kind.startswith("CONFLICT"))
        at += 2
    return stages, plain


def _clash(path: str, base: Row | None, ours: Row | None, theirs: Row | None) -> Clash:
    if any(row and not row.regular for row in (base, ours, theirs)):
        raise Blocked("path", path, f"{path} is a link or a repository of its own on one side, and both changed it.")
    return Clash(path, *(row.id if row else None for row in (base, ours, theirs)))


def _pairs(repo: Repository, tree: str | None, rows: Rows) -> dict[str, Pair]:
    """Gives for each path that changes its row in a tree and the new one."""
    pairs = {path: (repo.objects.row(tree, path), row) for path, row in rows.items()}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _rows(repo: Repository, old: str | None, new: str | None) -> dict[str, Row | None]:
    """Gives every path that differs between two trees with its row in the new one."""
    if old is None or new is None or old == new:
        return {}
    return {path: repo.objects.row(new, path) for path in (os.fsdecode(at[2]) for at in repo.differ.changes(old, new))}


def _by_path(
    repo: Repository, base: str | None, ours: str | None, theirs: str | None
) -> tuple[dict[str, Row | None], tuple[Clash, ...]]:
    """Merges path by path and follows no rename; gives the rows that change and the clashes."""
    mine, rows = _rows(repo, base, ours), {}
    clashes: list[Clash] = []
    for path, theirs_row in _rows(repo, base, theirs).items():
        if path not in mine:
            rows[path] = theirs_row
            continue
        before, row = repo.objects.row(base, path), mine[path]
        if row == theirs_row:
            continue
        merged = _merged(repo, before, row, theirs_row)
        if merged:
            rows[path] = merged
        else:
            clashes.append(_clash(path, before, row, theirs_row))
    return rows, tuple(clashes)


def _merged(repo: Repository, base: Row | None, ours: Row | None, theirs: Row | None) -> Row | None:
    """Merges one file, None where both sides changed the same lines or it is no text on all three."""
    if not (base and ours and theirs and base.regular and ours.regular and theirs.regular):
        return None
    texts = [content for _, content in repo.reader.contents([ours.id, base.id, theirs.id])]
    merged = three_way(repo, *texts)
    return Row(theirs.mode if ours.mode == base.mode else ours.mode, repo.objects.write(merged)) if merged else None


def three_way(repo: Repository, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Merges three versions of a text, None where both sides changed the same lines or one is binary."""
    if any(map(binary, (ours, base, theirs))):
        return None
    # Taken from either side, a conflict's lines differ; where there is none, both say the same.
    mine, other = _merge_file(repo, (ours, base, theirs), "--ours", "--theirs")
    return mine if mine == other else None


def union(repo: Repository, ours: bytes, base: bytes, theirs: bytes) -> bytes:
    """Merges three versions of a text; where both sides changed the same lines, both stand, ours first."""
    (merged,) = _merge_file(repo, (ours, base, theirs), "--union")
    return merged


def _merge_file(repo: Repository, versions: Sequence[bytes], *favours: str) -> list[bytes]:
    """Lets git merge our text, the base and theirs, once for each way to settle a conflict."""
    with TemporaryDirectory(dir=repo.own) as folder:
        files = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for file, content in zip(files, versions, strict=True):
            file.write_bytes(content)
        return [repo.git.run("merge-file", favour, "--stdout", *map(str, files)) for favour in favours]


def binary(content: bytes) -> bool:
    """Tells whether git takes a content for no text."""
    return b"\0" in content[:8000]
