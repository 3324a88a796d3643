"""A home that lives as long as one run: the suite's notes copied, committed and indexed, embeddings kept."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quorra import home as homes
from quorra.evals.suite import Suite
from quorra.home import Home
from quorra.settings import PRIVATE, Settings


@contextmanager
def home(suite: Suite, caller: Home) -> Iterator[Home]:
    """Opens the home that a suite asks: its own notes in a throwaway one, else the caller's."""
    if suite.vault is None:
        yield caller
        return
    with tempfile.TemporaryDirectory(prefix="quorra-evals-") as folder:
        root = Path(folder) / "home"
        shutil.copytree(suite.vault, root / "vault", ignore=shutil.ignore_patterns(".git", PRIVATE))
        homes.create(root, vault="vault", empty=True)
        place = Home.open(
            _settings(caller.settings, root),
            model_key=caller.model_key,
            embedder_key=caller.embedder_key,
            cache=caller.cache,
        )
        try:
            yield place
        finally:
            place.close()


def _settings(caller: Settings, root: Path) -> Settings:
    return caller.model_copy(update={"home": root, "vault": caller.vault.model_copy(update={"path": "vault"})})
