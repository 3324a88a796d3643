"""Writing a note: named, judged, and handed to the gate as one change."""

from dataclasses import dataclass, replace

from quorra.access import gate
from quorra.errors import QuorraError
from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Outcome, Refused, Stale
from quorra.vault import parse
from quorra.vault.library import Library
from quorra.vault.note import Issue


class BadName(QuorraError):
    """The name can't be a note's."""

    code = "bad_name"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} can't be a note's path.", "Name it from the vault's folder: household/boiler.md")


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write, in the fields that every surface prints."""

    outcome: str
    commit: str | None = None
    proposal: str | None = None
    reason: str | None = None
    issues: tuple[Issue, ...] = ()
    code: str | None = None


def note(library: Library, name: str, content: bytes, origin: Origin, expect: str | None) -> Written:
    """Writes a note as one commit, or says why not; raises BadName.

    ``expect`` is the blob that the file must still have on disk, empty where
    there may be none yet, None to overwrite whatever is there now.
    """
    refused = gate.writer(origin.principal)
    if refused is not None:
        # Before anything is looked at: what a stranger's links lead to is told to nobody.
        return _told(refused, ())
    name = _named(name)
    texts = library.texts
    path = texts.settings.inside(name)
    issues = library.judge(parse.note(name, content))
    if any(issue.severity == "error" for issue in issues):
        return Written("refused", reason=f"{name} has errors; nothing was written.", issues=issues)
    now = texts.disk(path)
    expected = (now[0] if now else None) if expect is None else expect or None
    subject = origin.reason or f"{'Change' if now else 'Add'} {name}"
    change = ChangeSet((Edit(path, content, expected),), subject, replace(origin, reason=origin.reason or subject))
    return _told(gate.apply(change, origin.principal, texts.ledger), issues)


def _told(done: Outcome, issues: tuple[Issue, ...]) -> Written:
    match done:
        case Applied(commit):
            return Written("applied", commit=commit, issues=issues)
        case Refused(code, reason):
            return Written("refused", reason=reason, issues=issues, code=code)
        case Stale(_, reason):
            return Written("stale", reason=reason, issues=issues)


def _named(name: str) -> str:
    parts = name.split("/")
    if not name.isprintable() or any(not part or part.startswith(".") for part in parts):
        raise BadName(name)
    return name if name.endswith(".md") else f"{name}.md"
