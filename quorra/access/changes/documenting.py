"""Documenting: a note assembled from its fields, applied where it is new and parked where it would overwrite.

The owner's own command says with ``expect`` that it means the note that is
there; what a tool writes is created at once, and waits in the inbox where a
note of that name is there already.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from quorra.access import gate
from quorra.access.changes import writing
from quorra.access.planned import Written, told
from quorra.access.window import OWNER
from quorra.ledger.change import Origin, Refused, Stale
from quorra.vault.library import Library
from quorra.vault.note import Note
from quorra.vault.reading import parse
from quorra.vault.texts import ENDING, named
from quorra.vault.writing import compose
from quorra.vault.writing.compose import Fields


@dataclass(frozen=True, slots=True)
class Draft:
    """A note to be: its path (ending in ``/``, its folder), its fields, and its text, None where that is to stay.

    ``within`` is the folder that it may not leave, empty for the whole vault.
    """

    path: str
    fields: Fields
    text: bytes | None = None
    within: str = ""


@dataclass(frozen=True, slots=True)
class Composed:
    """An assembled note; ``parked`` where it has to be asked for, ``expect`` as in ``writing.plan``."""

    note: Note
    expect: str
    parked: bool
    shift: int


def make(
    library: Library, draft: Draft, origin: Origin, day: date, *, expect: str | None, propose: bool
) -> Composed | Written:
    """Assembles a note that is new, or sets what is given in one that is there; raises BadName and Uncomposed."""
    texts = library.texts
    path = _path(library, draft, strict=origin.tool is not None)
    now = texts.held(path)
    asks = propose or origin.tool is not None
    if now is not None and not expect and (not asks or draft.path.endswith("/")):
        return told(_taken(path, draft))
    if expect and (now is None or now[0] != expect):
        return told(Stale(path, f"{path} is {'gone' if now is None else 'not what it was when it was read'}."))
    fields = _filled(library, draft.fields, origin, new=now is None)
    text = None if draft.text is None else compose.text(path, draft.text)
    if now is None:
        note = compose.new(path, fields, text or "", day)
        lines = (text or "").rstrip("\r\n").count("\n") + 1
        return Composed(note, "", propose, note.text.rstrip("\r\n").count("\n") + 1 - lines)
    note = compose.revised(parse.note(path, now[1]), fields, text, day)
    return Composed(note, now[0], asks, 0)


def carry(library: Library, made: Composed | Written, origin: Origin) -> Written:
    """Writes an assembled note; where it is refused, its issues count the lines of the text that was given."""
    if isinstance(made, Written):
        return made
    planned = writing.plan(library, made.note.path, made.note.raw, origin, made.expect)
    if isinstance(planned, Written):
        issues = (replace(issue, line=max(1, issue.line - made.shift)) for issue in planned.issues)
        return replace(planned, issues=tuple(issues))
    return gate.carry(planned, origin.principal, library.texts)


def payload(library: Library, made: Composed) -> Mapping[str, Any]:
    """Gives what has to be kept of an assembled note that waits in the inbox."""
    return writing.payload(library, made.note.path, made.note.raw)


def _path(library: Library, draft: Draft, strict: bool) -> str:
    """Gives the draft's path: one that is named, or the title's slug in a folder; kebab-case where it is ``strict``."""
    path = draft.path
    if path.endswith("/"):
        name = compose.slug(draft.fields.title)
        if not name:
            raise writing.BadName(path, "the title holds no letter or digit to name it by", "Give the note a name.")
        return writing.named(library.texts, path + name, draft.within)
    found = writing.named(library.texts, path, draft.within)
    folder, _, name = path.removesuffix(ENDING).rpartition("/")
    kebab = compose.slug(name)
    if strict and kebab != name and library.texts.held(found) is None:
        better = f"{folder}/{kebab}" if folder else kebab
        raise writing.BadName(path, "a new note's name is in kebab-case", f"Write it as {better}{ENDING}")
    return found


def _taken(path: str, draft: Draft) -> Refused:
    """Refuses to overwrite what nobody said they had read."""
    helps = "Say which text you have read with --expect, or ask for the change with --propose."
    if draft.path.endswith("/"):
        helps = "Choose another title, or name the note instead of its folder."
    return Refused("taken", f"{path} is there already; nothing was written.", path, helps)


def _filled(library: Library, fields: Fields, origin: Origin, new: bool) -> Fields:
    """Fills in who writes a new note, and gives entities as the paths of the notes that they name."""
    places = library.texts.places() if fields.entities else ()
    found = (named(name, places) or name for name in fields.clean().entities)
    author = fields.author
    if new and not author:
        owner = library.texts.settings.owner.name
        author = "Quorra" if origin.tool else owner if origin.principal == OWNER else origin.principal
    return replace(fields, entities=tuple(found), author=author)
