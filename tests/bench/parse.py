"""Seconds to parse three real vaults, against reading, C YAML and Markdown events with ranges over the same files.

Usage: python -m tests.bench.parse [--quick]
"""

import json
import os
import re
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frontmatter
import pyromark
import yaml

from quorra.vault.reading import parse
from tests.bench.measure import interleaved
from tests.conftest import SHARED

BAR = 1.3
FENCED = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_WIKILINKS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_MATH
)


def split(text: str) -> tuple[str, str]:
    """Cuts a text into the inner block and the body, outside the timed part."""
    found = FENCED.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def plain(name: str) -> bytes:
    """Reads a file by plain system calls."""
    handle = os.open(name, os.O_RDONLY)
    try:
        return os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)


def load(block: str) -> None:
    try:
        yaml.load(block, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return


def library(text: str) -> None:
    try:
        frontmatter.parse(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return


def drain(body: str) -> None:
    deque(pyromark.events_with_range(body, options=OPTIONS), maxlen=0)


def each(work: Callable[[Any], object], over: list[Any]) -> Callable[[], None]:
    def run() -> None:
        for one in over:
            work(one)

    return run


def main() -> None:
    """Times every part in turn and prints one line of JSON last."""
    paths = sorted((SHARED / "vaults").rglob("*.md"))
    if not paths:
        sys.exit(f"There are no vaults at {SHARED}; set QUORRA_SHARED.")
    texts = [path.read_bytes().decode("utf-8-sig") for path in paths]
    parts = [split(text) for text in texts]
    blocks = [block for block, _ in parts if block]
    markdown = pyromark.Markdown(options=OPTIONS)
    works: dict[str, Callable[[], object]] = {
        "read, pathlib": each(Path.read_bytes, paths),
        "read, os": each(plain, list(map(str, paths))),
        "yaml, C loader": each(load, blocks),
        "yaml, python-frontmatter": each(library, texts),
        "markdown, function": each(drain, [body for _, body in parts]),
        "markdown, settings kept": each(
            lambda body: deque(markdown.events_with_range(body), maxlen=0), [body for _, body in parts]
        ),
        "quorra": each(lambda path: parse.note(path.name, path.read_bytes()), paths),
    }
    medians = interleaved(works, rounds=3 if "--quick" in sys.argv else 11)
    for name, taken in medians.items():
        print(f"{name:28} {taken:.3f} s  {len(paths) / taken:8.0f} files a second")
    floors = {
        part: min(taken for name, taken in medians.items() if name.startswith(part))
        for part in ("read", "yaml", "markdown")
    }
    floor, quorra = sum(floors.values()), medians["quorra"]
    row = {"figure": "parse three vaults", "quorra": quorra, "unit": "s", "floors": floors, "floor": floor}
    print(json.dumps({**row, "ratio": round(quorra / floor, 3), "bar": BAR, "holds": quorra / floor <= BAR}))


if __name__ == "__main__":
    main()
