"""Composes notes of the schema: a new one from its fields and text, and fields set in one that is there."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from quorra.errors import QuorraError
from quorra.vault.note import Note
from quorra.vault.reading import frontmatter, parse
from quorra.vault.texts import ENDING
from quorra.vault.writing import serialize
from quorra.vault.writing.serialize import line_end

_APOSTROPHES = re.compile("['\u2019\u02bc`\u00b4]")
_LONGEST = 120  # bytes of a slug: a file's name holds 255, and a person reads fewer


class Uncomposed(QuorraError):
    """No note can be made of these fields and this text."""

    code = "uncomposed"

    def __init__(self, path: str, why: str, next: str) -> None:
        super().__init__(f"{path} was not written: {why}.", next)


@dataclass(frozen=True, slots=True)
class Fields:
    """What a note's frontmatter is to say; what is empty is not written.

    ``summary`` is the lead, which stands in the text; ``author`` and
    ``source`` are the provenance: who wrote it, and from what.
    """

    title: str = ""
    summary: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    author: str = ""
    source: str = ""

    def clean(self) -> "Fields":
        """Gives the fields as they are written: texts in one line, tags without their sign, entities as bare paths."""
        tags = (_line(tag).lstrip("# ") for tag in self.tags)
        entities = (_line(name).removeprefix("[[").removesuffix("]]").removesuffix(ENDING) for name in self.entities)
        title, summary, kind, author, source = map(
            _line, (self.title, self.summary, self.type, self.author, self.source)
        )
        return Fields(title, summary, kind, _once(tags), _once(entities), author, source)

    def metadata(self) -> dict[str, Any]:
        """Gives the frontmatter's fields, without the dates."""
        told: dict[str, Any] = {"title": self.title, "type": self.type}
        told |= {"tags": list(self.tags), "entities": list(self.entities)}
        told |= {"author": self.author, "source": self.source}
        return {key: value for key, value in told.items() if value}


def text(path: str, raw: bytes) -> str:
    """Reads what is to stand below the fields; raises Uncomposed where it brings fields of its own."""
    try:
        found = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Uncomposed(path, f"line {line} of the text is not UTF-8", "Save it as UTF-8.") from error
    if frontmatter.find(found):
        why = "its text begins with frontmatter, and the options would make a second one"
        raise Uncomposed(path, why, "Give the fields in one way: in the text, or by the options.")
    return found


def new(path: str, fields: Fields, body: str, day: date) -> Note:
    """Makes a new note of the schema and reads it back; raises Uncomposed."""
    fields = _cleaned(path, fields, body)
    if not fields.title:
        raise Uncomposed(path, "it has no title", "Give it one.")
    metadata = fields.metadata() | {"created": day.isoformat(), "updated": day.isoformat()}
    head = serialize.assemble(metadata, "").decode()
    return _agree(_laid(path, head, fields, body), metadata)


def revised(note: Note, fields: Fields, body: str | None, day: date) -> Note:
    """Sets the fields that are given in a note, and its text if one is; every other byte stays.

    Tags and entities come behind those that the note has. ``updated`` becomes
    ``day`` where anything changed. Raises Unwritable and Uncomposed.
    """
    fields = _cleaned(note.path, fields, body or "")
    if fields.summary and body is None:
        raise Uncomposed(note.path, "a summary is part of the text", "Give the whole text with it.")
    wanted = fields.metadata()
    wanted |= {key: _joined(note, key, wanted[key]) for key in ("tags", "entities") if key in wanted}
    changed = _set(note, wanted)
    if body is not None:
        changed = _set_body(changed, fields, body)
    if changed.raw == note.raw:
        return note
    wanted["updated"] = day.isoformat()
    return _agree(_set(changed, wanted), {**note.metadata, **wanted})


def _joined(note: Note, key: str, more: list[str]) -> Any:
    """Gives what a list of the frontmatter holds with more behind it, each once; a text is a list of one word."""
    had = note.metadata.get(key)
    kept = had if isinstance(had, list) else [] if had is None else list(note.tags) if key == "tags" else [had]
    clean = Fields(tags=tuple(map(str, kept)), entities=tuple(map(str, kept))).clean()
    known = clean.tags if key == "tags" else clean.entities
    fresh = [word for word in more if word not in known]
    return [*kept, *fresh] if fresh else had


def slug(title: str) -> str:
    """Gives the kebab-case name of a title: Latin letters without their accents, other scripts as they are.

    Empty where the title holds neither letter nor digit.
    """
    words = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", title)).casefold()
    letters = "".join(_letter(sign) for sign in unicodedata.normalize("NFC", words))
    found = "-".join(letters.split())
    while len(found.encode()) > _LONGEST:
        found = found.rpartition("-")[0] if "-" in found else found[:-1]
    return found


def _cleaned(path: str, fields: Fields, body: str) -> Fields:
    try:
        "".join((*map(str, fields.metadata().values()), fields.summary, *fields.tags, *fields.entities, body)).encode()
    except UnicodeEncodeError as error:
        raise Uncomposed(path, "it holds what is no valid Unicode", "Leave out the odd characters.") from error
    return fields.clean()


def _letter(sign: str) -> str:
    """Gives what a slug has of a character: itself, its Latin letter, or a gap between words."""
    if unicodedata.name(sign, "").startswith("LATIN "):
        sign = "".join(part for part in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(part))
    return sign if unicodedata.category(sign[:1] or " ")[0] in "LMN" else " "


def _laid(path: str, head: str, fields: Fields, body: str) -> Note:
    """Lays the note out under a heading of its title, but where the heading would read as something else."""
    made = _parsed(path, head, _arranged(fields, body, heading=True))
    if _top(body.lstrip("\r\n")) or (made.headings and made.headings[0].text == fields.title):
        return made
    return _parsed(path, head, _arranged(fields, body, heading=False))


def _parsed(path: str, head: str, body: str) -> Note:
    if "\r\n" in body:
        head = head.replace("\n", "\r\n")
    return parse.note(path, ((head + body) if body else head.rstrip("\r\n") + "\n").encode())


def _arranged(fields: Fields, body: str, *, heading: bool) -> str:
    """Puts heading and summary before a text; a top heading of its own stays the only one, the summary below it."""
    body = _ended(body.lstrip("\r\n"))
    top = _top(body)
    if top and not fields.summary:
        return body
    first = body[:top] if top else f"# {fields.title}" if heading else ""
    parts = (first, fields.summary, body[top:].lstrip("\r\n") if top else body)
    return _ended((line_end(body) * 2).join(part for part in parts if part))


def _top(body: str) -> int:
    """Gives where the top heading ends that a text begins with, 0 where it begins with none."""
    first = next(iter(parse.note("", body.encode()).headings), None)
    return first.span.end if first and first.text and first.level == 1 and not body[: first.span.start].strip() else 0


def _ended(body: str) -> str:
    return body if not body or body.endswith("\n") else body + line_end(body)


def _set(note: Note, wanted: Mapping[str, Any]) -> Note:
    for key, value in wanted.items():
        if note.metadata.get(key) != value:
            note = parse.note(note.path, serialize.with_field(note, key, value))
    return note


def _set_body(note: Note, fields: Fields, body: str) -> Note:
    """Exchanges the text below the frontmatter, in the note's own line ends."""
    titled = bool(note.headings) and note.headings[0].level == 1
    told = _arranged(Fields(title=fields.title or note.title, summary=fields.summary), body, heading=titled)
    if "\n" in note.text:
        told = told.replace("\r\n", "\n").replace("\n", line_end(note.text))
    gap = note.body[: len(note.body) - len(note.body.lstrip("\r\n"))]
    return parse.note(note.path, serialize.encoded(note, note.text[: note.body_start] + gap + told))


def _agree(made: Note, metadata: Mapping[str, Any]) -> Note:
    """Gives a note back if it reads as what it was made of; raises Uncomposed."""
    if made.metadata != metadata:
        raise Uncomposed(made.path, "it would not read back as it was given", "Write its frontmatter by hand.")
    return made


def _line(written: str) -> str:
    return " ".join(written.split())


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))
