"""A server on loopback that streams given deltas, so that each way of breaking off can be seen from outside."""

import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Streaming(ThreadingHTTPServer):
    """Streams ``deltas``, then ends as ``ending`` says: done, reset, quiet, hang; a status and why refuses all."""

    def __init__(self, deltas: Sequence[dict[str, Any]], ending: str, finish: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.deltas, self.ending, self.finish = deltas, ending, finish
        self.gone = threading.Event()
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Streaming

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, _, why = self.server.ending.partition(" ")
        if status.isdigit():
            self.send_error(int(status), why or None)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta in self.server.deltas:
            self._send({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        getattr(self, f"_{self.server.ending}")()

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "m7", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _done(self) -> None:
        self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": self.server.finish}]})
        self._send({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _quiet(self) -> None:
        self.close_connection = True

    def _error(self) -> None:
        self._send({"error": {"message": "out of memory"}})

    def _garbage(self) -> None:
        self.wfile.write(b"data: {not json\n\n")

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _hang(self) -> None:
        self.connection.settimeout(20)
        try:
            if not self.connection.recv(1):
                self.server.gone.set()
        except ConnectionError:
            self.server.gone.set()

    def _send(self, chunk: dict[str, Any]) -> None:
        whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}
        self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        return

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            self.server.gone.set()

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            self.server.gone.set()


@contextmanager
def streaming(deltas: Sequence[dict[str, Any]], ending: str = "done", finish: str = "stop") -> Iterator[Streaming]:
    server = Streaming(deltas, ending, finish)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
