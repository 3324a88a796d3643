"""The index as its callers see it: caught up, embedded and searched; any number of processes may share one."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter

from quorra import metrics
from quorra.access.window import Window
from quorra.errors import QuorraError
from quorra.index import catch_up, embedding
from quorra.index.found import Found, Mode
from quorra.index.intake import plan
from quorra.index.intake.source import Source
from quorra.index.search import Searcher
from quorra.index.store.cache import Cache
from quorra.index.store.manifest import IndexBroken, Manifest
from quorra.inference.protocol import Embedder
from quorra.ledger.change import Snapshot


@dataclass(frozen=True, slots=True)
class Report:
    """How far the index is and what was done to bring it there.

    ``embedded`` counts texts sent to the embedder, ``reused`` passages whose
    vector was known already, ``pending`` passages not embedded yet.
    """

    commit: str | None
    dirty: int
    documents: int
    passages: int
    embedded: int
    reused: int
    pending: int
    problems: int
    seconds: float


class Index:
    """One home's index; ``embedder`` is called when a first vector is needed.

    ``steps`` is told the name of each step of writing before it begins.
    """

    def __init__(
        self,
        folder: Path,
        cache: Path,
        source: Source,
        embedder: Callable[[], Embedder] | None = None,
        *,
        steps: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.folder = folder
        self._source = source
        self._embedder = embedder
        self.writer = catch_up.Writer(folder, Cache(cache), source, steps)
        self._beside = ThreadPoolExecutor(1, "quorra-catch-up")
        self._running: Future[None] | None = None
        self._starting = threading.Lock()
        self._failed: str | None = None

    def catch_up(self, *, rebuild: bool = False) -> Report:
        """Brings words, links and known vectors up to what is on disk; embeds nothing. Raises IndexBusy."""
        start = perf_counter()
        snapshot = self._source.snapshot()
        manifest = self.manifest()
        reused = 0
        while rebuild or not plan.current(manifest, snapshot):
            manifest, known = self._run(snapshot, rebuild)
            reused += known
            if not manifest.left:
                break
        assert manifest is not None
        return _report(manifest, 0, reused, perf_counter() - start)

    def _run(self, snapshot: Snapshot, rebuild: bool) -> tuple[Manifest, int]:
        """Catches up, or builds the next batch; what can't be read of the index is made anew, once."""
        try:
            return self.writer.run(snapshot, rebuild)
        except IndexBroken:
            metrics.count("index_broken_total")
            if rebuild:
                raise
        return self._run(snapshot, True)

    def embed(self, *, seconds: float | None = None, progress: Callable[[str], None] = lambda _: None) -> Report:
        """Embeds pending passages, all of them or for about ``seconds``; what the cache knows is not embedded again."""
        start = perf_counter()
        manifest = self.manifest()
        if manifest is None:
            self.catch_up()
            manifest = self.manifest()
        assert manifest is not None
        if self._embedder is None:
            return _report(manifest, 0, 0, perf_counter() - start)
        embedder = self._embedder()
        if manifest.embedder == embedder.name and not manifest.pending:
            return _report(manifest, 0, 0, perf_counter() - start)
        done = embedding.run(self.writer, manifest, embedder, seconds, progress)
        return _report(done.manifest, done.embedded, done.reused, perf_counter() - start)

    def search(
        self,
        question: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        window: Window,
        per_note: bool = True,
        wait: float = 0.5,
    ) -> Found:
        """Finds passages, one a note unless ``per_note`` is off.

        Waits up to ``wait`` seconds for a catch-up, then answers from what was last published.
        """
        snapshot = self._source.snapshot()
        if wait:
            self._freshen(snapshot, wait)
        manifest = self.manifest()
        if manifest is None:
            return Found(None, self._source.behind(None, snapshot.head), 0, ())
        try:
            found = self._searcher.run(manifest, question, k, mode, window, per_note)
        except IndexBroken:
            if not wait:
                raise
            self.catch_up(rebuild=True)
            return self.search(question, k=k, mode=mode, window=window, per_note=per_note, wait=0.0)
        if plan.current(manifest, snapshot):
            self._failed = None
            return found
        behind = self._source.behind(manifest.commit, snapshot.head) + plan.edited(manifest, snapshot) + manifest.left
        # No commit leads from a later one to an earlier one that was checked out since.
        return replace(found, behind=max(1, behind), reason=found.reason or self._failed)

    def manifest(self) -> Manifest | None:
        """Reads the last published manifest."""
        return self.writer.manifest()

    def readable(self) -> bool:
        """Tells whether a published index can be opened and asked."""
        manifest = self.manifest()
        if manifest is None:
            return False
        try:
            for shelf in manifest.shelves.values():
                self.writer.tables.rows(shelf)
        except (IndexBroken, OSError):
            return False
        return (self.folder / manifest.catalogue).is_file()

    def close(self) -> None:
        """Lets a catch-up, or the batch of a first build, that is under way finish."""
        self._beside.shutdown(cancel_futures=True)
        if "_searcher" in self.__dict__:
            self.__dict__.pop("_searcher").close()

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self.writer.tables, self._embedder)

    def _freshen(self, snapshot: Snapshot, wait: float) -> None:
        """Catches up beside the search, which waits for it for a while, and without end where there is no index yet.

        A large vault's first batch is an index.
        """
        manifest = self.manifest()
        if plan.current(manifest, snapshot):
            return
        self.writer.load()  # what a cold process loads is not the catch-up's to wait for
        with self._starting:
            if self._running is None or self._running.done():
                self._running = self._beside.submit(self._follow, snapshot)
            running = self._running
        try:
            running.result(None if manifest is None else wait)
            self._failed = None
        except TimeoutError:
            return
        except (QuorraError, OSError):
            if manifest is None:
                raise
            # The answer comes from what was published last, and says that it does.
            self._failed = "catch_up_failed"

    def _follow(self, snapshot: Snapshot) -> None:
        """Runs in the thread beside: builds a batch, and sees to the next one."""
        manifest, _ = self._run(snapshot, False)
        if manifest.left:
            with self._starting, suppress(RuntimeError):  # closed meanwhile
                self._running = self._beside.submit(self._follow, snapshot)


def _report(manifest: Manifest, embedded: int, reused: int, seconds: float) -> Report:
    return Report(
        manifest.commit, len(manifest.dirty), manifest.documents, manifest.passages, embedded, reused,
        manifest.pending, manifest.problems, seconds,
    )  # fmt: skip
