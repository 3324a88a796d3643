"""Resolves links to the files of a vault, as Obsidian and CommonMark readers do.

A wikilink is found by its path, its path tail or its bare name; a Markdown
link by the path it spells, relative to its note or, with a leading slash or
where nothing lies there, to the vault. Case and Unicode form never matter, a whole part of a name always
does. Where several files answer, the nearest one is meant: the note's own
folder, then the fewest steps through the folders, then the shorter path, then
the first by name.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from quorra.vault.note import Link

EXTERNAL: Final = "EXTERNAL"
SELF: Final = "SELF"
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+:|//)")
_ATTRIBUTE = re.compile(r"(?<![\w-])(?:src|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_WIKILINK = re.compile(r"!?\[\[([^\]]*)\]\]")
_EMBED = re.compile(r"!\[\[[^\]|]*(?:\|\s*\d+(?:x\d+)?\s*)?\]\]|!\[([^\]\n]*)\]\((?:[^()\n]*/)?\1\)")
WIKI = ("wiki", "embed", "frontmatter", "entity")
OPENINGS = ("index", "readme", "overview", "_index")


def fold(name: str) -> str:
    """Gives the form under which names are equal, whatever their case or Unicode form."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def external(target: str) -> bool:
    """Tells whether a Markdown target names something outside the vault by its scheme."""
    return (":" in target or target[:2] == "//") and _URL.match(target) is not None


def label(target: str, anchor: str = "") -> str:
    """Gives what a reader sees of a wikilink without alias: its last path part, and the heading it points at.

    A page that opens a folder is seen under the folder's name, as the note was of which the folder was made.
    """
    folders, _, name = target.removesuffix(".md").rpartition("/")
    above = folders.rpartition("/")[2]
    if name.lower() in OPENINGS and above.strip("."):
        name = above
    section = anchor[1:].replace("#", " > ") if anchor and not anchor.startswith("#^") else ""
    return f"{name} > {section}" if name and section else name or section


def wikilink(inner: str) -> tuple[str, str, str, int, int]:
    """Splits what stands between the brackets: target, anchor, alias, and the target's range in ``inner``."""
    head, pipe, alias = inner.partition("|")
    if pipe and head.endswith("\\"):
        head = head[:-1]
    path, sign, anchor = head.partition("#")
    target = path.strip()
    start = len(path) - len(path.lstrip()) if target else 0
    return target, sign + anchor.strip(), alias.strip(), start, start + len(target)


def shown(text: str) -> str:
    """Gives a text with its wikilinks as a reader sees them, the heading left out where a note is named.

    Of an embed only what it says in words is kept: its file's name or size is none.
    """
    return _WIKILINK.sub(_seen, _EMBED.sub("", text))


def _seen(found: re.Match[str]) -> str:
    target, anchor, alias, *_ = wikilink(found[1])
    return alias or label(target, "" if target else anchor)


def uncommented(source: str) -> str:
    """Blanks the comments of HTML, lengths kept; one that is never closed runs to the end."""
    parts, last = [], 0
    while (start := source.find("<!--", last)) >= 0:
        stop = source.find("-->", start) + 3
        stop = stop if stop > 2 else len(source)
        parts += [source[last:start], " " * (stop - start)]
        last = stop
    return "".join(parts) + source[last:] if parts else source


def attributes(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Finds the ``src`` and ``href`` of a stretch of HTML outside comments: each one's range, and its target's."""
    for found in _ATTRIBUTE.finditer(uncommented(source)):
        yield found.span(), found.span(found.lastindex or 1)


class Names:
    """An index over a vault's files, built once; ``paths`` are relative to the vault, with their endings."""

    __slots__ = ("_exact", "_folders", "_last", "_whole")

    def __init__(self, paths: Iterable[str]) -> None:
        self._exact = frozenset(paths)
        self._whole: dict[str, str] = {}
        self._last: dict[str, list[str]] = {}
        self._folders: set[str] = set()
        for path in sorted(self._exact):
            folded = fold(path)
            self._whole.setdefault(folded, path)
            folder, _, name = folded.rpartition("/")
            self._folders.add(folder)
            self._last.setdefault(name, []).append(path)

    def whole(self, path: str) -> str | None:
        """Gives the file at a path, written with or without ``.md``; the exact spelling wins over a folded one."""
        for exact in _endings(path):
            if exact in self._exact:
                return exact
        first, second = _endings(fold(path))
        return self._whole.get(first) or self._whole.get(second)

    def opening(self, folder: str) -> str | None:
        """Gives the page that opens a folder."""
        if folder and fold(folder) not in self._folders:
            return None
        pages = (self.whole(f"{folder}/{name}" if folder else name) for name in OPENINGS)
        return next((page for page in pages if page), None)

    def tails(self, path: str) -> list[str]:
        """Gives the files whose path ends in all parts of ``path``, written with or without ``.md``."""
        for key in _endings(fold(path)):
            files = self._last.get(key.rpartition("/")[2], ())
            found = [file for file in files if f"/{fold(file)}".endswith(f"/{key}")]
            if found:
                return found
        return []


def _endings(path: str) -> tuple[str, str]:
    """Gives a path with and without ``.md``, first the one meant: a file ``a.png`` goes before a note about it."""
    return (path, path + ".md") if path.rfind(".") > path.rfind("/") else (path + ".md", path)


def resolve(link: Link, source: str, names: Names) -> str | None:
    """Gives the file that a link of the note ``source`` reaches: its path, None, EXTERNAL or SELF."""
    return reach(link, source, names)[0]


def reach(link: Link, source: str, names: Names) -> tuple[str | None, bool]:
    """Resolves a link, and tells whether it is spelled firmly, so that no reader could mean another file."""
    target = link.target
    if link.kind in WIKI:
        return _wiki(target, source, names)
    if link.kind == "autolink" or external(target):
        return EXTERNAL, True
    if not target:
        return SELF, True
    found = _written(target, source.rpartition("/")[0], names)
    if found is None and not target.startswith(("/", ".")):
        return names.whole(posixpath.normpath(target)), False
    return found, True


def _written(target: str, folder: str, names: Names) -> str | None:
    """Follows a path as it is spelled; a folder stands for the page that opens it."""
    path = target.lstrip("/") if target.startswith("/") else f"{folder}/{target}"
    path = posixpath.normpath(path).lstrip("/")
    prefix = "" if path == "." else path
    if prefix and (found := names.whole(prefix)):
        return found
    return names.opening(prefix)


def _wiki(target: str, source: str, names: Names) -> tuple[str | None, bool]:
    if not target:
        return SELF, True
    if "://" in target:
        return EXTERNAL, True
    folder = source.rpartition("/")[0]
    if target.startswith(("/", "./", "../")):
        return _written(target, folder, names), True
    path = target.strip("/")
    if found := names.whole(path):
        return found, True
    tails = names.tails(path)
    return min(tails, key=lambda file: _distance(file, folder), default=None), len(tails) == 1


def _distance(file: str, folder: str) -> tuple[int, int, str]:
    """Counts the steps from a folder to a file's, then its depth; the name settles what is left."""
    there = file.rpartition("/")[0]
    left, right = folder.split("/") if folder else [], there.split("/") if there else []
    pairs = enumerate(zip(left, right, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))
    return len(left) + len(right) - 2 * shared, len(right), file
