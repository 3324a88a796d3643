"""Which paths the ledger takes, and the error that stops one on its way."""

import os
from collections.abc import Sequence

from quorra.errors import QuorraError
from quorra.ledger.change import Refused


class Blocked(QuorraError):
    """A path can't be read or written; ``refused`` says why."""

    def __init__(self, code: str, path: str, message: str, advice: str = "") -> None:
        self.refused = Refused(code, message, path, advice)
        super().__init__(message, self.refused.next)
        self.code = code


def check(path: str) -> None:
    """Raises Blocked for a path that no file of the repository can have."""
    parts = path.split("/")
    bad = not path or any(part in ("", ".", "..") or "\0" in part for part in parts)
    if bad or len(os.fsencode(path)) > 4000:
        raise Blocked("path", path, f"{path!r} is not a path inside the repository.")
    if any(part.casefold() in (".git", "git~1") or part == ".quorra" for part in parts):
        raise Blocked("path", path, f"{path} lies in a folder that belongs to git or to Quorra.")
    if any(len(os.fsencode(part)) > 255 for part in parts):
        raise Blocked("path", path, f"A part of {path[:60]}… is longer than a file name may be.")


def hidden(path: str) -> bool:
    """Tells whether a part of the path begins with a dot, as editors' own folders do."""
    return path.startswith(".") or "/." in path


def visible(path: str, roots: Sequence[str]) -> bool:
    """Tells whether a path lies under one of the roots and in no hidden folder."""
    return not hidden(path) and any(not root or path.startswith(root + "/") for root in roots)
