"""An embedding model on any OpenAI-compatible server, through the official client."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from quorra.inference.protocol import ModelAway, Vectors, unit
from quorra.inference.server import Server, plain

BATCH = 16
LONGEST = 8000


class RemoteEmbedder:
    """Sends texts in small batches, cut at 8,000 characters; vectors are scaled to unit length here."""

    def __init__(self, server: Server, *, name: str) -> None:
        self._server = server
        self._given = name

    @cached_property
    def name(self) -> str:
        """The model's name and its server's address."""
        return f"{self._model}@{self._server.url}"

    @cached_property
    def dim(self) -> int:
        """The width of a vector; asks the server for one."""
        return int(self.embed(["width"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Gives one row a text; raises ModelAway where the server gives something else."""
        batches = [self._batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        if not batches:
            return np.zeros((0, self.dim), np.float32)
        return np.concatenate(batches)

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Gives a text's one vector: servers don't tell tokens apart."""
        return [row[None] for row in self.embed(texts)]

    def close(self) -> None:
        """Holds nothing between calls."""

    @cached_property
    def _model(self) -> str:
        return self._given or self._server.model()

    def _batch(self, texts: Sequence[str]) -> Vectors:
        import openai

        asked = [plain(text[:LONGEST]) if text.strip() else "." for text in texts]
        with self._server.client() as client:
            try:
                data = client.embeddings.create(model=self._model, input=asked, encoding_format="float").data
                rows = sorted(data, key=lambda one: one.index)
                vectors = np.array([one.embedding for one in rows], np.float32)
            except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
                raise self._server.trouble(error, begun=False) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelAway(
                f"The server at {self._server.url} does not give one vector a text.", "Check embedder.name."
            )
        return unit(vectors)
