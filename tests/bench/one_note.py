"""One edited note to searchable, its path known, against raw LanceDB delete, add and query of the same rows.

With --million, the same at 100,000 notes with a million passages, publication
apart, against 10,000 notes.

Usage: python -m tests.bench.one_note [--quick | --million]
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.index.store import lance
from quorra.ledger.change import Snapshot
from quorra.vault.texts import Texts
from tests.bench import vaults
from tests.bench.measure import interleaved, report

BAR = 6.0


class Edits:
    """Edits one note after another, each with a word that was never there before."""

    def __init__(self, root: Path, notes: int, texts: Texts) -> None:
        self.root = root
        self.notes = notes
        self.texts = texts
        self.pick = random.Random(11)
        self.parts = vaults.sections()
        self.turn = 0
        self.dirty: dict[str, str | None] = {}

    def write(self) -> tuple[Snapshot, str]:
        """Writes one note; gives the snapshot that this makes and the new word."""
        self.turn += 1
        word = f"walrus{self.turn}x"
        number = self.pick.randrange(self.notes)
        path = f"vault/{vaults.name(number)}"
        text = vaults.note(self.pick, number, self.notes, self.parts) + f"\nHere is {word}.\n"
        (self.root / path).write_text(text, encoding="utf-8")
        self.dirty[path] = self.texts.ledger.id_of(text.encode())
        return Snapshot(self.texts.ledger.head(), dict(self.dirty)), word


def quorra(index: Index, edits: Edits) -> Callable[[], None]:
    """Gives the way of the index: catch up, publish, search."""

    def work() -> None:
        snapshot, word = edits.write()
        index.catch_up(snapshot=snapshot)
        hits = index.search(word, mode="words", window=Window(None), wait=None).hits
        assert len(hits) == 1

    return work


def floors(index: Index, folder: Path, notes: int) -> dict[str, Callable[[], None]]:
    """Gives the plain ways over a table with the same rows and full text."""
    from lancedb.index import FTS, BTree

    manifest = index.manifest()
    assert manifest is not None
    source = index.tables.read(manifest.shelves["household"])
    rows = source.search().select(["path", "part", "text", "words"]).limit(10**9).to_arrow()
    base = lance.lancedb().connect(str(folder))
    tables = [base.create_table(name, data=rows) for name in ("plain", "indexed")]
    for table in tables:
        table.create_index("words", config=FTS())
    tables[1].create_index("path", config=BTree())
    pick = random.Random(12)
    turn = [0]

    def way(table: Any) -> Callable[[], None]:
        def work() -> None:
            turn[0] += 1
            path = vaults.name(pick.randrange(notes))
            new = rows.slice(pick.randrange(rows.num_rows - 8), 8).to_pylist()
            fresh = [{**row, "path": path, "words": f"{row['words']} walrus{turn[0]}y"} for row in new]
            table.delete(f"path = '{path}'")
            table.add(fresh)
            assert (
                table.search(f"walrus{turn[0]}y", query_type="fts", fts_columns="words").limit(10).to_arrow().num_rows
            )

        return work

    return {"delete, add, query": way(tables[0]), "the same with an index on paths": way(tables[1])}


def measure(notes: int, rounds: int) -> tuple[float, dict[str, float]]:
    """Measures a vault of so many notes."""
    with vaults.home(notes) as root, tempfile.TemporaryDirectory(prefix="quorra-bench-") as beside:
        texts = vaults.texts(root)
        index = Index(root / ".quorra/index", root / ".quorra/cache", texts)
        index.catch_up()
        works = {"quorra": quorra(index, Edits(root, notes, texts)), **floors(index, Path(beside), notes)}
        taken = interleaved(works, rounds, warm=2)
        shutil.rmtree(beside, ignore_errors=True)
        Path(beside).mkdir()
    return taken.pop("quorra"), taken


def main(quick: bool) -> bool:
    """Measures at 1,000 and 10,000 notes."""
    holds = []
    for notes in (1000,) if quick else (1000, 10_000):
        ours, plain = measure(notes, 10)
        holds.append(report(f"one edited note of {notes}", ours, plain, BAR))
    return all(holds)


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
