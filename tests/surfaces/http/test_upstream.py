"""Streams whose model is somewhere else, or real: what happens upstream when a client leaves, and the other way."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.surfaces.http.conftest import SURE, Service, Start, events

WRITING = {"text": "writing"}


class Upstream(ThreadingHTTPServer):
    """An OpenAI-compatible server that speaks slowly, or breaks off; it knows when it was left."""

    daemon_threads = True

    def __init__(self, breaks: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.breaks = breaks
        self.speaking = threading.Event()
        self.left = threading.Event()


class _Answer(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "slow", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for _ in range(600):
                self._say("The boi" if self.server.breaks else "The boiler is ")
                self.server.speaking.set()
                if self.server.breaks:
                    return
                time.sleep(0.05)
        except OSError:
            self.server.left.set()

    def _say(self, text: str) -> None:
        delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [delta]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Stays silent."""


@pytest.fixture
def upstream(request: pytest.FixtureRequest) -> Iterator[Upstream]:
    server = Upstream(request.param)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def remote(starts: Start, upstream: Upstream) -> Service:
    return starts(model=f'backend = "openai"\nname = "slow"\nurl = "http://127.0.0.1:{upstream.server_port}/v1"\n')


@pytest.mark.parametrize("upstream", [False], indirect=True)
def test_the_upstream_is_closed_within_two_seconds_of_the_client(starts: Start, upstream: Upstream) -> None:
    service = remote(starts, upstream)
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        told = events(response)
        assert next(told)
        assert upstream.speaking.wait(20)
        assert not upstream.left.is_set()
    assert upstream.left.wait(2)


@pytest.mark.parametrize("upstream", [True], indirect=True)
def test_an_upstream_that_breaks_off_ends_the_stream_in_error(starts: Start, upstream: Upstream) -> None:
    service = remote(starts, upstream)
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        names = [name for name, _ in events(response)]
    assert names[-1] == "error"
    assert "done" not in names
    session = service.client.get("/sessions").json()["sessions"][0]["id"]
    last = service.client.get(f"/sessions/{session}/messages").json()["messages"][-1]
    assert (last["text"], last["mark"]) == ("The boi", "failed")


def test_a_real_model_is_freed_within_two_seconds_of_the_client(starts: Start) -> None:
    service = starts(model='backend = "llama"\nanswers = "composition"\n')
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        for _, data in events(response):
            if data == WRITING:
                break
    start = time.monotonic()
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        assert next(data for _, data in events(response) if data != {"text": "waiting"})
    assert time.monotonic() - start < 2
