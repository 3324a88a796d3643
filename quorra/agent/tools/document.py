"""The tool that writes a note: a new one at once, over one that is there only once a person has said yes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quorra.access.changes.documenting import Draft
from quorra.access.changes.writing import BadName
from quorra.agent.calling.tool import Reach, Result, Tool
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told import given, quoted, written
from quorra.agent.tools.told.given import Named, Text, Texts
from quorra.vault.links import fold
from quorra.vault.reading import parse
from quorra.vault.texts import ENDING, is_note, named
from quorra.vault.writing import compose
from quorra.vault.writing.compose import Fields, Uncomposed
from quorra.vault.writing.serialize import Unwritable

_INBOX = "inbox"


LONGEST = 100_000
"""Characters of a note that a model may write."""


class Document(msgspec.Struct, kw_only=True):
    """Write a note. Where one of that path is there already, the change waits until a person approves it."""

    title: Text = ""
    text: Annotated[Text, Meta(description="Markdown, without frontmatter")]
    folder: Annotated[Text, Meta(description="for a new note; its name comes from the title")] = ""
    path: Annotated[Text, Meta(description="instead of folder")] = ""
    summary: Annotated[Text, Meta(description="one sentence on what it holds")] = ""
    type: Text = ""
    tags: Texts = ()
    entities: Annotated[Texts, Meta(description="paths of notes it is about")] = ()
    reason: Text = ""


def document(reach: Reach, call: Document) -> Result:
    """Assembles a note from its fields and writes or parks it."""
    fields, text = _fields(call)
    if not text.strip() and not fields.summary:
        return Result("Not written: text is empty. Give the whole text of the note.", ok=False)
    if len(text) > LONGEST:
        return Result(f"Not written: text is longer than {LONGEST} characters. Write several notes.", ok=False)
    there = given.seen(reach)
    path, said = _path(reach, call, fields.title, there)
    if not reach.window.sees(path + "x" if path.endswith("/") else path):
        return Result("Not written: that lies out of view here. Ask in a conversation of your own.", ok=False)
    if not fields.title and not path.endswith("/") and path not in there:
        name = path.removesuffix(ENDING).rpartition("/")[2]
        fields = replace(fields, title=name.replace("-", " ").capitalize())
    if not fields.title and path.endswith("/"):
        return Result("Not written: it has no title. Give title.", ok=False)
    entities = _entities(reach, fields.entities, there)
    if isinstance(entities, str):
        return Result(f"Not written: among entities: {entities}", ok=False)
    draft = Draft(path, replace(fields, entities=entities), text.encode("utf-8", "surrogatepass"))
    return _written(reach, draft, given.text(call.reason), said)


def _written(reach: Reach, draft: Draft, reason: str, said: str) -> Result:
    """Writes or parks a note and tells which it was."""
    try:
        done = reach.rooms.changes.document(draft, reach.origin("document", reason))
        if not reach.window.whole:
            done = replace(done, issues=())  # of links they would tell which notes there are out of view
    except (BadName, Uncomposed, Unwritable) as error:
        known = quoted.names(given.folders(given.seen(reach)), 20)
        folders = f" The folders are: {known}." if isinstance(error, BadName) and known else ""
        return Result(f"Not written. {quoted.plain(f'{error.message} {error.next}')}{folders}", ok=False)
    if done.code == "taken":
        taken = f"{draft.path}{compose.slug(draft.fields.title)}{ENDING}"
        told = f"Not written: {quoted.inline(taken, 400)} is there already. Read it. Then choose another title, or"
        return Result(f"{told} call again with that as path and the whole new text: a person is asked.", ok=False)
    found = written.result(done, reach, said)
    return replace(found, text=f"{quoted.names(found.targets)}: {found.text}") if found.ok else found


def _fields(call: Document) -> tuple[Fields, str]:
    """Gives the fields and the text; what frontmatter in the text says fills the fields that were not given."""
    told = given.text(call.text)
    # A model that wrote the whole note in one line of JSON escaped its line ends twice.
    if "\n" not in told and told.count("\\n") > 1:
        told = told.replace("\\n", "\n")
    note = parse.note("", told.encode("utf-8", "surrogatepass"))
    own: Mapping[str, Any] = note.metadata if note.body_start else {}
    body = note.body.lstrip("\r\n") if own else told
    title = given.text(call.title) or given.text(own.get("title"))
    if not title and note.headings and note.headings[0].level == 1:
        title = note.headings[0].text
    return Fields(
        title=title,
        summary=given.text(call.summary) or given.text(own.get("summary")),
        type=given.text(call.type) or given.text(own.get("type")),
        tags=given.texts(call.tags) or given.texts(own.get("tags")),
        entities=given.texts(call.entities) or given.texts(own.get("entities")),
        source=given.text(own.get("source")),
    ), body


def _path(reach: Reach, call: Document, title: str, there: Sequence[str]) -> tuple[str, str]:
    """Gives where the note is to lie, a folder with a slash at its end, and what was taken for what.

    A path goes before a folder, a note that is there before a new one of its bare name.
    """
    path, folder = (_clean(reach, given.text(value), there) for value in (call.path, call.folder))
    folder = folder.rstrip("/")
    if folder.endswith(ENDING) and not path:
        path, folder = folder, ""
    if path.endswith("/") or (path and title and reach.rooms.library.folder(path)):
        path, folder = "", path.rstrip("/")
    if not path:
        chosen = folder or (_INBOX if reach.rooms.library.folder(_INBOX) else "")
        taken = quoted.inline(chosen) if chosen else "the top of the vault"
        said = "" if folder else f"(No folder was given; {taken} was taken.)\n"
        return (f"{chosen}/", said) if chosen else (f"{compose.slug(title)}{ENDING}", said)
    if "/" not in path:
        known = None if folder else named(path, [name for name in there if is_note(name)])
        if known:
            return known, f"({quoted.inline(path)} was taken for {quoted.inline(known)}.)\n" if known != path else ""
        path = f"{folder}/{path}" if folder else path
    above, _, name = path.removesuffix(ENDING).rpartition("/")
    kebab = f"{above}/{compose.slug(name)}{ENDING}" if above else f"{compose.slug(name)}{ENDING}"
    if f"{path.removesuffix(ENDING)}{ENDING}" in there or not compose.slug(name) or kebab == path:
        return path, ""
    return kebab, f"({quoted.inline(path)} was taken for {quoted.inline(kebab)}.)\n"


def _clean(reach: Reach, name: str, there: Sequence[str]) -> str:
    """Gives a path as it counts from the vault, its folders spelled as those that there are."""
    found = given.counted(reach, name)
    for folder in sorted(given.folders(there), key=len, reverse=True):
        if fold(f"{found}/").startswith(f"{fold(folder)}/") and len(folder) == len(fold(folder)):
            return folder + found[len(folder) :]
    return found


def _entities(reach: Reach, names: Sequence[str], there: Sequence[str]) -> tuple[str, ...] | str:
    """Gives the paths of the notes that are named; a sentence where one of them is none."""
    found: list[str] = []
    for name in names:
        known = given.file(reach, name, there)
        if not isinstance(known, Named):
            return known or given.missing(name, there)
        found.append(known.path.removesuffix(ENDING))
    return tuple(found)


TOOLS = (Tool("document", Document, frozenset({GENERAL}), 1, document, writes=True),)
