"""A note as a frozen value: its bytes, and everything that a parse understood of them.

What a vault has by the ten thousand are named tuples, which are made in a
fraction of a frozen dataclass's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "info"]
BlockKind = Literal["paragraph", "item", "task", "code", "table", "quote", "html", "math"]
LinkKind = Literal["wiki", "embed", "inline", "image", "reference", "autolink", "html", "frontmatter", "entity"]

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


class Span(NamedTuple):
    """A half-open range of characters in ``Note.text``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding about a note; ``line`` counts from 1 over the whole file."""

    severity: Severity
    code: str
    line: int
    message: str


class Heading(NamedTuple):
    """A heading as a reader sees it; ``line`` counts from 1 over the whole file."""

    level: int
    text: str
    line: int
    span: Span


class Block(NamedTuple):
    """A leaf block of the body (a list gives one block an item), in order of appearance.

    ``text`` is what a reader sees: link texts without targets, a bare wikilink
    as its alias or last path part, images as their alternative text. ``lines``
    is inclusive, from 1 over the whole file. ``heading`` indexes
    ``Note.headings``, -1 above the first one.
    """

    kind: BlockKind
    text: str
    lines: tuple[int, int]
    span: Span
    heading: int


class Link(NamedTuple):
    """A link as written.

    ``text`` is the whole link in the source, ``target`` its path part decoded
    (no anchor, no alias; empty for a link into the same note), ``anchor`` the
    heading or block with its sign (``#Annual service``, ``#^serial``), ``span``
    the place of the still encoded target in ``Note.text``, for editing. A
    reference's span and line are those of its definition's target and of its
    use.
    """

    kind: LinkKind
    text: str
    target: str
    anchor: str
    alias: str
    line: int
    span: Span


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note; ``raw`` is the file, byte for byte, whatever else was understood.

    ``path`` is relative to the vault. ``text`` is the decoded file without a
    byte-order mark, line ends as written; ``body`` starts at ``body_start`` in
    it. ``title`` is the frontmatter's or the first heading's, never the file
    name, empty where there is none. ``date`` is the note's own ISO date.
    """

    path: str
    raw: bytes
    text: str
    body_start: int
    metadata: Mapping[str, Any]
    title: str
    date: str | None
    tags: tuple[str, ...]
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    issues: tuple[Issue, ...]

    @property
    def body(self) -> str:
        """The text below the frontmatter."""
        return self.text[self.body_start :]
