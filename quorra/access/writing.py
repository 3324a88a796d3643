"""Writing a note: named, judged, and made one change for the gate."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quorra.access import gate, patch
from quorra.access.planned import Planned, Written, told
from quorra.errors import QuorraError
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused, Stale
from quorra.ledger.snapshot import hidden
from quorra.vault import parse
from quorra.vault.library import Library
from quorra.vault.texts import complete


class BadName(QuorraError):
    """The name can't be a note's."""

    code = "bad_name"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} can't be a note's path.", gate.NAMED)


def plan(library: Library, name: str, content: bytes, origin: Origin, expect: str | None) -> Planned | Written:
    """Plans a note's new text, refused where it has errors; raises BadName.

    ``expect`` is the blob that the file must still have on disk, empty where
    there may be none yet, None to overwrite whatever is there now.
    """
    name = _named(name)
    texts = library.texts
    path = texts.settings.inside(name)
    places = texts.places()
    issues = library.judge(parse.note(name, content), places)
    if any(issue.severity == "error" for issue in issues):
        reason = f"{name} has errors; nothing was written."
        return told(Refused("errors", reason, name, "Mend them and try again."), issues)
    double = library.double(name, places)
    if double:
        reason = f"{name} differs from {double}, which is there already, by no more than case or Unicode form."
        return told(Refused("double", reason, name, "Spell it the same way, or choose another name."), issues)
    now = texts.now(path)
    expected = (now[0] if now else None) if expect is None else expect or None
    subject = origin.reason or f"{'Change' if now else 'Add'} {name}"
    change = ChangeSet((Edit(path, content, expected),), subject, replace(origin, reason=origin.reason or subject))
    return Planned(change, issues)


def payload(library: Library, name: str, content: bytes) -> dict[str, Any]:
    """Gives what has to be kept of a write, so that it can be done later on a text that changed elsewhere."""
    name = _named(name)
    now = library.texts.now(library.texts.settings.inside(name))
    return {"path": name, "before": now and kept_text(now[1]), "after": kept_text(content)}


def again(library: Library, kept: Mapping[str, Any], origin: Origin) -> Planned | Written:
    """Plans a kept write on today's text; stale only where a line that it changes no longer stands as it was."""
    name = kept["path"]
    now = library.texts.now(library.texts.settings.inside(name))
    before, after = kept["before"], kept_bytes(kept["after"])
    if (now is None) != (before is None):
        return told(Stale(name, f"{name} {'is there already' if before is None else 'is gone'}."))
    if now is not None:
        old = kept_bytes(before)
        done = patch.apply(old, patch.hunks(old, after), now[1])
        if isinstance(done, patch.Conflict):
            return told(Stale(name, f"{name} has changed at what was line {done.line}."))
        after = done
    return plan(library, name, after, origin, now[0] if now else "")


def kept_text(content: bytes) -> str:
    """Writes bytes as a text that a payload can hold."""
    return content.decode("utf-8", "surrogateescape")


def kept_bytes(text: str) -> bytes:
    """Gives the bytes that a payload's text stands for."""
    return text.encode("utf-8", "surrogateescape")


def _named(name: str) -> str:
    if not name.isprintable() or hidden(name) or "" in name.split("/"):
        raise BadName(name)
    return complete(name)
