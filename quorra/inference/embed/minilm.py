"""all-MiniLM-L6-v2 in this process, on onnxruntime: the embedded default."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from quorra.inference.packaged import GRAPH, TOKENIZER, digest
from quorra.inference.protocol import ModelAway, Vectors, unit

LONGEST = 256
CHARACTERS = 16_384


class _Loaded(NamedTuple):
    session: Any
    tokenizer: Any
    pool: ThreadPoolExecutor


class MiniLM:
    """Mean-pooled, unit-length vectors; each text runs alone, as quantized activations depend on their batch.

    ``threads`` workers of one thread each share one session. Texts are read up
    to 256 tokens, as the model was trained. The graph is the one that set-up
    builds; its name and width are known without loading it.
    """

    dim = 384

    def __init__(self, graph: Path = GRAPH, threads: int = 0) -> None:
        self._graph = graph
        self._workers = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
        self._loaded: _Loaded | None = None

    @cached_property
    def name(self) -> str:
        """The model with a hash of its graph; raises ModelAway where set-up has not built it."""
        self._there()
        return f"all-MiniLM-L6-v2-{digest(self._graph)[:12]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Gives one row a text; the model is loaded by the first call."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        for row, vector in enumerate(self._all(texts, "vector")):
            vectors[row] = vector
        return vectors

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Gives a row a token, the two at a text's borders included."""
        return [unit(states) for states in self._all(texts, "states")]

    def close(self) -> None:
        """Frees the model; the next use loads it again."""
        with self._lock:
            if self._loaded:
                self._loaded.pool.shutdown()
            self._loaded = None

    def _all(self, texts: Sequence[str], output: str) -> list[Vectors]:
        """Runs text after text until none is left; workers share ``rows``, so a long text holds up nobody."""
        loaded = self._load()
        found: dict[int, Vectors] = {}
        rows = iter(range(len(texts)))

        def work(_: int) -> None:
            for row in rows:
                found[row] = _run(loaded, texts[row], output)

        workers = min(self._workers, len(texts))
        if workers == 1:
            work(0)
        else:
            list(loaded.pool.map(work, range(workers)))
        return [found[row] for row in range(len(texts))]

    def _there(self) -> None:
        if not self._graph.is_file():
            raise ModelAway(f"The embedding graph {self._graph} is not built.", "Run: make setup")

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._there()
                self._loaded = _Loaded(_session(self._graph), _tokenizer(), ThreadPoolExecutor(self._workers))
            return self._loaded


def _run(loaded: _Loaded, text: str, output: str) -> Vectors:
    text = text[:CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    ids = np.array([loaded.tokenizer.encode(text).ids], np.int64)
    given: Vectors = loaded.session.run([output], {"ids": ids})[0][0]
    return given


def _session(graph: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    if "states" not in {output.name for output in session.get_outputs()}:
        raise ModelAway(f"The embedding graph {graph} is of another version.", "Run: make setup")
    return session


def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer
