"""Indexes of past commits: caches that begin as links to the present index's files and catch up with their commit."""

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from quorra.index.catch_up import Writer
from quorra.index.index import Index
from quorra.index.intake import plan
from quorra.index.store import manifest as manifests
from quorra.inference.protocol import Embedder, ModelAway
from quorra.vault.past import Then

KEPT = 4
_USED = "used"


class Past:
    """The indexes of some commits beside that of the present; any number of processes may share them.

    ``present`` gives the index to begin from; ``embedder`` and ``steps`` are as an Index takes them.
    """

    def __init__(
        self,
        folder: Path,
        cache: Path,
        present: Callable[[], Index],
        embedder: Callable[[], Embedder] | None = None,
        *,
        steps: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.folder = folder
        self._cache = cache
        self._present = present
        self._embedder = embedder
        self._steps = steps

    @contextmanager
    def open(
        self, texts: Then, seconds: float | None = None, progress: Callable[[str], None] = lambda _: None
    ) -> Iterator[Index]:
        """Opens the whole index of some texts, made first where there is none; nobody removes it meanwhile.

        What is not embedded yet is, for about ``seconds``: with 0 as far as the cache reaches, with None not at all.
        """
        folder = self.folder / _name(texts)
        held = _held(folder)
        while held is None:
            self._make(folder, texts)
            held = _held(folder)
        index = Index(folder, self._cache, texts, self._embedder)
        try:
            if not plan.current(index.manifest(), texts.snapshot()):
                index.catch_up()  # another version of Quorra made it, or the disk lost a part
            if seconds is not None:
                with suppress(ModelAway):  # words are found all the same, and a search says what it lacks
                    index.embed(seconds=seconds, progress=progress)
            yield index
        finally:
            index.close()
            os.close(held)

    def _make(self, folder: Path, texts: Then) -> None:
        """Makes an index elsewhere and puts it in its place at once; the one who comes second finds it there."""
        with manifests.locked(self.folder):
            for left in self.folder.glob("new-*"):
                shutil.rmtree(left)
            if not (folder / _USED).exists():
                shutil.rmtree(folder, ignore_errors=True)
                fresh = self.folder / f"new-{secrets.token_hex(4)}"
                fresh.mkdir()
                # Where texts are hidden nothing is begun from, so that their words are in no statistics.
                if not texts.hidden:
                    self._begin(fresh)
                self._fill(fresh, texts)
                (fresh / _USED).touch()
                self._steps("in place")
                fresh.rename(folder)
            self._sweep(folder)

    def _begin(self, fresh: Path) -> None:
        """Links the present index's files, none of which is ever changed; words and vectors come with them."""
        present = self._present()
        with manifests.locked(present.folder):
            base = present.manifest()
            if base is None or not base.catalogue:
                return
            try:
                _link(present.folder / base.catalogue, fresh / base.catalogue)
                for shelf in base.shelves.values():
                    table = f"tables/{shelf.table}.lance"
                    shutil.copytree(present.folder / table, fresh / table, copy_function=_link)
            except FileNotFoundError:
                return  # a damaged index is nothing to begin from
        manifests.publish(fresh, base)

    def _fill(self, fresh: Path, texts: Then) -> None:
        index = Index(fresh, self._cache, texts, self._embedder, steps=self._steps)
        try:
            index.catch_up()
            _compact(index.writer)
        finally:
            index.close()

    def _sweep(self, kept: Path) -> None:
        """Removes all but those used last; one that somebody reads stays."""
        used = {file.parent: file.stat().st_mtime for file in self.folder.glob(f"*/{_USED}")}
        others = sorted((folder for folder in used if folder != kept), key=lambda folder: -used[folder])
        for folder in others[KEPT - 1 :]:
            file = os.open(folder / _USED, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            else:
                gone = self.folder / f"new-{secrets.token_hex(4)}"
                folder.rename(gone)
                shutil.rmtree(gone)
            finally:
                os.close(file)


def _name(texts: Then) -> str:
    """Names the folder of a commit's index, and of what is left of it for those to whom some of it is hidden."""
    if not texts.hidden:
        return texts.commit
    hidden = "\0".join(sorted(texts.hidden)).encode(errors="surrogateescape")
    return f"{texts.commit}-{hashlib.sha256(hidden).hexdigest()[:16]}"


def _held(folder: Path) -> int | None:
    """Keeps an index from being removed, until the file is closed; None where there is none, or is none any more."""
    try:
        file = os.open(folder / _USED, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), (folder / _USED).stat()):
            os.utime(file)
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(file)
    return None


def _link(old: str | Path, new: str | Path) -> None:
    """Links a file; where the disk has no links, copies it."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def _compact(writer: Writer) -> None:
    """Makes every table as a rebuild would make it, so that scores don't tell which index it was begun from."""
    from quorra.index.store import shelves

    with manifests.locked(writer.folder):
        base = writer.manifest()
        assert base is not None
        writer.steps("compact")
        found = {}
        for domain, shelf in base.shelves.items():
            found[domain] = shelf
            if shelf.stale:
                _, table = shelves.opened(writer.tables, base, domain)
                found[domain] = shelves.compact(table, shelf)
        writer.publish(replace(base, shelves=found))
