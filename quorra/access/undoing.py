"""Undoing a commit: its opposite as a change for the gate, on today's texts."""

from dataclasses import replace

from quorra.access import patch
from quorra.access.planned import Planned, Written, told
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused, Stale
from quorra.vault.texts import Texts


def plan(texts: Texts, revision: str, origin: Origin) -> Planned | Written:
    """Plans the opposite of a commit; stale where what it wrote has changed since, line by line.

    Raises UnknownRevision.
    """
    ledger = texts.ledger
    commit = ledger.resolve(revision)
    parents = ledger.parents(commit)
    if len(parents) != 1:
        what = "joins two histories" if parents else "is the first one"
        reason = f"{commit[:10]} {what} and can't be undone."
        return told(Refused("undo", reason, None, "Undo later commits one by one."))
    before, after = ledger.changes(commit, parents[0]), ledger.changes(parents[0], commit)
    if set(ledger.touched(commit)) - set(after):
        reason = f"{commit[:10]} changes more than notes and facts."
        return told(Refused("undo", reason, None, "Undo it with git revert."))
    edits: list[Edit] = []
    for path in sorted(after):
        edit = _opposite(texts, path, before[path], after[path])
        if isinstance(edit, Stale):
            return told(edit)
        edits += [edit] if edit else []
    subject = f"Undo {commit[:10]}: {ledger.subject(commit)}"
    return Planned(ChangeSet(tuple(edits), subject, replace(origin, reason=origin.reason or subject)))


def _opposite(texts: Texts, path: str, before: str | None, after: str | None) -> Edit | Stale | None:
    """Gives the edit that takes a path back, None where it is back already."""
    now = texts.now(path)
    blob = now[0] if now else None
    if blob == before:
        return None
    old = texts.ledger.blob(before) if before else None
    if blob == after:
        return Edit(path, old, blob)
    if now is None or old is None or after is None:
        return Stale(path, f"{path} has changed since.")
    new = texts.ledger.blob(after)
    done = patch.apply(new, patch.hunks(new, old), now[1])
    if isinstance(done, patch.Conflict):
        return Stale(path, f"{path} has changed since, at what was line {done.line}.")
    return Edit(path, done, blob)
