"""The search cases from public bug reports, on the real pipeline."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quorra.inference.embed.minilm import MiniLM
from quorra.inference.protocol import Embedder
from tests.conftest import cases
from tests.index.place import Place, contents

MODEL = MiniLM()
WORD = re.compile(r'"([^"]*)"|(\S+)')


def step(place: Place, words: str) -> None:
    """Does what a step says: write PATH TEXT, rename PATH PATH, delete PATH."""
    verb, *rest = [quoted or plain for quoted, plain in WORD.findall(words)]
    {"write": place.write, "rename": place.rename, "delete": place.remove}[verb](*rest)


def judge(place: Place, query: dict[str, Any], mode: str) -> None:
    text = query["query"] if "query" in query else query["query_repeat"] * query["times"]
    start = time.perf_counter()
    paths = place.paths(text, mode=mode)
    spent = time.perf_counter() - start
    if "first" in query:
        assert paths[:1] == [query["first"]], query
    if "hits" in query:
        assert len(paths) == query["hits"], (query, paths)
    assert len(paths) <= query.get("max_hits", 1000)
    assert not set(query.get("not_in", ())) & set(paths)
    assert spent < query.get("max_seconds", 60)


@pytest.mark.parametrize("mode", ["words", "hybrid"])
@pytest.mark.parametrize("case", cases("search"))
def test_case(case: dict[str, Any], mode: str, tmp_path: Path):
    embedder: Callable[[], Embedder] | None = (lambda: MODEL) if mode == "hybrid" else None
    place = Place(tmp_path, case["vault"], embedder)
    for query in case["queries"]:
        if "step" in query:
            step(place, query["step"])
        else:
            place.index.catch_up()
            place.index.embed()
            judge(place, query, mode)
    if case["expect"] and case["expect"].get("same_after_full_rebuild"):
        before = contents(place.index)
        place.index.catch_up(rebuild=True)
        assert contents(place.index) == before
    place.close()
