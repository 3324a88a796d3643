"""Three real vaults to words-searchable, against the sum of what that can't do without, over the same files.

That sum: reading, C YAML, Markdown events with ranges, and a raw LanceDB
full-text build of the same passages; each the fastest of two plain ways.
Quorra and the floors run in one long-lived process that has LanceDB imported
already; Quorra begins with no index and opens everything else anew.

Quorra indexes the words of whole notes beside those of passages. The figure
is against passages alone; a second line is against a raw build of both.

Usage: python -m tests.bench.words_ready [--quick]
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.index.store import lance
from tests.bench import parse, vaults
from tests.bench.measure import interleaved

BAR = 1.5


def build(folder: Path, rows: Any, config: Any) -> None:
    """Builds a raw table with full text."""
    shutil.rmtree(folder, ignore_errors=True)
    table = lance.lancedb().connect(str(folder)).create_table("raw", data=rows)
    table.create_index(rows.column_names[-1], config=config)


def main(quick: bool) -> bool:
    """Measures all of it in turns."""
    with vaults.real(*(["garden"] if quick else [])) as root, tempfile.TemporaryDirectory() as beside:
        index = Index(root / ".quorra/index", root / ".quorra/cache", vaults.texts(root))
        index.catch_up()
        works = {"quorra": lambda: ready(root), **_floors(root, index, Path(beside))}
        taken = interleaved(works, 3 if quick else 5)
    ours = taken.pop("quorra")
    least: dict[str, float] = {}
    for name, spent in taken.items():
        group = name.split(":")[0]
        least[group] = min(spent, least.get(group, spent))
    both = sum(least.values())
    floor = both - least["whole notes"]
    for figure, over in (("against words of passages and of whole notes", both), ("whole vault to words", floor)):
        row = {"figure": figure, "quorra": ours, "unit": "s", "floors": taken, "sum": over}
        print(json.dumps({**row, "ratio": round(ours / over, 3), "bar": BAR, "holds": ours / over <= BAR}))
    return ours / floor <= BAR


def ready(root: Path) -> None:
    """Builds the words of a vault from nothing and asks one question."""
    shutil.rmtree(root / ".quorra/index")
    index = Index(root / ".quorra/index", root / ".quorra/cache", vaults.texts(root))
    index.catch_up()
    assert index.search("note", mode="words", window=Window(None), wait=0.0).hits
    index.close()


def _floors(root: Path, index: Index, beside: Path) -> dict[str, Callable[[], object]]:
    from lancedb.index import FTS

    files = [str(file) for file in sorted((root / "vault").rglob("*.md"))]
    texts = [Path(name).read_bytes().decode("utf-8-sig") for name in files]
    parts = [parse.split(text) for text in texts]
    manifest = index.manifest()
    assert manifest is not None
    table = index.writer.tables.read(manifest.shelves["household"])
    rows = table.search().select(["path", "words"]).limit(10**9).to_arrow()
    whole = table.search().where("whole IS NOT NULL").select(["path", "whole"]).limit(10**9).to_arrow()
    return {
        "read: system calls": parse.each(parse.plain, files),
        "read: pathlib": parse.each(lambda name: Path(name).read_bytes(), files),
        "yaml: C loader": parse.each(lambda part: parse.load(part[0]), parts),
        "yaml: python-frontmatter": parse.each(parse.library, texts),
        "markdown: events drained": parse.each(lambda part: parse.drain(part[1]), parts),
        "markdown: events listed": parse.each(lambda part: list(parse.pyromark.events_with_range(part[1])), parts),
        "words: LanceDB as it comes": lambda: build(beside / "a", rows, FTS()),
        "words: LanceDB with two workers": lambda: build(beside / "b", rows, FTS(num_workers=2)),
        "whole notes: LanceDB as it comes": lambda: build(beside / "c", whole, FTS()),
        "whole notes: LanceDB with two workers": lambda: build(beside / "d", whole, FTS(num_workers=2)),
    }


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
