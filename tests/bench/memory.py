"""Peak memory of the service with a 3,000-note vault, against LanceDB and the chat model loaded bare.

Measured twice: where the service makes the index itself, against a bare table that is
built, and where the index is ready, against a bare table that is only opened.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np

from quorra.inference.packaged import SMOLLM2
from quorra.state import database
from quorra.state.keys import Keys
from tests.bench import vaults
from tests.bench.measure import report

BAR = 1.5
CONTEXT = 4096
QUESTIONS = (
    "how do I water the tomatoes",
    "which module lists running processes",
    "date formats in frontmatter",
    "when is the best time to prune",
    "how are notes linked to each other",
)
MODEL = '[model]\nbackend = "llama"\nanswers = "composition"\nmax_tokens = 64\n'


def peak(process: int) -> float:
    """Gives the highest resident size, in MB, of a process and of the children that live."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    own = re.search(r"VmHWM:\s+(\d+)", status)
    return (int(own[1]) / 1024 if own else 0.0) + sum(peak(int(child)) for child in children)


@contextmanager
def service(home: Path) -> Iterator[tuple[int, httpx.Client]]:
    """Runs the service on a home."""
    state = database.open(home / ".quorra" / "state.db")
    _, key = Keys(state).create("bench", "owner", datetime.now(UTC))
    state.close()
    command = [sys.executable, "-m", "quorra", "serve", "--home", str(home), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].partition("?")[0]
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=600) as client:
            yield process.pid, client
        process.terminate()


def used(home: Path) -> float:
    """Starts the service, waits until everything is embedded, searches, asks, and gives its peak."""
    with service(home) as (process, client):
        while client.get("/health").status_code != 200 or _pending(client):
            time.sleep(1)
        for question in QUESTIONS * 6:
            client.post("/search", json={"question": question}).raise_for_status()
        client.post("/chat", json={"message": f"{QUESTIONS[0]}?"}).raise_for_status()
        return peak(process)


def _pending(client: httpx.Client) -> bool:
    found = client.post("/search", json={"question": "notes", "mode": "words"}).json()
    return bool(found["pending"] or found["behind"])


def bare(folder: Path, notes: Path, way: str, build: bool) -> None:
    """Opens or builds a table, searches it by words and by vector, loads the model and lets it write."""
    import lancedb
    from lancedb.index import FTS

    base = lancedb.connect(folder)
    if build:
        table = base.create_table(f"{way}", _rows(notes), mode="overwrite")
        table.create_index("text", config=FTS())
    else:
        table = base.open_table(way)
    for question in QUESTIONS * 6:
        table.search(question, query_type="fts").limit(100).to_list()
        table.search(np.ones(384, dtype=np.float32)).limit(100).to_list()
    _high(600) if way == "high" else _low(600)
    print(peak(os.getpid()))


def _rows(notes: Path) -> Iterator[list[dict[str, object]]]:
    random = np.random.default_rng(7)
    for file in sorted(notes.rglob("*.md")):
        parts = [part for part in file.read_text(encoding="utf-8").split("\n\n") if len(part) > 40]
        vectors = random.standard_normal((len(parts), 384), dtype=np.float32)
        rows = [
            {"path": str(file), "text": part, "vector": vector} for part, vector in zip(parts, vectors, strict=True)
        ]
        if rows:
            yield rows


def _high(tokens: int) -> None:
    import llama_cpp

    model = llama_cpp.Llama(str(SMOLLM2.path()), n_ctx=CONTEXT, verbose=False)
    model.create_completion("word " * tokens, max_tokens=64)


def _low(tokens: int) -> None:
    import llama_cpp

    model = llama_cpp.llama_model_load_from_file(os.fsencode(SMOLLM2.path()), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = CONTEXT, 512, 512
    context = llama_cpp.llama_init_from_model(model, params)
    for count in (512, tokens - 512, *[1] * 64):
        batch = (llama_cpp.llama_token * count)(*[100] * count)
        llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(batch, count))


def floors(folder: Path, notes: Path, build: bool) -> dict[str, float]:
    """Measures both bare ways, each in a process of its own."""
    found = {}
    for way, name in (("high", "LanceDB + llama_cpp.Llama"), ("low", "LanceDB + llama.cpp's C functions")):
        words = ["--bare", str(folder), str(notes), way, *(["--build"] if build else [])]
        command = [sys.executable, "-m", "tests.bench.memory", *words]
        found[name] = float(
            subprocess.run(
                command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ).stdout.split()[-1]
        )
    return found


def main() -> None:
    """Prints both figures in MB."""
    notes = 300 if "--quick" in sys.argv else 3000
    with vaults.home(notes) as home, tempfile.TemporaryDirectory() as tables:
        (home / "quorra.toml").write_text(MODEL, encoding="utf-8")
        held = []
        for name, build in (("index made by the service", True), ("index ready", False)):
            ours = used(home)
            floor = floors(Path(tables), home / "vault", build)
            held.append(report(f"peak memory of the service, {notes} notes, {name}", ours, floor, BAR, unit="MB"))
    sys.exit(not all(held))


if __name__ == "__main__":
    if "--bare" in sys.argv:
        at = sys.argv.index("--bare")
        bare(Path(sys.argv[at + 1]), Path(sys.argv[at + 2]), sys.argv[at + 3], "--build" in sys.argv)
    else:
        main()
