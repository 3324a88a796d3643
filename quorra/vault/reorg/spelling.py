"""Spells a link anew for where its target lies now, in the form that its author chose."""

import html
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from quorra.vault import links
from quorra.vault.links import Names
from quorra.vault.note import Link

_SAFE = "/!$*,;=:@~-._+"
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_RAW = re.compile(r"[^\x21-\x7f]")
_BARE = re.compile(r"[\x00-\x20\x7f<>#?%\\]|&(?=#?\w+;)")
_ANGLED = re.compile(r"[\x00-\x1f\x7f<>#?%\\]|&(?=#?\w+;)")
_HTML = {'"': re.compile(r"[\x00-\x1f\x7f<>\"#?%\\]"), "'": re.compile(r"[\x00-\x1f\x7f<>'#?%\\]")}
_NAKED = re.compile(r"[\x00-\x20\x7f<>\"'`=#?%\\]")
_MARKS = re.compile(r"[|#^\[\]\x00-\x1f]")
_INDICATORS = re.compile(r"^[\s\-?:,\[\]{}#&*!|>'\"%@`]|[,\[\]{}]|: |:$| #|\s$|^[\d.+~-]|^(?:true|false|null)$", re.I)


@dataclass(frozen=True, slots=True)
class Way:
    """Which way a link has to lead afterwards: from ``source`` to ``target``, which lay at ``before`` until then."""

    source: str
    target: str
    before: str


def spell(link: Link, text: str, way: Way, names: Names) -> Iterator[str]:
    """Gives ways to write a link's target, the most like what its note's ``text`` holds first.

    ``names`` are the vault's files as they lie afterwards.
    """
    if link.kind not in links.WIKI:
        for path in _markdown(link.target, way):
            yield from _destination(path, text, link)
        return
    for path in _wiki(link.target, way, names):
        if link.kind == "entity":
            yield _scalar(path, text[link.span.start - 1])
            yield path
        elif link.kind == "frontmatter" and not _MARKS.search(path):
            yield from (path, path.replace("'", "''"), path.replace('"', '\\"'))
        elif not _MARKS.search(path):
            yield path


def _wiki(old: str, way: Way, names: Names) -> Iterator[str]:
    """A bare name stays bare where it names just one file; a whole path or one of some parts stays such a one."""
    name = _short(way.target, old)
    if old.startswith(("./", "../")):
        yield _relative(name, posixpath.dirname(way.source), old)
    elif old.startswith("/"):
        yield f"/{name}"
    elif "/" not in old or links.fold(old) != links.fold(_short(way.before, old)):
        parts = old.strip("/").count("/") + 1 + (_opens(way.target) and not _opens(way.before))
        tail = "/".join(name.split("/")[-parts:])
        if len(names.tails(tail)) == 1:
            yield tail
    yield name


def _opens(path: str) -> bool:
    """Tells whether a page opens its folder, so that its bare name says nothing."""
    return path.rpartition("/")[2].removesuffix(".md").lower() in links.OPENINGS


def _markdown(old: str, way: Way) -> Iterator[str]:
    """A path counts from where it counted: from the note, or from the vault."""
    for name in _opened(way.target, old):
        yield f"/{name}" if old.startswith("/") else _relative(name, posixpath.dirname(way.source), old)


def _opened(target: str, old: str) -> Iterator[str]:
    """Names a folder where the link named one and meant the page that opens it."""
    folder, _, page = target.rpartition("/")
    last = posixpath.basename(old)
    named = "." not in last.strip(".") and links.fold(last) != links.fold(page.removesuffix(".md"))
    if named and folder and _opens(page):
        yield f"{folder}/" if old.endswith("/") else folder
    yield _short(target, old) if last.strip(".") else target


def _short(path: str, old: str) -> str:
    """Drops the ending of a note where the link had none."""
    return path[:-3] if path.lower().endswith(".md") and not old.lower().endswith(".md") else path


def _relative(path: str, folder: str, old: str) -> str:
    found = posixpath.relpath("/" + path, "/" + folder) + "/" * path.endswith("/")
    return f"./{found}" if old.startswith("./") and not found.startswith("../") else found


def _scalar(path: str, mark: str) -> str:
    """Writes a text into a YAML scalar that stands between ``mark`` quotes, or between none."""
    if mark == '"':
        return path.replace("\\", "\\\\").replace('"', '\\"')
    if mark == "'" or not _INDICATORS.search(path):
        return path.replace("'", "''") if mark == "'" else path
    return "'" + path.replace("'", "''") + "'"


def _destination(path: str, text: str, link: Link) -> Iterator[str]:
    """Escapes what the place can't hold, and all else where the author had escaped it."""
    written, before = text[link.span.start : link.span.end], text[link.span.start - 1]
    if _PERCENT.search(written) and not _RAW.search(written):
        yield quote(path, safe=_SAFE + "()'&" + "[]" * ("[" in written))
    elif link.kind == "html":
        yield html.escape(_HTML.get(before, _NAKED).sub(_percent, path), quote=False)
    else:
        yield (_ANGLED if before == "<" else _BARE).sub(_percent, path)
    yield quote(path, safe=_SAFE)


def _percent(found: re.Match[str]) -> str:
    return quote(found[0], safe="")
