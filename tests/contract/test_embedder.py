"""What every embedder promises, shown on each of them."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from quorra.inference.embed.minilm import MiniLM
from quorra.inference.open import embedder
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import Embedder
from quorra.settings import Embedder as Settings

TEXTS = [
    "The boiler was serviced in May.",
    "Paper bins go out on the second Tuesday of the month.",
    "",
    "  \n\t ",
    "你好，世界",
    "a lone \ud800 surrogate",
    "x" * 50_000,
]


class Endpoint(BaseHTTPRequestHandler):
    """``/v1/embeddings`` over the model that is in this process."""

    model = MiniLM()

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "minilm", "object": "model", "created": 1, "owned_by": "us"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = self.model.embed(asked["input"])
        data = [{"object": "embedding", "index": i, "embedding": (3 * row).tolist()} for i, row in enumerate(rows)]
        self._answer({"object": "list", "model": asked["model"], "data": data[::-1], "usage": {}})

    def _answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", params=["minilm", "gguf", "openai"])
def model(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    backend = request.param
    path = str(SMOLLM2.path()) if backend == "gguf" else ""
    url = request.getfixturevalue("endpoint") if backend == "openai" else ""
    opened = embedder(Settings(backend=backend, path=path, url=url, threads=1))
    yield opened
    opened.close()


def test_it_names_itself_and_its_width(model: Embedder) -> None:
    assert model.name
    assert model.embed(["one"]).shape == (1, model.dim)


def test_vectors_are_finite_float32_of_unit_length_for_any_text(model: Embedder) -> None:
    vectors = model.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), model.dim)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_batch(model: Embedder) -> None:
    texts = TEXTS[:5]
    together = model.embed(texts)
    np.testing.assert_array_equal(together[::-1], model.embed(texts[::-1]))
    np.testing.assert_array_equal(together[1], model.embed([texts[1]])[0])


def test_a_long_text_costs_no_more_than_what_is_read_of_it(model: Embedder) -> None:
    begin = time.perf_counter()
    model.embed(["word " * 600])
    bounded = time.perf_counter() - begin
    begin = time.perf_counter()
    assert np.isfinite(model.embed(["word " * 400_000])).all()
    assert time.perf_counter() - begin < 5 * bounded + 2


def test_no_texts_give_no_rows(model: Embedder) -> None:
    assert model.embed([]).shape == (0, model.dim)
    assert model.tokens([]) == []


def test_tokens_are_unit_rows_that_make_up_the_text_s_own_vector(model: Embedder) -> None:
    found = model.tokens(TEXTS)
    assert len(found) == len(TEXTS)
    for rows, vector in zip(found, model.embed(TEXTS), strict=True):
        assert rows.dtype == np.float32
        assert rows.shape[0] >= 1
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
        mean = rows.mean(axis=0)
        assert mean @ vector / np.linalg.norm(mean) > 0.9


def test_tokens_do_not_depend_on_their_batch(model: Embedder) -> None:
    together = model.tokens(TEXTS[:5])
    for rows, again in zip(together, model.tokens(TEXTS[4::-1])[::-1], strict=True):
        np.testing.assert_array_equal(rows, again)


def test_a_longer_text_has_more_tokens_or_none_has_more_than_one(model: Embedder) -> None:
    counts = [len(rows) for rows in model.tokens(["bins", "Paper bins go out on Tuesday.", "word " * 400_000])]
    assert counts == [1, 1, 1] or counts[0] < counts[1] < counts[2] <= 512


def test_each_token_of_a_question_finds_its_like(model: Embedder) -> None:
    question, answer, other = model.tokens(
        ["When do the paper bins go out?", TEXTS[1], "def parse(line): return line.split(';')"]
    )
    assert (question @ answer.T).max(axis=1).mean() > (question @ other.T).max(axis=1).mean()


def test_what_is_alike_is_nearer(model: Embedder) -> None:
    first, same, other = model.embed(
        [
            "When is the boiler serviced?",
            "The heating boiler has its yearly service in May.",
            "def parse(line): return line.split(';')",
        ]
    )
    assert first @ same > first @ other


def test_many_threads_may_ask_at_once(model: Embedder) -> None:
    wanted = model.embed(TEXTS[:2])
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(model.embed(TEXTS[:2]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    for vectors in seen:
        np.testing.assert_array_equal(vectors, wanted)


def test_it_works_again_after_close(model: Embedder) -> None:
    before, apart = model.embed(TEXTS[:1]), model.tokens(TEXTS[:1])
    model.close()
    np.testing.assert_array_equal(model.embed(TEXTS[:1]), before)
    np.testing.assert_array_equal(model.tokens(TEXTS[:1])[0], apart[0])
