"""Validates notes against the schema that makes them easy to find and to quote.

The schema of a good note: frontmatter with ``title`` (text), ``created`` and
``updated`` (bare ISO dates), ``tags`` (a list of words) and ``entities`` (a
list of vault paths without ``.md``), ``type``, and the provenance ``author``
and ``source`` (texts), of which only a title is needed, and that may be the
first heading instead; below it the summary lead, which is a first
paragraph of at least five words that says what the note holds, in any note
long enough to need one. Times are written as dates, links lead somewhere.

Severities: an error forbids Quorra to write the note, a warning asks for a
hand's attention, an info is a wish. Codes: ``frontmatter-*`` (what a parse
found), ``not-utf8``, ``name-not-utf8``, ``folder-spelling``, ``title-missing``, ``title-repeated``, ``date-format``,
``tags-format``, ``entities-format``, ``dangling-link``, ``relative-date``,
``no-summary-lead``, ``conflict-markers``, ``conflicted-copy``.
"""

import re
from collections.abc import Callable, Iterator

from quorra.settings import FACTS
from quorra.vault import strays
from quorra.vault.links import fold
from quorra.vault.note import Issue, Link, Note
from quorra.vault.texts import OWNED

Resolve = Callable[[Link], str | None]

_UNIT = r"(?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:january|february|march|april|(?-i:May)|june|july|august|september|october|november|december)"
_NUMBER = r"(?:\d{1,2}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|several|a couple of)"
_RELATIVE = re.compile(
    rf"\b(?:yesterday|today|tomorrow|tonight|the\sday\s(?:before\syesterday|after\stomorrow)"
    rf"|(?:last|next|this coming|this past)\s(?:{_UNIT}|{_DAY}|{_MONTH})"
    rf"|this\s(?:week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|{_DAY}|{_MONTH}|morning|evening)"
    rf"|{_NUMBER}\s(?:minute|hour|day|week|month|year)s?\sago"
    rf"|{_NUMBER}\s(?:day|week|month|year)s?\sfrom\snow)\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:\b(?:every|each|per)\s|[-\u2010]|[`\"'\u2018\u201c\u00ab\u201e]|\[\[)$", re.IGNORECASE)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:$|[T ])")
_PROSE = ("paragraph", "item", "task", "quote")
_LEAD_WORDS = 5
_LONG = 20_000


def note(value: Note, resolve: Resolve) -> list[Issue]:
    """Gives every issue of a note in order of its lines; ``resolve`` follows one of its links."""
    found = [
        *value.issues,
        *_name(value),
        *_title(value),
        *_fields(value),
        *_lead(value),
        *_times(value),
        *_conflict(value),
        *(_dangling(link) for link in value.links if resolve(link) is None),
    ]
    return sorted(found, key=lambda issue: (issue.line, issue.code))


def copied(value: Note, there: Callable[[str], bool]) -> Iterator[Issue]:
    """Warns of a name that makes the file a conflicted copy of another one that is there."""
    found = strays.original(value.path, there)
    if found:
        message = f"By its name this is a conflicted copy of {found.of} and is not searched; give it another name."
        yield Issue("warning", "conflicted-copy", 1, message)


def _name(value: Note) -> Iterator[Issue]:
    try:
        value.path.encode()
    except UnicodeEncodeError:
        yield Issue("warning", "name-not-utf8", 1, "The file's name is not UTF-8, so it is not searched; rename it.")
    top, below, _ = value.path.removeprefix(f"/{FACTS}/").partition("/")
    if below and top not in OWNED and fold(top) in OWNED:
        message = f"{top}/ is taken for {fold(top)}/, whose folders are each for one alone: spell it that way."
        yield Issue("warning", "folder-spelling", 1, message)


def _title(value: Note) -> Iterator[Issue]:
    if not value.title and (value.blocks or value.metadata):
        message = "The note has no title: give it one in its frontmatter, or a heading."
        yield Issue("warning", "title-missing", 1, message)
    tops = [heading for heading in value.headings if heading.level == 1]
    for heading in tops[1:]:
        if heading.text == tops[0].text:
            yield Issue("info", "title-repeated", heading.line, "The same top heading stands above already.")


def _fields(value: Note) -> Iterator[Issue]:
    metadata = value.metadata
    for key in ("created", "updated"):
        written = metadata.get(key)
        if written is not None and not (isinstance(written, str) and _ISO.match(written)):
            yield Issue("warning", "date-format", _line(value, key), f"{key} is no ISO date such as 2026-05-12.")
    tags = metadata.get("tags")
    if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        yield Issue("info", "tags-format", _line(value, "tags"), "tags is read, but a list of words is clearer.")
    entities = metadata.get("entities")
    if entities is None:
        return
    if not isinstance(entities, list) or not all(isinstance(name, str) for name in entities):
        message = "entities is no list of vault paths."
        yield Issue("warning", "entities-format", _line(value, "entities"), message)


def _line(value: Note, key: str) -> int:
    found = re.search(rf"^{re.escape(key)}[ \t]*:", value.text[: value.body_start], re.MULTILINE)
    return value.text.count("\n", 0, found.start()) + 1 if found else 1


def _lead(value: Note) -> Iterator[Issue]:
    """Asks for a summary lead where the first thing below the title is no sentence; a page of facts is a list."""
    if value.path.startswith(f"/{FACTS}/"):
        return
    body = [block for block in value.blocks if block.span.start >= value.body_start]
    top = 0 if value.headings and value.headings[0].level == 1 else -1
    lead = next((block for block in body if block.heading <= top and block.kind == "paragraph"), None)
    first = body[0] if body else None
    if first is None or (lead is first and len(lead.text.split()) >= _LEAD_WORDS):
        return
    message = "The first paragraph under the title does not say what the note holds."
    yield Issue("info", "no-summary-lead", first.lines[0], message)


def _times(value: Note) -> Iterator[Issue]:
    """Looks in the source, code spans blanked, so that the line is exact; one finding a block is enough."""
    for block in value.blocks:
        if block.kind not in _PROSE or not _RELATIVE.search(block.text):
            continue
        source = value.text[block.span.start : block.span.end]
        if "`" in source and len(source) < _LONG:
            source = _CODE.sub(lambda found: " " * len(found[0]), source)
        for found in _RELATIVE.finditer(source):
            if not _BEFORE.search(source[: found.start()]):
                line = block.lines[0] + source.count("\n", 0, found.start())
                message = f"“{found[0]}” can't be dated once time has passed: write the date."
                yield Issue("warning", "relative-date", line, message)
                break


def _conflict(value: Note) -> Iterator[Issue]:
    if "<<<<<<< " not in value.text:
        return
    body = "\n" + value.body
    place, places = 0, []
    for sign in ("<<<<<<< ", "=======", ">>>>>>> "):
        place = body.find("\n" + sign, place)
        if place < 0:
            return
        places.append(value.body_start + place)
    first = places[0]
    if not any(block.kind == "code" and block.span.start <= first < block.span.end for block in value.blocks):
        line = value.text.count("\n", 0, first) + 1
        yield Issue("error", "conflict-markers", line, "A merge conflict is not settled here: keep one side.")


def _dangling(link: Link) -> Issue:
    return Issue("warning", "dangling-link", link.line, f"The link to {link.target} leads to no file.")
