"""Finds what has to change in the index, looking only at paths that may differ, and reads it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quorra.index.intake.prepare import Text
from quorra.index.intake.source import Source
from quorra.index.store.manifest import Manifest
from quorra.ledger.change import Snapshot

_FIRST = 1500
_GROWTH = 3
Indexed = Callable[[Sequence[str] | None], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to change: public names to drop, and files to add with their public names and blobs."""

    gone: tuple[str, ...]
    fresh: tuple[tuple[str, str, str], ...]


def current(manifest: Manifest | None, snapshot: Snapshot) -> bool:
    """Tells whether the manifest is of just this snapshot, and the whole of it."""
    if manifest is None or manifest.left:
        return False
    return manifest.commit == snapshot.head and manifest.dirty == snapshot.dirty


def edited(manifest: Manifest, snapshot: Snapshot) -> int:
    """Counts the files whose uncommitted text is another one now, or is there no more."""
    return len({path for path, _ in dict(snapshot.dirty).items() ^ dict(manifest.dirty).items()})


def make(source: Source, manifest: Manifest, snapshot: Snapshot, indexed: Indexed) -> Plan:
    """Compares what is on disk with what is ``indexed``: the blobs of some public names, or of all there are."""
    wanted = _wanted(source, manifest, snapshot)
    if wanted is None:
        tree: dict[str, str | None] = dict(source.tree(snapshot.head)) if snapshot.head else {}
        wanted = {**tree, **snapshot.dirty}
        held = indexed(None)
    else:
        held = indexed([name for name in map(source.public, filter(_spelled, wanted)) if name])
    fresh: list[tuple[str, str, str]] = []
    there: set[str] = set()
    gone: set[str] = set()
    for file, blob in sorted(wanted.items()):
        public = source.public(file) if _spelled(file) else None
        if public is None:
            continue
        if blob is not None:
            there.add(public)
        if held.get(public, blob) != blob:
            gone.add(public)
        if blob is not None and held.get(public) != blob:
            fresh.append((file, public, blob))
    return Plan(tuple(sorted(gone | (held.keys() - there))), tuple(fresh))


def batch(base: Manifest, wanted: Plan) -> tuple[Plan, int]:
    """Takes what a build from nothing publishes at once, and counts what is left.

    Each batch is several times all those before it, as the words of all are indexed anew for it.
    """
    most = max(_FIRST, _GROWTH * base.documents)
    return Plan(wanted.gone, wanted.fresh[:most]), max(0, len(wanted.fresh) - most)


def _spelled(file: str) -> bool:
    """Tells whether a path can be written in UTF-8; what can't be can't be told apart in a table either."""
    try:
        file.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wanted(source: Source, manifest: Manifest, snapshot: Snapshot) -> dict[str, str | None] | None:
    """Maps the paths that may differ to their blobs now; None where every path may."""
    if not manifest.catalogue or manifest.left or manifest.commit is None or snapshot.head is None:
        return None
    changed: Mapping[str, str | None] | None = {}
    if manifest.commit != snapshot.head:
        changed = source.changes(manifest.commit, snapshot.head)
    if changed is None:
        return None
    settled = [file for file in manifest.dirty if file not in snapshot.dirty and file not in changed]
    committed: dict[str, str | None] = {}
    if settled:
        tree = source.tree(snapshot.head)
        committed = {file: tree.get(file) for file in settled}
    return {**changed, **committed, **snapshot.dirty}


def texts(source: Source, fresh: Sequence[tuple[str, str, str]], dirty: Mapping[str, str | None]) -> Iterable[Text]:
    """Reads the files of a plan, from git where they are clean and from disk where they are not."""
    clean: dict[str, list[tuple[str, str]]] = {}
    for file, public, blob in fresh:
        if file not in dirty:
            clean.setdefault(blob, []).append((file, public))
        elif read := source.now(file):
            yield file, public, *read
    for blob, data in source.blobs(clean):
        for file, public in clean[blob]:
            yield file, public, blob, data
