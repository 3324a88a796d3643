"""Writing a note: named, judged, and made one change for the gate."""

import os
from collections.abc import Mapping
from typing import Any

from quorra.access import gate
from quorra.access.changes import patch
from quorra.access.planned import Planned, Written, told
from quorra.errors import QuorraError
from quorra.ledger.change import ChangeSet, Edit, Origin, Refused, Stale
from quorra.ledger.snapshot import hidden
from quorra.vault.library import Library
from quorra.vault.reading import parse
from quorra.vault.texts import ENDING, Texts, complete

# Zero-width signs that words of some scripts, and emoji of several parts, are written with.
JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))


class BadName(QuorraError):
    """The name can't be a note's."""

    code = "bad_name"

    def __init__(self, name: str, why: str, next: str = gate.NAMED) -> None:
        super().__init__(f"{name!r} can't be a note's path: {why}.", next)


def plan(library: Library, name: str, content: bytes, origin: Origin, expect: str | None) -> Planned | Written:
    """Plans a note's new text, refused where it has errors; raises BadName.

    ``expect`` is the blob that the file must still have on disk, empty where
    there may be none yet, None to overwrite whatever is there now.
    """
    texts = library.texts
    name = named(texts, name)
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
    change = ChangeSet((Edit(path, content, expected),), subject, origin.because(subject))
    return Planned(change, issues)


def payload(library: Library, name: str, content: bytes) -> dict[str, Any]:
    """Gives what has to be kept of a write, so that it can be done later on a text that changed elsewhere."""
    name = named(library.texts, name)
    now = library.texts.held(name)
    return {"path": name, "before": now and kept_text(now[1]), "after": kept_text(content)}


def again(library: Library, kept: Mapping[str, Any], origin: Origin) -> Planned | Written:
    """Plans a kept write on today's text; stale only where a line that it changes no longer stands as it was."""
    try:
        name = named(library.texts, kept["path"])
    except BadName as error:
        return told(Refused(error.code, error.message, kept["path"], error.next))
    now = library.texts.held(name)
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


def named(texts: Texts, name: str, within: str = "") -> str:
    """Gives the path of the note that a name means below a folder, judged by where links lead; raises BadName.

    A name that is there already may hold what a new one may not.
    """
    path = complete(f"{within}/{name}" if within else name)
    why = _unfit(name) or _odd(texts, path)
    if why:
        raise BadName(name, why)
    counted = texts.counted(path)
    if counted:
        raise BadName(name, "paths count from the vault", f"Write it as {counted}")
    found = _led(texts, path)
    limit = _led(texts, within) if within else ""
    if found is None or limit is None or (limit and not found.startswith(f"{limit}/")):
        raise BadName(name, f"a link on the way leads out of {f'{within}/' if within else 'the vault'}")
    return found


def _led(texts: Texts, name: str) -> str | None:
    """Names the place that a name leads to once links are followed; None where that is no note's."""
    home = os.path.realpath(texts.settings.home)
    place = os.path.realpath(f"{home}/{texts.settings.inside(name)}")
    found = texts.settings.public(place[len(home) + 1 :]) if place.startswith(f"{home}/") else None
    return found if found and not found.startswith("/") and not hidden(found) else None


def _unfit(name: str) -> str:
    """Says why a name is no note's at all; empty where it may be one."""
    parts = name.removesuffix(ENDING).split("/")
    reasons = (
        (name.startswith("/"), "it begins with a slash"),
        (".." in parts, "it leads upwards"),
        ("" in parts, "a part of it is empty"),
        (hidden(name), "a part of it begins with a dot, as hidden files do"),
        ("\0" in name, "it holds a null character"),
    )
    return next((reason for found, reason in reasons if found), "")


def _odd(texts: Texts, path: str) -> str:
    """Says why nothing new is called so; what is there already keeps its name."""
    home = str(texts.settings.home)
    *folders, name = path.split("/")
    made = [os.path.isdir(f"{home}/{texts.settings.inside('/'.join(folders[: at + 1]))}") for at in range(len(folders))]
    fresh = [folder for folder, there in zip(folders, made, strict=True) if not there]
    if not os.path.lexists(f"{home}/{texts.settings.inside(path)}"):
        fresh.append(name.removesuffix(ENDING))
    reasons = (
        (not "".join(fresh).translate(JOINERS).isprintable(), "it holds characters that can't be seen"),
        (any(part != part.strip() for part in fresh), "a part of it begins or ends with a space"),
        (any(part.endswith(".") for part in fresh), "a part of it ends with a dot"),
    )
    return next((reason for found, reason in reasons if found), "")
