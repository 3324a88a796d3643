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

import pyarrow as pa

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.index.search import Searcher
from quorra.index.store import lance, tables
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
    searcher = Searcher(index.writer.tables, None)

    def work() -> None:
        snapshot, word = edits.write()
        manifest, _ = index.writer.run(snapshot)
        found = searcher.run(manifest, word, 10, "words", Window(None), per_note=True)
        assert len(found.hits) == 1

    return work


def floors(index: Index, folder: Path, notes: int) -> dict[str, Callable[[], None]]:
    """Gives the plain ways over a table with the same rows and full text."""
    from lancedb.index import FTS, BTree

    manifest = index.manifest()
    assert manifest is not None
    source = index.writer.tables.read(manifest.shelves["household"])
    rows = source.search().select(["path", "part", "text", "words"]).limit(10**9).to_arrow()
    base = lance.lancedb().connect(str(folder))
    plain = [base.create_table(name, data=rows) for name in ("plain", "indexed")]
    for table in plain:
        table.create_index("words", config=FTS())
    plain[1].create_index("path", config=BTree())
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

    return {"delete, add, query": way(plain[0]), "the same with an index on paths": way(plain[1])}


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


def synthetic(pick: random.Random, numbers: range) -> pa.Table:
    """Makes ten passages a note out of a vocabulary of 50,000 words."""
    rows: list[dict[str, object]] = []
    for number in numbers:
        parts = [" ".join(f"w{int(50_000 * pick.random() ** 3)}" for _ in range(60)) for _ in range(10)]
        for part, words in enumerate(parts):
            whole = " ".join(parts) if part == 0 else None
            shown = {"first": part, "last": part, "heading": "", "text": words, "blob": "0" * 40, "title": ""}
            rows.append(
                {"path": vaults.name(number), "part": part, "words": words, "whole": whole, "embeds": 0, **shown}
            )
    return pa.Table.from_pylist(rows, schema=tables.PASSAGES)


def synthetic_table(folder: Path, notes: int) -> Any:
    """Builds the table of so many synthetic notes."""
    table = tables.Tables(folder).create("synthetic", 0)
    pick = random.Random(13)
    for at in range(0, notes, 5000):
        tables.add(table, synthetic(pick, range(at, at + 5000)))
    table.optimize()
    tables.index_words(table)
    tables.index_paths(table)
    return table


def million(rounds: int = 15) -> bool:
    """Measures one note's way into the tables and to its first hit at 10,000 and 100,000 notes."""
    pick = random.Random(14)
    turn = [0]

    def way(table: Any, notes: int) -> Callable[[], None]:
        def work() -> None:
            turn[0] += 1
            number = pick.randrange(notes)
            fresh = synthetic(pick, range(number, number + 1)).to_pylist()
            fresh[0]["words"] += f" walrus{turn[0]}z"
            tables.held(table, [vaults.name(number)])
            tables.drop(table, [vaults.name(number)])
            tables.add(table, pa.Table.from_pylist(fresh, schema=tables.PASSAGES))
            assert len(tables.words(table, "words", f"walrus{turn[0]}z", 10)) == 1

        return work

    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        small, large = (synthetic_table(Path(folder) / str(notes), notes) for notes in (10_000, 100_000))
        taken = interleaved({"10,000 notes": way(small, 10_000), "100,000 notes": way(large, 100_000)}, rounds, warm=3)
    return report(
        "one note among a million passages", taken["100,000 notes"], {"at 10,000": taken["10,000 notes"]}, 1.5
    )


def main(quick: bool) -> bool:
    """Measures at 1,000 and 10,000 notes."""
    holds = []
    for notes in (1000,) if quick else (1000, 10_000):
        ours, plain = measure(notes, 10)
        holds.append(report(f"one edited note of {notes}", ours, plain, BAR))
    return all(holds)


if __name__ == "__main__":
    sys.exit(0 if (million() if "--million" in sys.argv else main("--quick" in sys.argv)) else 1)
