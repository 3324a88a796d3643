"""Reads the structure of a Markdown body from pulldown-cmark's events: headings, blocks and links with their spans.

The events' ranges count UTF-8 bytes of the body; everything that leaves this
module counts characters of the whole note, and lines from 1.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

import pyromark
from pyromark import Options

from quorra.vault.links import external, label, wikilink
from quorra.vault.note import Block, Heading, Link, LinkKind, Span

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
Place = tuple[int, int]
_LINKS = frozenset(("Link", "Image"))
_SPACE = b" \t\r\n"
_TRAIL = re.compile(rb"[\x80-\xbf]+")
_DEST = re.compile(rb"\]\(\s*(?:<((?:[^<>\n\\]|\\.)*)>|((?:[^\s\\]|\\.)*))", re.DOTALL)
_DEFINED = re.compile(rb"\[(?:[^\[\]\\]|\\.)+\]:[ \t\r\n>]*(?:<((?:[^<>\n\\]|\\.)*)>|(\S+))", re.DOTALL)
_ATTRIBUTE = re.compile(rb"\b(?:src|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_CALLOUT = re.compile(r"\[![\w-]+\][+-]?\s*")
_ANCHOR = re.compile(r"(?:^|\s)\^[\w-]+$")


def read(body: str, data: bytes, base: int, line: int) -> tuple[list[Heading], list[Block], list[Link]]:
    """Reads a body; ``data`` is its UTF-8, ``base`` and ``line`` its first character and line in the whole note."""
    reader = _Reader(body, data, base, line)
    reader.run()
    return reader.headings, reader.blocks, reader.links


class _Reader:
    """One pass over the events; a block is open while ``kind`` is set, and its visible text gathers in ``words``."""

    __slots__ = (
        "base", "blocks", "body", "breaks", "data", "definitions", "first", "headings", "items",
        "kind", "level", "links", "open", "quotes", "start", "trails", "words",
    )  # fmt: skip

    def __init__(self, body: str, data: bytes, base: int, line: int) -> None:
        self.body, self.data, self.base, self.first = body, data, base, line
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self.links: list[Link] = []
        self.words: list[str] = []
        self.open: list[tuple[dict[str, Any], int]] = []
        self.kind, self.start, self.level = "", 0, 0
        self.items = self.quotes = 0
        self.definitions: dict[str, tuple[int, int]] | None = None
        self.breaks = list(accumulate(len(part) + 1 for part in data.split(b"\n")))
        self.trails: list[int] = []
        if not data.isascii():
            for found in _TRAIL.finditer(data):
                self.trails.extend(range(*found.span()))

    def run(self) -> None:
        say = self.words.append
        last: dict[str, int] = {"start": 0, "end": 0}
        for event, span in _PARSER.events_with_range(self.body):
            if event.__class__ is str:
                if event == "SoftBreak":
                    say(" ")
                elif event == "HardBreak":
                    say("\n")
            else:
                key, value = event.popitem()  # type: ignore[union-attr]
                if key == "Text":
                    say(value)
                else:
                    _EVENTS[key](self, value, span, last["end"])
            last = span  # type: ignore[assignment]
        self.close(len(self.data))

    def at(self, byte: int) -> int:
        """Turns a byte of the body into a character of the note."""
        return self.base + byte - bisect_left(self.trails, byte)

    def line(self, byte: int) -> int:
        return self.first + bisect_right(self.breaks, byte)

    def span(self, start: int, end: int) -> Span:
        return Span(self.at(start), self.at(end))

    # blocks

    def begin(self, kind: str, start: int, end: int) -> None:
        """Opens a block at ``start`` after closing the one that ran to ``end``."""
        if self.kind:
            self.close(end)
        self.kind, self.start = kind, start

    def close(self, end: int) -> None:
        kind, start, data = self.kind, self.start, self.data
        self.kind = ""
        text = "".join(self.words)
        self.words.clear()
        text = text.strip("\n") if kind == "code" else text.strip()
        if not text or not kind:
            return
        while end > start and data[end - 1] in _SPACE:
            end -= 1
        while start < end and data[start] in _SPACE:
            start += 1
        if kind == "quote" and text[0] == "[":
            text = _CALLOUT.sub("", text, count=1) or text
        if "^" in text and kind != "code":
            text = _ANCHOR.sub("", text) or text
        lines = self.line(start), self.line(end - 1)
        self.blocks.append(Block(kind, text, lines, self.span(start, end), len(self.headings) - 1))  # type: ignore[arg-type]

    def on_start(self, tag: Any, span: dict[str, int], last: int) -> None:
        if tag.__class__ is str:
            handler = _STARTS.get(tag)
            if handler:
                handler(self, None, span["start"], last)
        else:
            name, value = tag.popitem()
            if name in _LINKS:
                self.open.append((value, len(self.words)))
            else:
                _STARTS[name](self, value, span["start"], last)

    def on_end(self, tag: Any, span: dict[str, int], last: int) -> None:
        handler = _ENDS.get(tag if tag.__class__ is str else next(iter(tag)))
        if handler:
            handler(self, span["start"], span["end"], last)

    def start_paragraph(self, _: Any, start: int, last: int) -> None:
        if self.kind:
            if self.words:
                self.words.append("\n")
        else:
            self.kind = "item" if self.items else "quote" if self.quotes else "paragraph"
            self.start = start

    def end_paragraph(self, start: int, end: int, last: int) -> None:
        if self.kind in ("paragraph", "quote"):
            self.close(end)

    def start_heading(self, value: dict[str, Any], start: int, last: int) -> None:
        if self.items or self.quotes:
            self.start_paragraph(None, start, last)
            return
        self.begin("heading", start, last)
        self.level = _LEVELS[value["level"]]

    def end_heading(self, start: int, end: int, last: int) -> None:
        if self.kind != "heading":
            self.end_paragraph(start, end, last)
            return
        text = _ANCHOR.sub("", "".join(self.words).strip())
        self.words.clear()
        self.kind = ""
        while end > start and self.data[end - 1] in _SPACE:
            end -= 1
        self.headings.append(Heading(self.level, text, self.line(start), self.span(start, end)))

    def start_item(self, _: Any, start: int, last: int) -> None:
        self.begin("item", start, last)
        self.items += 1

    def end_item(self, start: int, end: int, last: int) -> None:
        self.items -= 1
        self.close(last)

    def start_inner(self, _: Any, start: int, last: int) -> None:
        if self.kind:
            self.close(last)

    def end_inner(self, start: int, end: int, last: int) -> None:
        """Reopens the list item around an inner block that has ended: tight text may follow without a paragraph."""
        if self.items:
            self.begin("item", end, end)
        else:
            self.close(end)

    def start_quote(self, _: Any, start: int, last: int) -> None:
        self.start_inner(_, start, last)
        self.quotes += 1

    def end_quote(self, start: int, end: int, last: int) -> None:
        self.quotes -= 1
        self.end_inner(start, end, last)

    def start_code(self, _: Any, start: int, last: int) -> None:
        self.begin("code", start, last)

    def start_table(self, _: Any, start: int, last: int) -> None:
        self.begin("table", start, last)

    def start_cell(self, _: Any, start: int, last: int) -> None:
        if self.words and self.words[-1] != "\n":
            self.words.append(" | ")

    def end_row(self, start: int, end: int, last: int) -> None:
        self.words.append("\n")

    def end_block(self, start: int, end: int, last: int) -> None:
        self.close(end)
        self.end_inner(start, end, last)

    def start_html(self, _: Any, start: int, last: int) -> None:
        self.begin("html", start, last)

    def end_html(self, start: int, end: int, last: int) -> None:
        seen = _uncommented("".join(self.words).encode()).decode()
        self.words[:] = [html.unescape(_TAG.sub(" ", seen))]
        self.attributes(start, end)
        self.end_block(start, end, last)

    # inline

    def on_code(self, value: str, span: dict[str, int], last: int) -> None:
        self.words.append(value)

    def on_math(self, value: str, span: dict[str, int], last: int) -> None:
        self.words.append(f"${value}$")

    def on_display(self, value: str, span: dict[str, int], last: int) -> None:
        if self.kind == "paragraph" and not self.words:
            self.kind = "math"
        self.words.append(value)

    def on_inline_html(self, value: str, span: dict[str, int], last: int) -> None:
        if value[:3].lower() == "<br":
            self.words.append("\n")
        elif "=" in value:
            self.attributes(span["start"], span["end"])

    def on_footnote(self, value: str, span: dict[str, int], last: int) -> None:
        return

    def on_task(self, value: bool, span: dict[str, int], last: int) -> None:
        self.kind = "task"

    # links

    def attributes(self, start: int, end: int) -> None:
        """Takes the ``src`` and ``href`` of a stretch of HTML as links, those in comments left out."""
        source = _uncommented(self.data[start:end])
        for found in _ATTRIBUTE.finditer(source):
            group = found.lastindex or 1
            where, stop = found.span(group)
            self.add("html", (start + found.start(), start + found.end()), (start + where, start + stop), "", html)

    def end_link(self, start: int, end: int, last: int) -> None:
        self.finish(start, end, last, "inline", "wiki")

    def end_image(self, start: int, end: int, last: int) -> None:
        self.finish(start, end, last, "image", "embed")

    def finish(self, start: int, end: int, last: int, kind: LinkKind, wiki: LinkKind) -> None:
        value, mark = self.open.pop()
        form = value["link_type"]
        if form.__class__ is dict:
            self.wiki(wiki, start, end, mark)
            return
        alias = "".join(self.words[mark : mark + _LONGEST])
        if form == "Inline":
            tail = b"](" + value["dest_url"].encode() + b")"
            if self.data.endswith(tail, start, end):
                self.add(kind, (start, end), (end - len(tail) + 2, end - 1), alias)
                return
            found = _DEST.search(self.data, last if last < end else start, end)
            if found:
                group = found.lastindex or 2
                self.add(kind, (start, end), found.span(group), alias, value["dest_url"])
        elif form in ("Autolink", "Email"):
            self.add("autolink", (start, end), (start + 1, end - 1), alias)
        else:
            where = self.defined(value["id"])
            if where:
                self.add("reference", (start, end), where, alias, value["dest_url"])

    def wiki(self, kind: LinkKind, start: int, end: int, mark: int) -> None:
        text = self.data[start:end].decode()
        inner = start + (3 if kind == "embed" else 2)
        source = self.data[inner : end - 2].decode()
        target, anchor, alias, left, right = wikilink(source)
        words = self.words
        if not alias or (kind == "embed" and _SIZE.fullmatch(alias)):
            del words[mark:]
            if kind == "wiki" or "." not in target or target.endswith(".md"):
                words.append(label(target, anchor))
        begin = self.at(inner) + left
        place = Span(begin, begin + right - left)
        self.links.append(Link(kind, text, target, anchor, alias, self.line(start), place))

    def defined(self, name: str) -> tuple[int, int] | None:
        """Finds the target's bytes in the definition that a reference names."""
        if self.definitions is None:
            self.definitions = {}
            for key, value in _PARSER.reference_definitions(self.body).items():
                span = value["span"]
                found = _DEFINED.search(self.data, span["start"], span["end"])
                if found:
                    self.definitions[_fold(key)] = found.span(found.lastindex or 2)
        return self.definitions.get(_fold(name))

    def add(self, kind: LinkKind, whole: Place, place: Place, alias: str, escaped: Any = None) -> None:
        """Adds a Markdown link; ``escaped`` is its target free of escapes, or html where entities stand in it."""
        (start, end), (where, stop) = whole, place
        written = self.data[where:stop].decode()
        target = html.unescape(written) if escaped is html else escaped or written
        anchor = ""
        if kind == "autolink" or external(target):
            path = written
        else:
            path, sign, fragment = written.partition("#")
            path = path.partition("?")[0]
            anchor = sign + unquote(fragment)
            target = unquote(target.partition("#")[0].partition("?")[0])
        begin = self.at(where)
        text = self.data[start:end].decode() if end - start < _LONGEST else ""
        self.links.append(Link(kind, text, target, anchor, alias, self.line(start), Span(begin, begin + len(path))))


def _uncommented(source: bytes) -> bytes:
    """Blanks the comments of HTML, lengths kept; one that is never closed runs to the end."""
    parts, last = [], 0
    while (start := source.find(b"<!--", last)) >= 0:
        stop = source.find(b"-->", start) + 3
        stop = stop if stop > 2 else len(source)
        parts += [source[last:start], b" " * (stop - start)]
        last = stop
    return b"".join(parts) + source[last:] if parts else source


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


_EVENTS: dict[str, Callable[[_Reader, Any, Any, int], None]] = {
    "Start": _Reader.on_start,
    "End": _Reader.on_end,
    "Code": _Reader.on_code,
    "Html": _Reader.on_code,
    "InlineHtml": _Reader.on_inline_html,
    "InlineMath": _Reader.on_math,
    "DisplayMath": _Reader.on_display,
    "FootnoteReference": _Reader.on_footnote,
    "TaskListMarker": _Reader.on_task,
}
_STARTS: dict[str, Callable[[_Reader, Any, int, int], None]] = {
    "Paragraph": _Reader.start_paragraph,
    "Heading": _Reader.start_heading,
    "Item": _Reader.start_item,
    "List": _Reader.start_inner,
    "BlockQuote": _Reader.start_quote,
    "CodeBlock": _Reader.start_code,
    "Table": _Reader.start_table,
    "TableCell": _Reader.start_cell,
    "HtmlBlock": _Reader.start_html,
    "FootnoteDefinition": _Reader.start_inner,
}
_ENDS: dict[str, Callable[[_Reader, int, int, int], None]] = {
    "Link": _Reader.end_link,
    "Image": _Reader.end_image,
    "Paragraph": _Reader.end_paragraph,
    "Heading": _Reader.end_heading,
    "Item": _Reader.end_item,
    "List": _Reader.end_inner,
    "BlockQuote": _Reader.end_quote,
    "CodeBlock": _Reader.end_block,
    "Table": _Reader.end_block,
    "TableHead": _Reader.end_row,
    "TableRow": _Reader.end_row,
    "HtmlBlock": _Reader.end_html,
}
