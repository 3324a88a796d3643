"""Writing a note: named, judged, and handed to the gate as one change."""

from dataclasses import dataclass, replace

from quorra.access import gate
from quorra.errors import QuorraError
from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Outcome, Refused, Stale
from quorra.ledger.snapshot import hidden
from quorra.vault import parse
from quorra.vault.library import Library
from quorra.vault.note import Issue
from quorra.vault.texts import complete


class BadName(QuorraError):
    """The name can't be a note's."""

    code = "bad_name"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} can't be a note's path.", gate.NAMED)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write, in the fields that every surface prints."""

    outcome: str
    commit: str | None = None
    proposal: str | None = None
    reason: str | None = None
    issues: tuple[Issue, ...] = ()
    code: str | None = None
    next: str | None = None


def note(library: Library, name: str, content: bytes, origin: Origin, expect: str | None) -> Written:
    """Writes a note as one commit, or says why not; raises BadName.

    ``expect`` is the blob that the file must still have on disk, empty where
    there may be none yet, None to overwrite whatever is there now.
    """
    refused = gate.barred(origin.principal)
    if refused is not None:
        # Before anything is looked at: what a stranger's links lead to is told to nobody.
        return _told(refused, ())
    name = _named(name)
    texts = library.texts
    path = texts.settings.inside(name)
    places = texts.places()
    issues = library.judge(parse.note(name, content), places)
    if any(issue.severity == "error" for issue in issues):
        return _told(
            Refused("errors", f"{name} has errors; nothing was written.", name, "Mend them and try again."), issues
        )
    double = library.double(name, places)
    if double:
        reason = f"{name} differs from {double}, which is there already, by no more than case or Unicode form."
        return _told(Refused("double", reason, name, "Spell it the same way, or choose another name."), issues)
    now = texts.now(path)
    expected = (now[0] if now else None) if expect is None else expect or None
    subject = origin.reason or f"{'Change' if now else 'Add'} {name}"
    change = ChangeSet((Edit(path, content, expected),), subject, replace(origin, reason=origin.reason or subject))
    return _told(gate.apply(change, origin.principal, texts), issues)


def _told(done: Outcome, issues: tuple[Issue, ...]) -> Written:
    match done:
        case Applied(commit):
            return Written("applied", commit=commit, issues=issues)
        case Refused(code, reason):
            return Written("refused", reason=reason, issues=issues, code=code, next=done.next)
        case Stale(_, reason):
            return Written("stale", reason=reason, issues=issues, code="stale", next=done.next)


def _named(name: str) -> str:
    if not name.isprintable() or hidden(name) or "" in name.split("/"):
        raise BadName(name)
    return complete(name)
