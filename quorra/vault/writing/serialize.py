"""Writes notes back: an unchanged note is its own bytes, an edit touches only what it names."""

import codecs
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from quorra.errors import QuorraError
from quorra.vault.note import Note
from quorra.vault.reading import frontmatter, parse

ORDER = ("title", "type", "created", "updated", "tags", "entities", "author", "source")
_PLAIN = re.compile(r"[^\W_](?:[^:#\n]|:(?=\S)|(?<=\S)#)*")
_FLOW = re.compile(r"[^\W_][^:#\n,\[\]{}]*")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Unwritable(QuorraError):
    """The frontmatter of a note can't be changed without risk to what else stands in it."""

    code = "unwritable"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"The frontmatter of {path} can't be changed: {why}.", "Mend it by hand, then try again.")


def note(value: Note) -> bytes:
    """Gives the bytes of a note, exactly as they were read."""
    return value.raw


def assemble(metadata: Mapping[str, Any], body: str) -> bytes:
    """Makes a new note: fields in canonical order, lists in one line, dates bare; a body without block stays bare."""
    body = body.lstrip("\n")
    if body and not body.endswith("\n"):
        body += "\n"
    known = [key for key in ORDER if key in metadata]
    lines = [_line(key, metadata[key]) for key in (*known, *(key for key in metadata if key not in ORDER))]
    if not lines:
        return (f"---\n---\n{body}" if frontmatter.find(body) else body).encode()
    return ("---\n" + "\n".join(lines) + f"\n---\n\n{body}").encode()


def with_field(value: Note, key: str, to: Any) -> bytes:
    """Sets one key of the frontmatter and leaves every other byte alone; raises Unwritable."""
    if encoded(value, value.text) != value.raw:
        raise Unwritable(value.path, "the file is not UTF-8")
    edited = encoded(value, _edited(value, key, to))
    again = parse.note(value.path, edited)
    if again.metadata != {**value.metadata, key: _read(to)} or again.body != value.body:
        raise Unwritable(value.path, f"{key} is bound up with other keys")
    return edited


def encoded(value: Note, text: str) -> bytes:
    """Gives the bytes of another text of a note, behind the byte-order mark if it has one."""
    return (codecs.BOM_UTF8 if value.raw.startswith(codecs.BOM_UTF8) else b"") + text.encode()


def line_end(text: str) -> str:
    """Gives the line end that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def _edited(value: Note, key: str, to: Any) -> str:
    text = value.text
    end = line_end(text)
    found = frontmatter.find(text)
    if not found:
        return f"---{end}{_line(key, to)}{end}---{end}{text}"
    start, stop, _ = found
    block = text[start:stop]
    if any(issue.severity == "error" and issue.code.startswith("frontmatter") for issue in value.issues):
        raise Unwritable(value.path, "it can't be read as it is")
    extents = frontmatter.values(block).get(key)
    if not extents:
        return f"{text[:stop]}{_line(key, to)}{end}{text[stop:]}"
    colon, first, last = extents
    between = block[colon + 1 : first]
    if not between or between.strip(" ") or first == last:
        first, between = colon + 1, " "
        last = max(last, first)
    return text[:start] + block[: colon + 1] + between + _value(to) + block[last:] + text[stop:]


def _line(key: str, value: Any) -> str:
    return f"{_text(key, flow=True, key=True)}: {_value(value)}".rstrip()


def _value(value: Any, flow: bool = False) -> str:
    if isinstance(value, Mapping):
        parts = (f"{_text(str(key), flow=True, key=True)}: {_value(part, flow=True)}" for key, part in value.items())
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(_value(part, flow=True) for part in value)
        return f"[ {inner} ]" if inner.startswith("[") else f"[{inner}]"  # two brackets would be a link
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return str(value)
    return _text(value.isoformat() if isinstance(value, date) else str(value), flow)


def _text(text: str, flow: bool, key: bool = False) -> str:
    """Writes a text plain where it reads back as the same text, else between double quotes."""
    plain = (_FLOW if flow else _PLAIN).fullmatch(text) and text.isprintable() and text == text.strip()
    if plain and (key or frontmatter.plain(text) == text):
        return text
    return '"' + "".join(_ESCAPES.get(sign) or (sign if sign.isprintable() else _escape(sign)) for sign in text) + '"'


def _escape(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _read(value: Any) -> Any:
    """Gives a value as reading it back gives it."""
    if isinstance(value, Mapping):
        return {str(key): _read(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_read(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value
