"""Cranfield's 225 questions in every mode, and what both modes together gain over the better one.

Weights were chosen on odd ids; even ids and all are reported. Differences are
paired, their intervals from 10,000 bootstrap resamples. The handbook's suite
is asked the same way, and any folder with ``cases.jsonl`` that is named.

Usage: python -m tests.bench.cranfield [--quick] [SUITE...]
"""

import json
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from quorra.access.window import Window
from quorra.evals import scores
from quorra.index.found import Mode
from quorra.index.index import Index
from quorra.inference.embed.minilm import MiniLM
from tests.bench import vaults
from tests.bench.warm_query import KEPT
from tests.conftest import ROOT, SHARED

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")
DEPTH = 1000
RESAMPLES = 10_000
HYBRID, WORDS, GAIN = 0.455, 0.39, 0.04


def cases(suite: Path) -> list[dict[str, Any]]:
    """Reads the cases that the vault can answer, relevant notes without their headings."""
    lines = (suite / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    for case in found:
        case["grades"] = {path.split("#")[0]: float(grade) for path, grade in case["relevant"].items()}
    return [case for case in found if case["grades"]]


def vault(suite: Path) -> Path:
    """Gives a suite's own vault, else this repository's."""
    file = suite / "suite.toml"
    named = tomllib.loads(file.read_text(encoding="utf-8")).get("vault") if file.exists() else None
    return suite / named if named else ROOT / "vault"


def measured(suite: Path, asked: list[dict[str, Any]]) -> dict[Mode, list[dict[str, float]]]:
    """Indexes and embeds a suite's vault and scores every case in every mode."""
    model = MiniLM()
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        shutil.copytree(vault(suite), root / "vault", ignore=shutil.ignore_patterns(".git", ".quorra"))
        vaults.commit(root)
        index = Index(root / ".quorra/index", KEPT, vaults.texts(root), lambda: model)
        index.catch_up()
        index.embed(progress=lambda line: print(line, file=sys.stderr))
        found: dict[Mode, list[dict[str, float]]] = {mode: [] for mode in MODES}
        for case in asked:
            for mode in MODES:
                hits = index.search(case["question"], k=DEPTH, mode=mode, window=Window(None), wait=0.0).hits
                found[mode].append(scores.score([hit.path for hit in hits], case["grades"]))
        index.close()
    return found


def interval(difference: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    """Gives a paired difference's mean and 95% interval."""
    pick = np.random.default_rng(1)
    means = difference[pick.integers(len(difference), size=(RESAMPLES, len(difference)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(difference.mean()), float(low), float(high)


def judged(name: str, found: dict[Mode, list[dict[str, float]]], rows: list[int], metric: str) -> dict[str, Any]:
    """Compares hybrid with both single modes on some cases."""
    values = {mode: np.array([found[mode][row][metric] for row in rows]) for mode in MODES}
    better: Mode = max(("words", "meaning"), key=lambda mode: float(values[mode].mean()))  # type: ignore[assignment]
    over_words = interval(values["hybrid"] - values["words"])
    over_better = interval(values["hybrid"] - values[better])
    return {
        "figure": name,
        "metric": metric,
        "questions": len(rows),
        **{mode: round(float(values[mode].mean()), 4) for mode in MODES},
        "over words": [round(each, 4) for each in over_words],
        "over the better": [round(each, 4) for each in over_better],
        "holds": over_better[2] >= 0,
    }


def main(suites: list[str], quick: bool) -> bool:
    """Measures cranfield, the handbook and what else is named."""
    cranfield = SHARED / "evals/cranfield"
    asked = cases(cranfield)[: 40 if quick else None]
    found = measured(cranfield, asked)
    number = [int(case["id"].split("-")[1]) for case in asked]
    holds = []
    for name, rows in (
        ("cranfield, odd ids", [row for row, each in enumerate(number) if each % 2]),
        ("cranfield, even ids", [row for row, each in enumerate(number) if each % 2 == 0]),
        ("cranfield, all", list(range(len(asked)))),
    ):
        row = judged(name, found, rows, "ndcg@10")
        if len(rows) == len(asked) and not quick:
            enough = row["hybrid"] >= HYBRID and row["words"] >= WORDS and row["over words"][0] >= GAIN
            row["holds"] = bool(row["holds"] and enough)
        holds.append(row["holds"])
        print(json.dumps(row))
    for folder in [ROOT / "evals/handbook", *map(Path, suites)]:
        more = cases(folder)
        results = measured(folder, more)
        for metric in ("recall@5", "mrr", "ndcg@10"):
            row = judged(folder.name, results, list(range(len(more))), metric)
            holds.append(row["holds"])
            print(json.dumps(row))
    return all(holds)


if __name__ == "__main__":
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    sys.exit(0 if main(named, "--quick" in sys.argv) else 1)
