"""What git or the machine said no to, as a value."""

from collections.abc import Callable
from typing import TypeVar

from quorra.ledger.change import Refused
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.process import GitFailed

T = TypeVar("T")


def guarded(work: Callable[[], T]) -> T | Refused:
    """Does some work, or says in a value what stood in its way."""
    try:
        return work()
    except (Blocked, OSError, GitFailed) as error:
        return of(error)


def of(error: Blocked | OSError | GitFailed) -> Refused:
    """Makes a refusal of what stood in the way."""
    if isinstance(error, Blocked):
        return Refused.by(error)
    if isinstance(error, GitFailed):
        return Refused("git", f"Nothing was written: {error.message}", None, error.next or "")
    return Refused("disk", f"Nothing was written: {error.strerror} ({error.filename or 'git folder'}).")
