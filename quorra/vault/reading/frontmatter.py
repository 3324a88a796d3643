"""Reads frontmatter as YAML 1.2 core and keeps what it does not understand.

A value becomes a number only where that number prints as it was written, so
that ``0123``, ``12:30``, ``1e3``, ``1.50`` and an IBAN stay the text they
are; dates stay ISO text. Whatever fails gives an issue and no metadata.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from quorra.vault.links import wikilink
from quorra.vault.note import Issue, Link, LinkKind, Severity, Span

_LARGEST = 20_000  # values, aliases written out; a thousand characters of text count as one more
_DEEPEST = 100
_LONGEST = 25
_EXACT = 2**53
_WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_FOLDED = re.compile(r"!?\[\[([^\[\]]+)\]\]")  # over the end of a line, which the value holds as a space
_CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:$|[T ])")
_SALVAGE = re.compile(r"^title:(.*)$", re.MULTILINE)
_LOST_TAG = re.compile(r"^(tags?|aliases):[ \t]+#\S", re.MULTILINE)
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMERIC = frozenset("-.0123456789")
_KNOWN = "str int float bool null timestamp binary seq omap pairs map set"
_TAGS = {f"tag:yaml.org,2002:{name}" for name in _KNOWN.split()}
_TEXT = "tag:yaml.org,2002:str"
_TAGGED = "A value that begins with ! is a tag, which names no plain value: put it in quotes."
_ADVICE = {
    "mapping values are not allowed": 'a value with a colon and a space in it needs quotes, as in title: "A: b"',
    "expected ',' or ']'": "the list that begins with [ has no ] before this line, or lacks a comma",
    "expected ',' or '}'": "the mapping that begins with { has no } before this line",
    "cannot start any token": "a value that begins with @, % or ` needs quotes, and no line begins with a tab",
    "unexpected end of stream": "a quotation mark that is opened is not closed",
    "undefined alias": "a value that begins with * needs quotes",
    "expected alphabetic": "a value that begins with & or * needs quotes",
    "unknown escape": "between double quotes a backslash is written twice",
    "expected key": "a value ends at its closing quote or bracket, and keys begin in one column",
    "a tab character": "lines are indented by spaces, not tabs",
    "sequence entries are not allowed": "a list begins on a line of its own, and other values with a dash need quotes",
    "expected '-' indicator": "a list needs a key before it, as in tags: [home]",
}  # by what libyaml says


class _Invalid(Exception):
    """The block can't be read; carries the line in the block, from 0."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Parser(yaml.CSafeLoader):
    """libyaml's parser composing nodes whose plain scalars are not yet given a type."""

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> Any:
        return None if kind is ScalarNode and implicit[0] else _TEXT if kind is ScalarNode else ""

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        return

    def ascend_resolver(self) -> None:
        return


@dataclass(slots=True)
class Matter:
    """What a block of frontmatter gave: ``start`` and ``end`` are its inner text in the note."""

    start: int
    end: int
    metadata: dict[str, Any] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    title: str = ""
    valid: bool = True


def find(text: str) -> tuple[int, int, int] | None:
    """Finds the block at the top: where its inner text starts and ends, and where the body starts."""
    if not text.startswith("---"):
        return None
    start = text.find("\n") + 1
    if not start or text[3:start].strip(" \t\r\n"):
        return None
    fence = start - 1
    while (fence := text.find("\n---", fence)) >= 0:
        stop = text.find("\n", fence + 1) + 1 or len(text)
        if not text[fence + 4 : stop].strip(" \t\r\n"):
            return start, fence + 1, stop
        fence += 1
    return None


def read(text: str, start: int, end: int) -> Matter:
    """Reads the inner text of a block that lies at ``start`` to ``end``; never raises."""
    matter = Matter(start, end)
    block = text[start:end]
    try:
        _Reading(text, matter).run(block)
    except _Invalid as error:
        _fail(matter, block, error.line, str(error))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        _fail(matter, block, line, f"The frontmatter is not YAML: {_advice(error.problem or 'it breaks off')}.")
    except yaml.YAMLError:
        _fail(matter, block, 0, "The frontmatter holds characters that YAML does not allow.")
    except RecursionError:
        _fail(matter, block, 0, "The frontmatter is nested too deeply.")
    return matter


def _advice(problem: str) -> str:
    """Gives what to write instead of what libyaml complains of, where that is known."""
    return next((advice for said, advice in _ADVICE.items() if said in problem), problem)


def values(block: str) -> dict[str, tuple[int, int, int]]:
    """Gives for each top key of a valid block where its colon lies, and where its value starts and ends."""
    root = _compose(block)
    found: dict[str, tuple[int, int, int]] = {}
    for left, right in root.value if isinstance(root, MappingNode) else ():
        start, end = right.start_mark.index, _last(right).end_mark.index
        while end > start and block[end - 1] in " \t\r\n":
            end -= 1
        colon = block.find(":", left.end_mark.index)
        if colon >= 0:  # a key behind a question mark may stand alone
            found.setdefault(left.value, (colon, start, end))
    return found


def _last(node: Node) -> Node:
    """Gives the node that a value ends with: a block list's own end lies past the comments that follow it."""
    while isinstance(node, SequenceNode | MappingNode) and not node.flow_style and node.value:
        node = node.value[-1] if isinstance(node, SequenceNode) else node.value[-1][1]
    return node


def _compose(block: str) -> Node | None:
    parser = _Parser(block)
    try:
        return parser.get_single_node()
    finally:
        parser.dispose()


def _fail(matter: Matter, block: str, line: int, message: str) -> None:
    code = "frontmatter-invalid"
    if conflict := _CONFLICT.search(block):
        code, line = "frontmatter-conflict", block.count("\n", 0, conflict.start())
        message = "The frontmatter holds conflict markers: keep one side and remove them."
    matter.valid, matter.metadata = False, {}
    matter.issues.append(Issue("error", code, line + 2, message))
    matter.links = [
        _link("frontmatter", found[0], found[1], matter.start + found.start(1), block.count("\n", 0, found.start()) + 2)
        for found in _WIKI.finditer(block)
    ]
    if (title := _SALVAGE.search(block)) and "{{" not in title[1]:
        matter.title = title[1].strip().strip("\"'")


def _link(kind: LinkKind, text: str, inner: str, start: int, line: int) -> Link:
    target, anchor, alias, left, right = wikilink(inner)
    return Link(kind, text, target, anchor, alias, line, Span(start + left, start + right))


class _Reading:
    """One walk over a block's nodes."""

    __slots__ = ("depth", "left", "matter", "text")

    def __init__(self, text: str, matter: Matter) -> None:
        self.text, self.matter = text, matter
        self.left, self.depth = _LARGEST, 0

    def run(self, block: str) -> None:
        root = _compose(block)
        if root is None:
            return
        if not isinstance(root, MappingNode):
            if isinstance(root, ScalarNode) and root.value in _NULL:
                return
            raise _Invalid(root.start_mark.line, "The frontmatter is not a list of keys and values.")
        self.matter.metadata = self.mapping(root, top=True)
        if "#" in block and (found := _LOST_TAG.search(block)):
            line = block.count("\n", 0, found.start())
            self.warn("frontmatter-comment", line, f"What follows {found[1]}: is a comment, as it starts with #.")

    def warn(self, code: str, line: int, message: str, severity: Severity = "warning") -> None:
        self.matter.issues.append(Issue(severity, code, line + 2, message))

    def value(self, node: Node, entity: bool = False) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _Invalid(node.start_mark.line, "The frontmatter's aliases repeat too much to be read.")
        if isinstance(node, ScalarNode):
            return self.scalar(node, entity)
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Invalid(node.start_mark.line, "The frontmatter is nested too deeply.")
        if node.tag and node.tag not in _TAGS:
            raise _Invalid(node.start_mark.line, _TAGGED)
        result = self.sequence(node, entity) if isinstance(node, SequenceNode) else self.mapping(node)
        self.depth -= 1
        return result

    def mapping(self, node: Node, top: bool = False) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for left, right in node.value:
            if left.__class__ is not ScalarNode:
                raise _Invalid(left.start_mark.line, "A key of the frontmatter is itself a list or mapping.")
            key = left.value
            if key in result:
                message = f"The key {key} stands twice; the first one counts until one is removed."
                self.warn("frontmatter-duplicate-key", left.start_mark.line, message, "error")
                self.value(right)
                continue
            result[key] = self.value(right, entity=top and key == "entities")
        return result

    def sequence(self, node: SequenceNode, entity: bool) -> Any:
        parts = node.value
        if len(parts) == 1 and node.flow_style and parts[0].__class__ is SequenceNode:
            inner = parts[0].value
            if parts[0].flow_style and len(inner) == 1 and inner[0].__class__ is ScalarNode:
                first, last = self.extent(node)
                written = self.text[first:last]
                if written.startswith("[[") and written.endswith("]]"):
                    return self.bare(written, first, node.start_mark.line)
        return [self.value(part, entity) for part in parts]

    def bare(self, written: str, start: int, line: int) -> str:
        self.warn("frontmatter-link", line, "A link in frontmatter needs quotes: YAML reads it as a list in a list.")
        self.matter.links.append(_link("frontmatter", written, written[2:-2], start + 2, line + 2))
        return written

    def extent(self, node: Node) -> tuple[int, int]:
        start = self.matter.start
        return start + node.start_mark.index, start + node.end_mark.index

    def scalar(self, node: ScalarNode, entity: bool) -> Any:
        tag, value = node.tag, node.value
        self.left -= len(value) >> 10
        if "[[" in value and "]]" in value:
            self.linked(node)
        elif entity and value:
            self.entity(node)
        if tag is None:
            return self.plain(value, node)
        if tag not in _TAGS:
            raise _Invalid(node.start_mark.line, _TAGGED)
        return value

    def plain(self, value: str, node: Node) -> Any:
        if (found := _DAY.match(value)) and not _real(found):
            self.warn("frontmatter-date", node.start_mark.line, f"{found[0].strip()} is no day of the calendar.")
        return plain(value)

    def linked(self, node: Node) -> None:
        """Pairs the links of the value with those of its source, which escapes may spell otherwise."""
        start, end = self.extent(node)
        values = [found[1] for found in _WIKI.finditer(node.value)]
        sources = list(_WIKI.finditer(self.text, start, end))
        if len(values) != len(sources):
            sources = list(_FOLDED.finditer(self.text, start, end))
        if len(values) != len(sources):
            return
        line = node.start_mark.line + 2
        for value, source in zip(values, sources, strict=True):
            line += self.text.count("\n", start, source.start())
            start = source.start()
            link = _link("frontmatter", source[0], source[1], source.start(1), line)
            if value != source[1]:
                target, anchor, alias, _, _ = wikilink(value)
                link = Link("frontmatter", source[0], target, anchor, alias, line, link.span)
            self.matter.links.append(link)

    def entity(self, node: ScalarNode) -> None:
        first, end = self.extent(node)
        start, value = first, node.value
        if node.style in ("|", ">"):
            value = value.rstrip("\n")
            start = self.text.find(value, first, end)
            end = start + len(value)
        elif node.style:
            start, end = start + 1, end - 1
        if start >= 0 and value:
            where, line = Span(start, end), node.start_mark.line + 2 + self.text.count("\n", first, start)
            self.matter.links.append(Link("entity", self.text[start:end], value, "", "", line, where))


def _real(found: re.Match[str]) -> bool:
    try:
        date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def plain(value: str) -> Any:
    """Gives what a plain scalar means: null, a truth value, a number that prints as it is written, or the text."""
    if value in _NULL:
        return None
    if value in _BOOL:
        return _BOOL[value]
    return _number(value) if value[0] in _NUMERIC else value


def _number(value: str) -> Any:
    """Gives the number that prints as ``value``, else the text itself."""
    if len(value) > _LONGEST:
        return value
    try:
        number = int(value) if value.lstrip("-").isdecimal() else float(value)
    except ValueError:
        return value
    return number if str(number) == value and abs(number) < _EXACT else value
