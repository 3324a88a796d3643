"""Reads the structure of a Markdown body from pulldown-cmark's events: headings, blocks and links with their spans.

The events' ranges count UTF-8 bytes of the body; handlers turn them into
characters of the body at once, and what leaves this module counts characters
of the whole note, and lines from 1.
"""

import html
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyromark
from pyromark import Options

from quorra.vault.links import attributes, external, label, uncommented, wikilink
from quorra.vault.note import Block, Heading, Link, LinkKind, Span

if TYPE_CHECKING:
    from pyromark.event import Range

Extent = tuple[int, int]
Handlers = dict[str, Callable[..., None]]
_PARSER = pyromark.Markdown(
    options=Options.ENABLE_TABLES
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_WIKILINKS
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_MATH
)
_LONGEST = 4096  # of a link's kept text: images nested thousands deep would hold each other's over and over
_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}
_SPACE = " \t\r\n"
_DEST = re.compile(r"\]\(\s*(?:<((?:[^<>\n\\]|\\.)*)>|((?:[^\s\\]|\\.)*))", re.DOTALL)
_DEFINED = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:[ \t\r\n>]*(?:<((?:[^<>\n\\]|\\.)*)>|(\S+))", re.DOTALL)
_NUMBERED = re.compile(r"&#(?:\d+|[xX][0-9a-fA-F]+);")
_TAG = re.compile(r"<[^<>]*>")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_CALLOUT = re.compile(r"\[![\w-]+\][+-]?\s*")
_ANCHOR = re.compile(r"(?:^|\s)\^[\w-]+$")
_new = tuple.__new__


def read(body: str, base: int, line: int) -> tuple[list[Heading], list[Block], list[Link]]:
    """Reads a body; ``base`` and ``line`` are its first character and line in the whole note."""
    reader = _Reader(body, base, line)
    reader.run(_STARTS, _ENDS)
    return reader.headings, reader.blocks, reader.links


def links(body: str, base: int, line: int) -> list[Link]:
    """Reads the links of a body alone, in half the time."""
    reader = _Reader(body, base, line)
    reader.run(_LINK_STARTS, _LINK_ENDS)
    return reader.links


class _Reader:
    """One pass over the events; a block is open while ``kind`` is set, and its visible text gathers in ``words``."""

    __slots__ = (
        "base", "blocks", "body", "byte", "character", "data", "definitions", "headings", "items", "kind", "level",
        "links", "mark", "open", "quotes", "row", "start", "words",
    )  # fmt: skip

    def __init__(self, body: str, base: int, line: int) -> None:
        self.body, self.base = body, base
        self.mark, self.row = 0, line
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self.links: list[Link] = []
        self.words: list[str] = []
        self.open: list[tuple[dict[str, Any], int]] = []
        self.kind, self.start, self.level = "", 0, 0
        self.items = self.quotes = 0
        self.definitions: dict[str, Extent] | None = None
        self.data = b"" if body.isascii() else body.encode()
        self.byte = self.character = 0

    def run(self, starting: Handlers, ending: Handlers) -> None:
        """Hands every event to its handler; text, the most frequent one by far, is taken here."""
        say, starts, ends, others = self.words.append, starting.get, ending.get, _OTHERS
        last: Any = {"start": 0, "end": 0}
        event: Any
        for event, span in _PARSER.events_with_range(self.body):
            if event.__class__ is dict:
                key, value = event.popitem()
                if key == "Text":
                    say(value)
                elif key == "End":
                    end = ends(value if value.__class__ is str else value.popitem()[0])
                    if end:
                        end(self, span, last)
                elif key == "Start":
                    tag, data = (value, None) if value.__class__ is str else value.popitem()
                    start = starts(tag)
                    if start:
                        start(self, data, span, last)
                else:
                    others[key](self, value, span)
            elif event == "SoftBreak":
                say(" ")
            elif event == "HardBreak":
                say("\n")
            last = span
        if self.kind:
            self.close(len(self.body))

    def at(self, byte: int) -> int:
        """Turns a byte of the body into a character of it, from where it last stood."""
        if not self.data:
            return byte
        if byte >= self.byte:
            self.character += len(self.data[self.byte : byte].decode())
        else:
            self.character -= len(self.data[byte : self.byte].decode())
        self.byte = byte
        return self.character

    def line(self, at: int) -> int:
        """Counts lines up to a character, from where it last stood."""
        mark = self.mark
        if at >= mark:
            self.row += self.body.count("\n", mark, at)
        else:
            self.row -= self.body.count("\n", at, mark)
        self.mark = at
        return self.row

    # blocks

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

    def end_tags(self, span: "Range", last: "Range") -> None:
        self.attributes(self.at(span["start"]), self.at(span["end"]))

    # inline

    def on_code(self, value: str, span: "Range") -> None:
        self.words.append(value)

    def on_math(self, value: str, span: "Range") -> None:
        self.words.append(f"${value}$")

    def on_display(self, value: str, span: "Range") -> None:
        if self.kind == "paragraph" and not self.words:
            self.kind = "math"
        self.words.append(value)

    def on_html(self, value: str, span: "Range") -> None:
        if value[:3].lower() == "<br":
            self.words.append("\n")
        elif "=" in value:
            self.attributes(self.at(span["start"]), self.at(span["end"]))

    def on_task(self, value: bool, span: "Range") -> None:
        self.kind = "task"

    # links

    def start_link(self, value: dict[str, Any], span: "Range", last: "Range") -> None:
        self.open.append((value, len(self.words)))

    def end_link(self, span: "Range", last: "Range") -> None:
        self.finish(span, last, "inline", "wiki")

    def end_image(self, span: "Range", last: "Range") -> None:
        self.finish(span, last, "image", "embed")

    def finish(self, span: "Range", last: "Range", kind: LinkKind, wiki: LinkKind) -> None:
        value, mark = self.open.pop()
        form, start, end = value["link_type"], self.at(span["start"]), self.at(span["end"])
        if form.__class__ is dict:
            self.wiki(wiki, start, end, mark)
            return
        words, dest = self.words, value["dest_url"]
        alias = words[mark] if len(words) == mark + 1 else "".join(words[mark : mark + _LONGEST])
        if form == "Inline":
            tail = f"]({dest})"
            if self.body.endswith(tail, start, end):
                self.add(kind, (start, end), (end - len(tail) + 2, end - 1), alias)
                return
            inner = self.at(last["end"])
            found = _DEST.search(self.body, inner if inner < end else start, end - 1)
            if found:
                self.add(kind, (start, end), found.span(found.lastindex or 2), alias, dest)
        elif form in ("Autolink", "Email"):
            self.add("autolink", (start, end), (start + 1, end - 1), alias)
        else:
            defined = self.defined(value["id"])
            if defined:
                self.add("reference", (start, end), defined, alias, dest)

    def wiki(self, kind: LinkKind, start: int, end: int, mark: int) -> None:
        text = self.body[start:end]
        inner = 3 if kind == "embed" else 2
        target, anchor, alias, left, right = wikilink(text[inner:-2])
        if not alias or (kind == "embed" and _SIZE.fullmatch(alias)):
            del self.words[mark:]
            if kind == "wiki" or "." not in target or target.endswith(".md"):
                self.words.append(label(target, anchor))
        begin = self.base + start + inner
        where = _new(Span, (begin + left, begin + right))
        self.links.append(_new(Link, (kind, text, target, anchor, alias, self.line(start), where)))

    def attributes(self, start: int, end: int) -> None:
        """Takes the ``src`` and ``href`` of a stretch of HTML as links, those in comments left out."""
        for whole, where in attributes(self.body[start:end]):
            self.add("html", (start + whole[0], start + whole[1]), (start + where[0], start + where[1]), "", html)

    def defined(self, name: str) -> Extent | None:
        """Finds the target in the definition that a reference names."""
        if self.definitions is None:
            self.definitions = {}
            for key, value in _PARSER.reference_definitions(self.body).items():
                span = value["span"]
                found = _DEFINED.search(self.body, self.at(span["start"]), self.at(span["end"]))
                if found:
                    self.definitions[_fold(key)] = found.span(found.lastindex or 2)
        return self.definitions.get(_fold(name))

    def add(self, kind: LinkKind, whole: Extent, inner: Extent, alias: str, escaped: Any = None) -> None:
        """Adds a Markdown link; ``escaped`` is its target free of escapes, or html where entities stand in it."""
        start, end = whole
        where, stop = inner
        written = self.body[where:stop]
        target = html.unescape(written) if escaped is html else escaped or written
        anchor = ""
        if kind != "autolink" and not external(target):
            blank = _NUMBERED.sub(lambda found: "&" * len(found[0]), written) if "&#" in written else written
            at = len(blank.partition("#")[0])
            path, sign, fragment = written[:at].partition("?")[0], written[at : at + 1], written[at + 1 :]
            stop = where + len(path)
            anchor = sign + unquote(fragment) if sign else ""
            target = path if target is written else target.partition("#")[0].partition("?")[0]
            target = unquote(target) if "%" in target else target
        text = self.body[start:end] if end - start < _LONGEST else ""
        spot = _new(Span, (self.base + where, self.base + stop))
        self.links.append(_new(Link, (kind, text, target, anchor, alias, self.line(start), spot)))


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


def _begins(kind: str) -> Callable[[_Reader, Any, "Range", "Range"], None]:
    return lambda reader, _, span, last: reader.begin(kind, span, last)


_STARTS: Handlers = {
    "Paragraph": _Reader.start_paragraph,
    "Heading": _Reader.start_heading,
    "Item": _Reader.start_item,
    "Link": _Reader.start_link,
    "Image": _Reader.start_link,
    "TableCell": _Reader.start_cell,
    "List": _Reader.start_inner,
    "BlockQuote": _Reader.start_quote,
    "CodeBlock": _begins("code"),
    "Table": _begins("table"),
    "HtmlBlock": _begins("html"),
    "FootnoteDefinition": _Reader.start_inner,
}
_ENDS: Handlers = {
    "Paragraph": _Reader.end_paragraph,
    "Heading": _Reader.end_heading,
    "Item": _Reader.end_item,
    "Link": _Reader.end_link,
    "Image": _Reader.end_image,
    "List": _Reader.end_inner,
    "BlockQuote": _Reader.end_quote,
    "CodeBlock": _Reader.end_block,
    "Table": _Reader.end_block,
    "TableHead": _Reader.end_row,
    "TableRow": _Reader.end_row,
    "HtmlBlock": _Reader.end_html,
}
_LINK_STARTS: Handlers = {tag: _STARTS[tag] for tag in ("Link", "Image")}
_LINK_ENDS: Handlers = {"Link": _Reader.end_link, "Image": _Reader.end_image, "HtmlBlock": _Reader.end_tags}
_OTHERS: Handlers = {
    "Code": _Reader.on_code,
    "Html": _Reader.on_code,
    "InlineHtml": _Reader.on_html,
    "InlineMath": _Reader.on_math,
    "DisplayMath": _Reader.on_display,
    "FootnoteReference": lambda *_: None,
    "TaskListMarker": _Reader.on_task,
}
