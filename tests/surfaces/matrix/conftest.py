"""One homeserver for all tests of the bot."""

from collections.abc import Iterator

import pytest

from tests.surfaces.matrix.synapse import Synapse


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    server = Synapse(tmp_path_factory.mktemp("synapse"))
    server.start()
    yield server
    server.stop()
