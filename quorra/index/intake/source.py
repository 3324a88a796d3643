"""What the index needs of the world: files as they are, by path and blob."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from quorra.ledger.change import Snapshot


class Source(Protocol):
    """Where texts come from; paths count from the repository's root."""

    def snapshot(self) -> Snapshot:
        """Gives the head commit and every file that differs from it on disk."""
        ...

    def tree(self, commit: str) -> Mapping[str, str]:
        """Maps every path of a commit to its blob id."""
        ...

    def changes(self, old: str, new: str) -> Mapping[str, str | None] | None:
        """Maps each path that differs to its new blob id, None where it is gone; None if ``old`` is unknown."""
        ...

    def blobs(self, ids: Iterable[str]) -> Iterable[tuple[str, bytes]]:
        """Reads committed blobs, each with its id, in any order."""
        ...

    def now(self, path: str) -> tuple[str, bytes] | None:
        """Reads a file as it is now, with the blob id of just these bytes; None where there is none."""
        ...

    def behind(self, old: str | None, new: str | None) -> int:
        """Counts the commits that lead from ``old`` to ``new``."""
        ...

    def public(self, path: str) -> str | None:
        """Names a path as people see it; None for a file that is not searched."""
        ...
