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
    except Blocked as error:
        return Refused.by(error)
    except GitFailed as error:
        return Refused("git", f"Nothing was written: {error.message}", None, error.next or "")
    except OSError as error:
        return Refused("disk", f"Nothing was written: {error.strerror} ({error.filename or 'git folder'}).")
