"""all-MiniLM-L6-v2 in this process, on onnxruntime: the embedded default."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from quorra.inference.packaged import AS_IT_COMES, TOKENIZER, digest
from quorra.inference.protocol import Vectors

LONGEST = 256


class MiniLM:
    """Mean-pooled, unit-length vectors; each text runs alone, as quantized activations depend on their batch.

    ``threads`` workers of one thread each share one session. Texts are read up
    to 256 tokens, as the model was trained.
    """

    dim = 384

    def __init__(self, graph: Path | None = None, threads: int = 0) -> None:
        self._graph = graph or AS_IT_COMES.path()
        self.name = f"all-MiniLM-L6-v2-{digest(self._graph)[:12]}"
        self._workers = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
        self._loaded: tuple[Any, Any, ThreadPoolExecutor] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Gives one row a text; the model is loaded by the first call."""
        session, tokenizer, pool = self._load()
        vectors = np.empty((len(texts), self.dim), np.float32)

        def work(share: int) -> None:
            for row in range(share, len(texts), self._workers):
                ids = np.array([tokenizer.encode(texts[row]).ids], np.int64)
                vectors[row] = _pooled(session, ids)

        list(pool.map(work, range(min(self._workers, len(texts)))))
        return vectors

    def close(self) -> None:
        """Frees the model; the next use loads it again."""
        with self._lock:
            if self._loaded:
                self._loaded[2].shutdown()
            self._loaded = None

    def _load(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        with self._lock:
            if self._loaded is None:
                import onnxruntime
                from tokenizers import Tokenizer

                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = options.inter_op_num_threads = 1
                session = onnxruntime.InferenceSession(self._graph, options, providers=["CPUExecutionProvider"])
                tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
                tokenizer.no_padding()
                tokenizer.enable_truncation(LONGEST)
                self._loaded = session, tokenizer, ThreadPoolExecutor(self._workers)
            return self._loaded


def _pooled(session: Any, ids: Any) -> Vectors:
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean: Vectors = session.run(None, feed)[0][0].mean(axis=0)
    return mean / np.float32(np.linalg.norm(mean))
