"""Another version of a note, from a sync client or a remote, as a three-way merge that a person looks at."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from quorra.access.changes.writing import kept_bytes, kept_text
from quorra.access.planned import Planned, Written, told
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused, Stale
from quorra.vault.library import Library
from quorra.vault.texts import Texts

_DEEP = 20


def payload(
    texts: Texts, name: str, theirs: bytes, *, copy: str | None = None, base: bytes | None = None
) -> dict[str, Any]:
    """Gives what has to be kept of another version of a note.

    ``copy`` names the file that holds it and goes once it is merged in;
    without a ``base`` the newest version in the history that both may come
    from is taken.
    """
    if base is None:
        now = texts.held(name)
        base = next(_older(texts, name, {now[1] if now else None, theirs}), None)
    return {
        "path": name,
        "base": None if base is None else kept_text(base),
        "theirs": kept_text(theirs),
        "copy": copy,
    }


def plan(library: Library, kept: Mapping[str, Any], origin: Origin) -> Planned | Written:
    """Plans the merge on today's text; where both sides changed the same lines, both stand one after the other."""
    texts = library.texts
    path = texts.settings.inside(kept["path"])
    now = texts.now(path)
    if now is None and kept["copy"] is not None:
        reason = f"{kept['path']}, of which {kept['copy']} is a copy, is not there any more."
        helps = "Decline it; a copy that moved with its note is met again under its new name."
        return replace(told(Stale(kept["path"], reason)), next=helps)
    theirs = kept_bytes(kept["theirs"])
    base = b"" if kept["base"] is None else kept_bytes(kept["base"])
    merged = theirs if now is None else texts.ledger.union(now[1], base, theirs)
    edits = [] if now and merged == now[1] else [Edit(path, merged, now[0] if now else None)]
    edits += _removed(texts, kept["copy"], theirs)
    if not edits:
        reason = f"{kept['path']} holds the other version already."
        return told(Refused("nothing", reason, kept["path"], "Decline it: there is nothing left to do."))
    subject = f"{'Merge another version of' if now else 'Bring back' if base else 'Add'} {kept['path']}"
    return Planned(ChangeSet(tuple(edits), subject, origin.because(subject)))


def _removed(texts: Texts, copy: str | None, theirs: bytes) -> list[Edit]:
    """Removes the copy, if it still holds what is merged."""
    if copy is None:
        return []
    path = texts.settings.inside(copy)
    now = texts.now(path)
    return [Edit(path, None, now[0])] if now and now[1] == theirs else []


def _older(texts: Texts, name: str, known: set[bytes | None]) -> Iterator[bytes]:
    """Gives the newest versions of a note that are none of the known ones."""
    path = texts.settings.inside(name)
    for entry in texts.ledger.log(path, _DEEP, follow=False):
        content = texts.ledger.at(entry.commit, path)
        if content is not None and content not in known:
            yield content
