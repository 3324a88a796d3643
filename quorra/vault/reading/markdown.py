"""Reads the structure of a Markdown body: headings, blocks and links with their spans."""

import html
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quorra.vault.links import uncommented
from quorra.vault.note import Block, Heading, Link, Span
from quorra.vault.reading.events import Links
from quorra.vault.reading.seen import seen

if TYPE_CHECKING:
    from pyromark.event import Range

_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}
_SPACE = " \t\r\n"
_TAG = re.compile(r"<[^<>]*>")
_CALLOUT = re.compile(r"\[![\w-]+\][+-]?\s*")
_ANCHOR = re.compile(r"(?:^|\s)\^[\w-]+$")
_new = tuple.__new__


def read(body: str, base: int, line: int) -> tuple[list[Heading], list[Block], list[Link]]:
    """Reads a body; ``base`` and ``line`` are its first character and line in the whole note.

    What a reader does not see is in no block, but the links in it are links.
    """
    shown = seen(body)
    reader = _Blocks(shown, base, line)
    reader.run()
    return reader.headings, reader.blocks, reader.links if shown is body else links(body, base, line)


def links(body: str, base: int, line: int) -> list[Link]:
    """Reads the links of a body alone, in half the time."""
    reader = Links(body, base, line)
    reader.run()
    return reader.links


class _Blocks(Links):
    """The same pass, which sees blocks and headings too; a block is open while ``kind`` is set."""

    __slots__ = ("blocks", "headings", "items", "kind", "level", "quotes", "start")

    def __init__(self, body: str, base: int, line: int) -> None:
        super().__init__(body, base, line)
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self.kind, self.start, self.level = "", 0, 0
        self.items = self.quotes = 0

    def run(self) -> None:
        """Hands every event to its handler, and closes the block that runs to the end."""
        super().run()
        if self.kind:
            self.close(len(self.body))

    def begin(self, kind: str, span: "Range", last: "Range") -> None:
        """Opens a block after closing the one that ran to the last event."""
        if self.kind:
            self.close(self.at(last["end"]))
        self.kind, self.start = kind, self.at(span["start"])

    def close(self, end: int) -> None:
        """Closes the open block at a character; one without visible text is dropped."""
        kind, start, words, body = self.kind, self.start, self.words, self.body
        self.kind = ""
        if not words:
            return
        text = "".join(words)
        words.clear()
        text = text.strip("\n") if kind == "code" else text.strip()
        if not text or not kind:
            return
        while body[end - 1] in _SPACE:
            end -= 1
        while body[start] in _SPACE:
            start += 1
        if "^" in text and kind != "code":
            text = _ANCHOR.sub("", text) or text
        if kind == "quote" and text[0] == "[":
            text = _CALLOUT.sub("", text, count=1) or text
        row, base = self.line(start), self.base
        rows = row, row + body.count("\n", start, end)
        where = _new(Span, (base + start, base + end))
        self.blocks.append(_new(Block, (kind, text, rows, where, len(self.headings) - 1)))

    def start_paragraph(self, _: Any, span: "Range", last: "Range") -> None:
        if not self.kind:
            self.kind = "item" if self.items else "quote" if self.quotes else "paragraph"
            self.start = self.at(span["start"])
        elif self.words:
            self.words.append("\n")

    def end_paragraph(self, span: "Range", last: "Range") -> None:
        if not self.items:
            self.close(self.at(span["end"]))

    def start_heading(self, value: dict[str, Any], span: "Range", last: "Range") -> None:
        if self.items or self.quotes:
            self.start_paragraph(None, span, last)
            return
        self.begin("heading", span, last)
        self.level = _LEVELS[value["level"]]

    def end_heading(self, span: "Range", last: "Range") -> None:
        if self.kind != "heading":
            self.end_paragraph(span, last)
            return
        text = "".join(self.words).strip()
        if "^" in text:
            text = _ANCHOR.sub("", text)
        self.words.clear()
        self.kind = ""
        start, end, body = self.start, self.at(span["end"]), self.body
        while body[end - 1] in _SPACE:
            end -= 1
        where = _new(Span, (self.base + start, self.base + end))
        self.headings.append(_new(Heading, (self.level, text, self.line(start), where)))

    def start_item(self, _: Any, span: "Range", last: "Range") -> None:
        self.begin("item", span, last)
        self.items += 1

    def end_item(self, span: "Range", last: "Range") -> None:
        self.items -= 1
        if self.words:
            self.close(self.at(last["end"]))
        self.kind = ""

    def start_inner(self, _: Any, span: "Range", last: "Range") -> None:
        if self.kind:
            self.close(self.at(last["end"]))

    def end_inner(self, span: "Range", last: "Range") -> None:
        """Reopens the list item around an inner block that has ended: tight text may follow without a paragraph."""
        self.words.clear()
        if self.items:
            self.kind, self.start = "item", self.at(span["end"])
        else:
            self.kind = ""

    def start_quote(self, _: Any, span: "Range", last: "Range") -> None:
        self.start_inner(_, span, last)
        self.quotes += 1

    def end_quote(self, span: "Range", last: "Range") -> None:
        self.quotes -= 1
        self.end_inner(span, last)

    def start_cell(self, _: Any, span: "Range", last: "Range") -> None:
        if self.words and self.words[-1] != "\n":
            self.words.append(" | ")

    def end_row(self, span: "Range", last: "Range") -> None:
        self.words.append("\n")

    def end_block(self, span: "Range", last: "Range") -> None:
        self.close(self.at(span["end"]))
        self.end_inner(span, last)

    def end_html(self, span: "Range", last: "Range") -> None:
        seen = uncommented("".join(self.words))
        self.words[:] = [html.unescape(_TAG.sub(" ", seen))]
        self.end_tags(span, last)
        self.end_block(span, last)

    def on_display(self, value: str, span: "Range") -> None:
        if self.kind == "paragraph" and not self.words:
            self.kind = "math"
        self.words.append(value)

    def on_task(self, value: bool, span: "Range") -> None:
        self.kind = "task"


def _begins(kind: str) -> Callable[[_Blocks, Any, "Range", "Range"], None]:
    return lambda reader, _, span, last: reader.begin(kind, span, last)


_Blocks.starts = Links.starts | {
    "Paragraph": _Blocks.start_paragraph,
    "Heading": _Blocks.start_heading,
    "Item": _Blocks.start_item,
    "TableCell": _Blocks.start_cell,
    "List": _Blocks.start_inner,
    "BlockQuote": _Blocks.start_quote,
    "CodeBlock": _begins("code"),
    "Table": _begins("table"),
    "HtmlBlock": _begins("html"),
    "FootnoteDefinition": _Blocks.start_inner,
}
_Blocks.ends = Links.ends | {
    "Paragraph": _Blocks.end_paragraph,
    "Heading": _Blocks.end_heading,
    "Item": _Blocks.end_item,
    "List": _Blocks.end_inner,
    "BlockQuote": _Blocks.end_quote,
    "CodeBlock": _Blocks.end_block,
    "Table": _Blocks.end_block,
    "TableHead": _Blocks.end_row,
    "TableRow": _Blocks.end_row,
    "HtmlBlock": _Blocks.end_html,
}
_Blocks.others = Links.others | {"DisplayMath": _Blocks.on_display, "TaskListMarker": _Blocks.on_task}
