"""One homeserver for all tests of the bot."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.matrix.synapse import Synapse

_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def server() -> Iterator[Synapse]:
    with _folder() as folder:
        server = Synapse(Path(folder))
        server.start()
        yield server
        server.stop()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory where there is such: accounts and keys are many small transactions, each of which syncs."""
    with _folder() as folder:
        yield Path(folder)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None, ignore_cleanup_errors=True)
