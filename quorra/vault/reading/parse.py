"""Parses a file's bytes into a Note, whatever they hold."""

import codecs
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from quorra.vault.note import MONTHS, Block, Heading, Issue, Note, Span
from quorra.vault.reading import frontmatter, markdown

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_MONTHS = [name[:3].lower() for name in MONTHS]
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})[a-z]*\\.?"
_DAY = r"(?<!\d)(?P<day>\d\d?)(?:st|nd|rd|th)?"
_DAYS = (
    re.compile(r"(?<!\d)(?P<year>\d{4})(?P<sign>[-/])(?P<month>\d\d)(?P=sign)(?P<day>\d\d)(?!\d)"),
    re.compile(rf"{_DAY}\s(?:of\s)?{_MONTH},?\s(?P<year>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s{_DAY},?\s(?P<year>\d{{4}})(?!\d)", re.IGNORECASE),
)
_DATES = ("date", "created", "updated")


def _single_byte(error: UnicodeError) -> tuple[str, int]:
    """Reads what is not UTF-8 as Windows-1252, the likeliest of the old encodings."""
    assert isinstance(error, UnicodeDecodeError)
    piece = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252", "replace") for byte in piece), error.end


codecs.register_error("quorra-cp1252", _single_byte)


def note(path: str, raw: bytes) -> Note:
    """Parses one file; total: any bytes give a note, and what is not understood gives an issue."""
    text, issues = _decode(raw)
    start, matter, found = _matter(text)
    issues += found
    body = text[start:]
    lines = text.count("\n", 0, start) + 1
    headings, blocks, links = markdown.read(body, start, lines)
    metadata: dict[str, Any] = {}
    title = ""
    if matter:
        metadata, title = matter.metadata, matter.title
        links = matter.links + links
        if not matter.valid and (kept := _kept(text, matter)):
            blocks.insert(0, kept)
    title = _title(metadata.get("title"), title, headings)
    return Note(
        path, raw, text, start, metadata, title, _date(metadata, title), _tags(metadata.get("tags")),
        tuple(headings), tuple(blocks), tuple(links), tuple(issues),
    )  # fmt: skip


def linked(path: str, raw: bytes) -> Note:
    """Parses a file for its links and issues: a Note with no title, headings or blocks, in half the time."""
    text, issues = _decode(raw)
    start, matter, found = _matter(text)
    held = markdown.links(text[start:], start, text.count("\n", 0, start) + 1)
    every = matter.links + held if matter else held
    return Note(path, raw, text, start, {}, "", None, (), (), (), tuple(every), tuple(issues + found))


def _matter(text: str) -> tuple[int, frontmatter.Matter | None, list[Issue]]:
    """Gives where the body starts, the frontmatter before it, and what is wrong there."""
    fence = frontmatter.find(text)
    if fence:
        matter = frontmatter.read(text, fence[0], fence[1])
        return fence[2], matter, matter.issues
    if text[:4] in ("---\n", "---\r"):
        message = "The line --- opens no frontmatter, as no second one closes it."
        return 0, None, [Issue("info", "frontmatter-unclosed", 1, message)]
    return 0, None, []


def _decode(raw: bytes) -> tuple[str, list[Issue]]:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        message = "The file is UTF-16; it is read as such, but UTF-8 is what every tool here writes."
        return raw.decode("utf-16", "replace"), [Issue("warning", "not-utf8", 1, message)]
    try:
        text = raw.decode()
        return text[1:] if text[:1] == "\ufeff" else text, []
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = "The file is not UTF-8; the odd bytes are read as Windows-1252 and kept as they are."
        return raw.decode("utf-8-sig", "quorra-cp1252"), [Issue("warning", "not-utf8", line, message)]


def _kept(text: str, matter: frontmatter.Matter) -> Block | None:
    """Keeps frontmatter that could not be read as a block, so that its words are found."""
    block = text[matter.start : matter.end].rstrip()
    if not block:
        return None
    return Block("code", block, (2, 2 + block.count("\n")), Span(matter.start, matter.start + len(block)), -1)


def _title(written: Any, salvaged: str, headings: list[Heading]) -> str:
    if isinstance(written, str) and written.strip():
        return written.strip()
    if isinstance(written, int | float) and not isinstance(written, bool):
        return str(written)
    return salvaged or (headings[0].text if headings else "")


def _date(metadata: Mapping[str, Any], title: str) -> str | None:
    """Gives the first day that the fields for it, or else the title, name in digits or in English words."""
    for value in (*map(metadata.get, _DATES), title):
        if isinstance(value, str) and _YEAR.search(value):
            for form in _DAYS:
                if (found := form.search(value)) and (day := _day(found)):
                    return day
    return None


def _day(found: re.Match[str]) -> str | None:
    month = found["month"].lower()
    try:
        number = int(month) if month.isdecimal() else _MONTHS.index(month) + 1
        return date(int(found["year"]), number, int(found["day"])).isoformat()
    except ValueError:
        return None


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    elif not isinstance(value, list):
        value = [value]
    plain = (part for part in value if isinstance(part, str | int | float) and not isinstance(part, bool))
    words = (str(part).strip().lstrip("#") for part in plain)
    return tuple(dict.fromkeys(word for word in words if word))
