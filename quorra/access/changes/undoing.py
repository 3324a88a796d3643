"""Undoing a commit: its opposite as a change for the gate, on today's texts."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from quorra.access.changes import patch
from quorra.access.planned import Planned, Written, told
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused, Stale
from quorra.vault.texts import Texts

LATER = "Undo the later commit first, which quorra log names, or change the lines by hand."


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
            return replace(told(edit), next=LATER)
        edits += [edit] if edit else []
    made, gone = ledger.folders(commit)
    emptied = _hollow(ledger.root, made, {edit.path for edit in edits if edit.content is None})
    missing = ledger.missing(gone)
    if not edits and not emptied and not missing:
        away = ledger.missing(made)
        return _nothing(commit, [folder for folder in made if folder not in away])
    subject = f"Undo {commit[:10]}: {ledger.subject(commit)}"
    return Planned(ChangeSet(tuple(edits), subject, origin.because(subject), tuple(missing), emptied))


def _hollow(root: Path, folders: Iterable[str], leaving: set[str]) -> tuple[str, ...]:
    """Gives those of some folders that hold nothing but each other and the files that are leaving."""
    made = set(folders)

    def empties(folder: str) -> bool:
        with os.scandir(root / folder) as entries:
            inside = [(f"{folder}/{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
        return (bool(inside) or folder in made) and all(
            empties(path) if deep else path in leaving for path, deep in inside
        )

    return tuple(folder for folder in sorted(made, reverse=True) if (root / folder).is_dir() and empties(folder))


def _nothing(commit: str, full: list[str]) -> Written:
    if full:
        stale = told(Stale(full[-1], f"{full[-1]} is not empty any more."))
        return replace(stale, next="Move what it holds elsewhere, then undo again.")
    reason = f"There is nothing of {commit[:10]} left to undo."
    return told(Refused("nothing", reason, None, "See what was changed since with: quorra log"))


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
