"""The embedder that a package ships, opened once."""

from collections.abc import Iterator

import pytest

from quorra.inference.embed.minilm import MiniLM


@pytest.fixture(scope="session")
def embedder() -> Iterator[MiniLM]:
    model = MiniLM(threads=1)
    yield model
    model.close()
