"""One pass over pulldown-cmark's events, which finds the links of a Markdown body with their spans.

The events' ranges count UTF-8 bytes of the body; handlers turn them into
characters of the body at once, and what leaves this room counts characters of
the whole note, and lines from 1.
"""

import html
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

import pyromark
from pyromark import Options

from quorra.vault.links import attributes, external, label, wikilink
from quorra.vault.note import Link, LinkKind, Span

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
_DEST = re.compile(r"\]\(\s*(?:<((?:[^<>\n\\]|\\.)*)>|((?:[^\s\\]|\\.)*))", re.DOTALL)
_DEFINED = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:[ \t\r\n>]*(?:<((?:[^<>\n\\]|\\.)*)>|(\S+))", re.DOTALL)
_NUMBERED = re.compile(r"&#(?:\d+|[xX][0-9a-fA-F]+);")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_new = tuple.__new__


class Links:
    """One pass over the events; the visible text gathers in ``words``, and handlers stand in the three tables."""

    __slots__ = (
        "base", "body", "byte", "character", "data", "definitions", "links", "mark", "open", "row", "words",
    )  # fmt: skip
    starts: ClassVar[Handlers]
    ends: ClassVar[Handlers]
    others: ClassVar[Handlers]

    def __init__(self, body: str, base: int, line: int) -> None:
        self.body, self.base = body, base
        self.mark, self.row = 0, line
        self.links: list[Link] = []
        self.words: list[str] = []
        self.open: list[tuple[dict[str, Any], int]] = []
        self.definitions: dict[str, Extent] | None = None
        self.data = b"" if body.isascii() else body.encode()
        self.byte = self.character = 0

    def run(self) -> None:
        """Hands every event to its handler; text, the most frequent one by far, is taken here."""
        say, starts, ends, others = self.words.append, self.starts.get, self.ends.get, self.others
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

    def on_code(self, value: str, span: "Range") -> None:
        """Takes what is shown as it is written."""
        self.words.append(value)

    def on_math(self, value: str, span: "Range") -> None:
        """Shows a formula between its signs."""
        self.words.append(f"${value}$")

    def on_html(self, value: str, span: "Range") -> None:
        """Takes a tag within a line: a line break, or one that may link."""
        if value[:3].lower() == "<br":
            self.words.append("\n")
        elif "=" in value:
            self.attributes(self.at(span["start"]), self.at(span["end"]))

    def start_link(self, value: dict[str, Any], span: "Range", last: "Range") -> None:
        """Remembers where the text of a link or image begins."""
        self.open.append((value, len(self.words)))

    def end_link(self, span: "Range", last: "Range") -> None:
        """Finishes a link."""
        self.finish(span, last, "inline", "wiki")

    def end_image(self, span: "Range", last: "Range") -> None:
        """Finishes an image."""
        self.finish(span, last, "image", "embed")

    def finish(self, span: "Range", last: "Range", kind: LinkKind, wiki: LinkKind) -> None:
        """Adds the link that was opened last, of one kind or, between double brackets, the other."""
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
        """Adds a wikilink; one without alias is shown by its label."""
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

    def end_tags(self, span: "Range", last: "Range") -> None:
        """Takes the links of a block of HTML."""
        self.attributes(self.at(span["start"]), self.at(span["end"]))

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


Links.starts = {"Link": Links.start_link, "Image": Links.start_link}
Links.ends = {"Link": Links.end_link, "Image": Links.end_image, "HtmlBlock": Links.end_tags}
Links.others = {
    "Code": Links.on_code,
    "Html": Links.on_code,
    "InlineHtml": Links.on_html,
    "InlineMath": Links.on_math,
    "DisplayMath": Links.on_code,
    "FootnoteReference": lambda *_: None,
    "TaskListMarker": lambda *_: None,
}
