"""A warm hybrid query over 77,000 passages, against raw LanceDB full text and IVF_FLAT on the same rows.

The question's vector is given on both sides. As nobody embeds 77,000 passages
for a benchmark, each gets the vector of a real passage, moved a little; recall
is judged on real passages with their own vectors.

Usage: python -m tests.bench.warm_query [--quick]
"""

import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorra.access.window import Window
from quorra.index.index import Index
from quorra.index.search import Searcher
from quorra.index.store import lance, shelves, tables
from quorra.inference.embed.minilm import MiniLM
from quorra.inference.protocol import Vectors
from tests.bench import vaults
from tests.bench.measure import interleaved, report
from tests.conftest import ROOT, SHARED

BAR = 2.0
RECALL = 0.95
KEPT = ROOT / ".quorra" / "cache"
REAL = ("garden", "kepano", "powershell-docs")


class Drawn:
    """Gives each text the vector of one of some real passages, moved a little, the same one every time."""

    def __init__(self, real: Vectors) -> None:
        self.name = "drawn"
        self.dim = real.shape[1]
        self._real = real

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Draws a vector a text."""
        seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") for text in texts]
        rows = np.array([self._one(seed) for seed in seeds], np.float32).reshape(len(texts), self.dim)
        return rows

    def _one(self, seed: int) -> Vectors:
        pick = np.random.default_rng(seed)
        moved = self._real[pick.integers(len(self._real))] + 0.02 * pick.standard_normal(self.dim, np.float32)
        return (moved / np.linalg.norm(moved)).astype(np.float32)

    def close(self) -> None:
        """Has nothing to close."""


def real(folder: Path, quick: bool) -> Index:
    """Indexes the real vaults, embedded for good in the repository's own cache."""
    for name in REAL[:2] if quick else REAL:
        shutil.copytree(SHARED / "vaults" / name, folder / "vault" / name, ignore=shutil.ignore_patterns(".git"))
    if not quick:
        shutil.copytree(SHARED / "evals/cranfield/vault", folder / "vault/cranfield")
    vaults.commit(folder)
    model = MiniLM()
    index = Index(folder / ".quorra/index", KEPT, vaults.texts(folder), lambda: model)
    index.catch_up()
    print(index.embed(progress=lambda line: print(line, file=sys.stderr)), file=sys.stderr)
    return index


def vectors(index: Index) -> Vectors:
    """Gives all vectors of an index."""
    found = [_table(index).search().where("words IS NULL").select(["vector"]).limit(10**9).to_arrow()]
    return np.concatenate([np.stack(each["vector"].to_numpy(zero_copy_only=False)) for each in found])


def recall(index: Index, known: Vectors) -> float:
    """Measures how many of the exact ten nearest passages a trained vector index finds for worded questions."""
    manifest = index.manifest()
    assert manifest is not None
    table = index.writer.tables.write(manifest.shelves["household"])
    shelf = shelves.train(table, manifest.shelves["household"])
    model = MiniLM()
    asked = questions(200)
    hits = 0
    for vector in model.embed(asked):
        least = np.sort(known @ vector)[-10] - 1e-5
        # Eleven, as the last of a full answer is left out where it may tie.
        found = np.sort(tables.near(table, shelf, vector, 11).rows @ vector)[-10:]
        hits += int((found >= least).sum())
    return hits / (10 * len(asked))


def questions(count: int) -> list[str]:
    """Takes runs of words from real sections, as somebody might ask for them."""
    pick = random.Random(5)
    parts = [part.split() for part in vaults.sections() if len(part.split()) > 30]
    made = []
    for part in pick.sample(parts, count):
        at = pick.randrange(len(part) - 8)
        made.append("What about " + " ".join(part[at : at + pick.randint(4, 8)]))
    return made


def raw(folder: Path, index: Index) -> Any:
    """Builds the floor's table from the same passages: default full text and IVF_FLAT."""
    from lancedb.index import FTS, IvfFlat

    source = _table(index)
    kept = source.search().where("words IS NOT NULL").select(["path", "part", "text", "words"]).limit(10**9)
    near = source.search().where("words IS NULL").select(["path", "part", "vector"]).limit(10**9).to_arrow()
    places = zip(near["path"].to_pylist(), near["part"].to_pylist(), strict=True)
    at = {place: row for row, place in enumerate(places)}
    rows = kept.to_arrow()
    order = [at.get(place) for place in zip(rows["path"].to_pylist(), rows["part"].to_pylist(), strict=True)]
    rows = rows.append_column("vector", near["vector"].combine_chunks().take(pa.array(order, pa.int64())))
    table = lance.lancedb().connect(str(folder)).create_table("raw", data=rows, on_bad_vectors="null")
    table.create_index("words", config=FTS())
    table.create_index("vector", config=IvfFlat(distance_type="cosine"))
    return table


def _table(index: Index) -> Any:
    manifest = index.manifest()
    assert manifest is not None
    return index.writer.tables.read(manifest.shelves["household"])


def floors(table: Any, drawn: Drawn) -> dict[str, Callable[[str], object]]:
    """Gives the plain ways to ask: two queries, and LanceDB's own hybrid one."""
    from lancedb.rerankers import RRFReranker

    rank = RRFReranker()

    def two(question: str) -> object:
        vector = drawn.embed([question])[0]
        words = table.search(question, query_type="fts", fts_columns="words").select(["path", "part", "text"])
        near = table.search(vector, vector_column_name="vector", query_type="vector").distance_type("cosine")
        return words.limit(10).to_arrow(), near.nprobes(20).select(["path", "part", "text"]).limit(10).to_arrow()

    def hybrid(question: str) -> object:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="words")
        query = query.vector(drawn.embed([question])[0]).text(question).distance_type("cosine").nprobes(20)
        return query.rerank(rank).limit(10).to_arrow()

    return {"full text and vectors": two, "LanceDB's hybrid query": hybrid}


def main(quick: bool) -> bool:
    """Measures recall on real passages, then the time of a query."""
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        index = real(Path(folder), quick)
        known = vectors(index)
        found = recall(index, known)
    print(
        json.dumps(
            {"figure": "vector recall@10", "passages": len(known), "recall": found, "holds": bool(found >= RECALL)}
        )
    )
    drawn = Drawn(known)
    with vaults.home(1500 if quick else 10_000) as root, tempfile.TemporaryDirectory() as folder:
        index = Index(root / ".quorra/index", root / ".quorra/cache", vaults.texts(root), lambda: drawn)
        index.catch_up()
        print(index.embed(), file=sys.stderr)
        asked = questions(40)
        plain = floors(raw(Path(folder), index), drawn)

        searcher = Searcher(index.writer.tables, lambda: drawn)

        def ours(question: str) -> object:
            manifest = index.manifest()
            assert manifest is not None
            return searcher.run(manifest, question, 10, "hybrid", Window(None), per_note=True).hits

        ways = {"quorra": ours, **plain}
        works = {name: lambda way=way: [way(question) for question in asked] for name, way in ways.items()}
        taken = {name: spent / len(asked) for name, spent in interleaved(works, 5).items()}
    fast = report("warm hybrid query", taken.pop("quorra"), taken, BAR)
    return fast and found >= RECALL


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
