"""Finds what has to change in the index, looking only at paths that may differ, and reads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quorra.index.intake.prepare import Text
from quorra.index.intake.source import Source
from quorra.index.store import catalogue
from quorra.index.store.catalogue import Document
from quorra.index.store.manifest import Manifest
from quorra.ledger.change import Snapshot


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to change: documents to drop, and paths to add with their public names and blobs."""

    gone: tuple[Document, ...]
    fresh: tuple[tuple[str, str, str], ...]


def current(manifest: Manifest | None, snapshot: Snapshot) -> bool:
    """Tells whether the manifest is of just this snapshot."""
    return manifest is not None and manifest.commit == snapshot.head and manifest.dirty == snapshot.dirty


def make(source: Source, folder: Path, manifest: Manifest, snapshot: Snapshot) -> Plan:
    """Compares what is indexed with what is on disk."""
    wanted = _wanted(source, manifest, snapshot)
    indexed: dict[str, Document] = {}
    if manifest.catalogue:
        files = None if wanted is None else sorted(filter(_spelled, wanted))
        indexed = {each.file: each for each in catalogue.documents(folder / manifest.catalogue, files)}
    if wanted is None:
        tree: dict[str, str | None] = dict(source.tree(snapshot.head)) if snapshot.head else {}
        wanted = {**dict.fromkeys(indexed, None), **tree, **snapshot.dirty}
    fresh, gone = [], []
    for file, blob in sorted(wanted.items()):
        held = indexed.get(file)
        public = source.public(file) if _spelled(file) else None
        new = blob is not None and public is not None and (held is None or held.blob != blob)
        if new and blob and public:
            fresh.append((file, public, blob))
        if held is not None and (new or blob is None or public is None):
            gone.append(held)
    return Plan(tuple(gone), tuple(fresh))


def _spelled(file: str) -> bool:
    """Tells whether a path can be written in UTF-8; what can't be can't be told apart in a table either."""
    try:
        file.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wanted(source: Source, manifest: Manifest, snapshot: Snapshot) -> dict[str, str | None] | None:
    """Maps the paths that may differ to their blobs now; None where every path may."""
    if not manifest.catalogue or manifest.commit is None or snapshot.head is None:
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
        elif read := source.disk(file):
            yield file, public, *read
    for blob, data in source.blobs(clean):
        for file, public in clean[blob]:
            yield file, public, blob, data
