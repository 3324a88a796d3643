"""An embedding model from a GGUF file in this process, through llama.cpp."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from quorra.inference.protocol import ModelAway, Vectors, unit

if TYPE_CHECKING:
    from quorra.inference.chat.engine import Context, Weights

EDGE = 1 << 20
CHARACTERS = 16_384


class Gguf:
    """Pools as the file says, else by mean; each text is evaluated alone, up to 512 tokens."""

    def __init__(self, path: Path, threads: int = 0) -> None:
        self._path = path
        self._threads = threads or len(os.sched_getaffinity(0))
        self._lock = Lock()
        self._loaded: tuple[Weights, Context] | None = None
        self._apart: Context | None = None

    @cached_property
    def name(self) -> str:
        """The file's name with a hash of its size, beginning and end."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(0)
                edges = hashlib.sha256(f"{size} ".encode() + file.read(EDGE))
                file.seek(max(0, size - EDGE))
                edges.update(file.read(EDGE))
        except OSError as error:
            raise ModelAway(f"There is no model file {self._path}.", "Check embedder.path.") from error
        return f"{self._path.stem}-{edges.hexdigest()[:12]}"

    @property
    def dim(self) -> int:
        """The width of a vector; loads the model."""
        with self._lock:
            return self._load()[0].width

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Gives one row a text; the model is loaded by the first call."""
        with self._lock:
            weights, context = self._load()
            vectors = np.zeros((len(texts), weights.width), np.float32)
            for row, text in enumerate(texts):
                vectors[row] = context.embedding(_read(weights, text))
            return unit(vectors)

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Gives a row a token; they need a context of their own, made by the first call."""
        with self._lock:
            weights, _ = self._load()
            if self._apart is None:
                self._apart = self._context(weights, pooled=False)
            return [unit(self._apart.states(_read(weights, text))) for text in texts]

    def close(self) -> None:
        """Frees the model; the next use loads it again."""
        with self._lock:
            if self._apart:
                self._apart.close()
            if self._loaded:
                self._loaded[1].close()
                self._loaded[0].close()
            self._loaded = self._apart = None

    def _load(self) -> tuple[Weights, Context]:
        if self._loaded is None:
            from quorra.inference.chat.engine import Weights

            weights = Weights(self._path)
            self._loaded = weights, self._context(weights, pooled=True)
        return self._loaded

    def _context(self, weights: Weights, pooled: bool) -> Context:
        from quorra.inference.chat.engine import BATCH, Context

        return Context(weights, BATCH, self._threads, embeddings="pooled" if pooled else "tokens")


def _read(weights: Weights, text: str) -> list[int]:
    return weights.whole(text[:CHARACTERS]) or weights.whole(".")
