"""Arguments as models write them: with gaps, numbers as text, one thing where a list belongs, names of every kind."""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from quorra.agent.calling.tool import Reach
from quorra.agent.tools.told import quoted
from quorra.vault.links import Names, fold
from quorra.vault.texts import ENDING, is_note, named
from quorra.vault.writing import compose

Text = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "string"})]
"""A text; ``text`` reads what was given."""
Texts = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "array", "items": {"type": "string"}})]
"""A list of texts; ``texts`` reads what was given."""
Number = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "integer"})]
"""A whole number; ``number`` reads what was given."""

_WIKI = re.compile(r"!?\[\[([^\]|#]+)[^\]]*\]\]")
_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)>]+)>?\)")
_LINES = re.compile(r":(\d+)(?:\s*[-\u2013]\s*(\d+))?$|,?\s+lines?\s+(\d+)(?:\s*[-\u2013]\s*(\d+))?$", re.IGNORECASE)
_HOMES = re.compile(r"/(?:(?:facts|prompts|evals|jobs)(?:/|$)|\.)", re.IGNORECASE)
_EMPTY = ("null", "none", "undefined")
_EXAMPLE = "household/boiler.md"


def text(value: Any) -> str:
    """Gives a text argument; what stands for nothing is empty, and of a list of one its entry is meant."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, (dict, list, tuple)):
        return "" if not value else json.dumps(value, ensure_ascii=False)
    found = str(value)
    return "" if found.strip().lower() in _EMPTY else found


def texts(value: Any) -> tuple[str, ...]:
    """Gives a list argument, be it one text, several with commas between them, or a list written as a text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            value = re.split(r"\s*,\s*(?=\[\[)", value)
    each = value if isinstance(value, (list, tuple)) else text(value).split(",")
    return tuple(found.strip() for found in map(text, each) if found.strip())


def number(value: Any, usual: int) -> int:
    """Gives a whole number, the usual one where none was given."""
    found = re.search(r"-?\d{1,9}", text(value))
    return int(found[0]) if found else usual


def bare(name: str) -> str:
    """Gives the name inside a wikilink, a Markdown link, quotation marks or a citation."""
    found = name.strip().strip("`\"'\u201c\u201d\u2018\u2019").strip()
    link = _WIKI.fullmatch(found) or _LINK.fullmatch(found)
    return _LINES.sub("", link[1] if link else found).strip()


def counted(reach: Reach, name: str) -> str:
    """Gives a path as it counts from the vault.

    One from the home's root into a folder of the home's own is left, so that it is refused as what it is.
    """
    found = bare(name).removeprefix("./")
    found = found if _HOMES.match(found) else found.lstrip("/")
    return reach.rooms.library.texts.counted(found) or found


def line(name: str) -> int | None:
    """Gives the line that a citation names."""
    found = _LINES.search(name.strip().strip("`\"'[]"))
    return int(found[1] or found[3]) if found else None


@dataclass(frozen=True, slots=True)
class Named:
    """A file inside the window; ``said`` tells what a name was taken for, empty where it is the path itself."""

    path: str
    said: str = ""


def seen(reach: Reach) -> list[str]:
    """Gives the files that the window shows."""
    return sorted(filter(reach.window.sees, reach.rooms.library.texts.places()))


def note(reach: Reach, given: str) -> Named | str:
    """Gives the note that a name means, or the sentence that says there is none.

    What lies outside the window is told of in the very words of what is not there.
    """
    there = [path for path in seen(reach) if is_note(path)]
    return file(reach, given, there) or missing(given, there)


def file(reach: Reach, given: str, there: Sequence[str]) -> Named | str | None:
    """Gives the one of the files that are ``there`` which a name means; a sentence where it could be several."""
    name = bare(given)
    if not name:
        return f"No note is named. Give its path, such as {quoted.inline(there[0] if there else _EXAMPLE)}."
    folder, _, last = name.removesuffix(ENDING).rpartition("/")
    kebab = f"{folder}/{compose.slug(last)}" if folder else compose.slug(last)
    counted = reach.rooms.library.texts.counted(name)
    for tried in dict.fromkeys((name, counted or name, name.lstrip("/"), name.partition("#")[0], kebab)):
        found = named(tried, there) if tried else None
        if found:
            said = "" if found.removesuffix(ENDING) == given.removesuffix(ENDING) else _taken(given, found)
            return Named(found, said)
        tails = Names(there).tails(tried) if tried else []
        if len(tails) > 1:
            return f"{quoted.inline(name)} could be {quoted.names(tails)}. Give the whole path of one."
    return _titled(reach, given, name, there)


def _titled(reach: Reach, given: str, name: str, there: Collection[str]) -> Named | str | None:
    """Gives the note that has a title."""
    hits = reach.rooms.search(name, window=reach.window, k=10, per_note=True).hits
    wanted = fold(name)
    found = [hit.path for hit in hits if fold(hit.title) == wanted and hit.path in there]
    if len(found) > 1:
        return f"Several notes are titled {quoted.inline(name)}: {quoted.names(found)}. Give the path of one."
    return Named(found[0], _taken(given, found[0])) if found else None


def _taken(given: str, found: str) -> str:
    return f"({quoted.inline(given)} was taken for {quoted.inline(found)}.)\n"


def missing(given: str, there: Iterable[str], what: str = "note") -> str:
    """Says that there is no such thing, and what has a name like it."""
    name = bare(given)
    told = f"There is no {what} {quoted.inline(name)}."
    known = near(name, there)
    if known:
        return f"{told} Near it by name: {quoted.names(known)}. Give one of these paths, or search_knowledge_base."
    return f"{told} Find it with search_knowledge_base."


def near(name: str, there: Iterable[str]) -> list[str]:
    """Gives paths whose last part reads like a name's, the likest first."""
    last: dict[str, list[str]] = {}
    for path in there:
        last.setdefault(_stem(path), []).append(path)
    close = difflib.get_close_matches(_stem(name), last, n=5, cutoff=0.6)
    return [path for stem in close for path in last[stem]][:5]


def folders(there: Iterable[str]) -> list[str]:
    """Gives the folders that files lie in, those of the vault alone."""
    found: set[str] = set()
    for path in there:
        parts = [] if path.startswith("/") else path.split("/")[:-1]
        found |= {"/".join(parts[: depth + 1]) for depth in range(len(parts))}
    return sorted(found)


def _stem(path: str) -> str:
    return fold(path.rstrip("/").rpartition("/")[2].removesuffix(ENDING))
