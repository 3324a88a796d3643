"""A change that has been thought through, and what became of it in the fields that every surface prints."""

from dataclasses import dataclass

from quorra.ledger.change import Applied, ChangeSet, Outcome, Refused, Stale
from quorra.vault.note import Issue


@dataclass(frozen=True, slots=True)
class Planned:
    """A change and what a person should know of it before it is made.

    ``moved`` pairs old and new paths, ``rewritten`` names the notes whose links
    were spelled anew with how many, ``dangling`` counts links that lead nowhere
    before and after; None where no files move.
    """

    change: ChangeSet
    issues: tuple[Issue, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    rewritten: tuple[tuple[str, int], ...] = ()
    dangling: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write.

    ``outcome`` is ``applied``, ``parked``, ``refused`` or ``stale``, ``planned``
    where it was only shown, ``declined`` where a person said no. ``dangling``
    counts as a plan does what one that was refused would have left.
    """

    outcome: str
    commit: str | None = None
    proposal: str | None = None
    reason: str | None = None
    issues: tuple[Issue, ...] = ()
    code: str | None = None
    next: str | None = None
    planned: Planned | None = None
    dangling: tuple[int, int] | None = None

    @property
    def good(self) -> bool:
        """Tells whether it was done as it was wanted."""
        return self.outcome in ("applied", "declined")


def told(done: Outcome, issues: tuple[Issue, ...] = (), planned: Planned | None = None) -> Written:
    """Gives an outcome of the ledger in the fields of a write."""
    match done:
        case Applied(commit):
            return Written("applied", commit=commit, issues=issues, planned=planned)
        case Refused(code, reason):
            return Written("refused", reason=reason, issues=issues, code=code, next=done.next)
        case Stale(_, reason):
            return Written("stale", reason=reason, issues=issues, code="stale", next=done.next)
