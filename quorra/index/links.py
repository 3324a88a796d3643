"""The links that the index knows, read from its catalogue without loading what searching or writing needs."""

from collections.abc import Sequence
from pathlib import Path

from quorra.index.intake.passages import RECIPE
from quorra.index.store import catalogue, manifest
from quorra.index.store.manifest import IndexBroken
from quorra.vault.note import Link


def known(folder: Path) -> dict[str, tuple[str, Sequence[Link]]]:
    """Gives the blob and the links of each note as last published, nothing where that can't be read."""
    found = manifest.read(folder, RECIPE)
    if found is None or not found.catalogue:
        return {}
    try:
        return dict(catalogue.links(folder / found.catalogue))
    except IndexBroken:
        return {}
