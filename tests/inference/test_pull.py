"""Models come over HTTP when asked for, checked, and never half."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from quorra.inference.pull import PullFailed, held, pull
from quorra.settings import Source

BODY = bytes(range(256)) * 9000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Shelf(BaseHTTPRequestHandler):
    """Gives one file under several paths, some of them broken."""

    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/moved.gguf":
            self.send_response(302)
            self.send_header("Location", "/m.gguf")
            self.end_headers()
            return
        if self.path == "/none.gguf":
            self.send_error(404)
            return
        body = BODY[:1000] if self.path == "/short.gguf" else BODY
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture(scope="module")
def shelf() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_name_is_pulled_checked_and_named(shelf: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    sources = {"small": Source(url=f"{shelf}/m.gguf", sha256=SHA256)}
    pulled = pull("small", sources, tmp_path / "models", lambda done, whole: told.append((done, whole)))
    assert pulled.path == tmp_path / "models" / "small.gguf"
    assert pulled.path.read_bytes() == BODY
    assert (pulled.bytes, pulled.sha256, pulled.checked) == (len(BODY), SHA256, True)
    assert told[-1] == (len(BODY), len(BODY))
    assert held(tmp_path / "models") == [pulled.path]


def test_what_is_there_is_not_pulled_again(shelf: str, tmp_path: Path) -> None:
    sources = {"small": Source(url=f"{shelf}/m.gguf", sha256=SHA256)}
    pull("small", sources, tmp_path)
    before = len(Shelf.asked)
    assert pull("small", sources, tmp_path).checked
    assert len(Shelf.asked) == before
    (tmp_path / "small.gguf").write_bytes(b"altered")
    pull("small", sources, tmp_path)
    assert (tmp_path / "small.gguf").read_bytes() == BODY


def test_a_url_is_pulled_and_its_hash_told_or_checked(shelf: str, tmp_path: Path) -> None:
    assert not pull(f"{shelf}/m.gguf", {}, tmp_path).checked
    assert pull(f"{shelf}/m.gguf#sha256={SHA256}", {}, tmp_path).checked
    assert pull(f"{shelf}/moved.gguf", {}, tmp_path).path.read_bytes() == BODY


@pytest.mark.parametrize("path", ["/short.gguf", "/none.gguf"])
def test_what_breaks_off_leaves_what_was_there(shelf: str, tmp_path: Path, path: str) -> None:
    file = tmp_path / path[1:]
    file.write_bytes(b"before")
    with pytest.raises(PullFailed):
        pull(shelf + path, {}, tmp_path)
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_another_file_than_promised_is_refused(shelf: str, tmp_path: Path) -> None:
    with pytest.raises(PullFailed, match="sha256"):
        pull("small", {"small": Source(url=f"{shelf}/m.gguf", sha256="0" * 64)}, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["unknown", "file:///etc/passwd", "http://127.0.0.1:9/m.gguf", "http://127.0.0.1:9/"])
def test_what_can_not_be_pulled_is_said(what: str, tmp_path: Path) -> None:
    with pytest.raises(PullFailed) as told:
        pull(what, {}, tmp_path)
    assert told.value.next
    assert list(tmp_path.iterdir()) == []


def test_a_url_can_not_name_a_file_outside_the_folder(shelf: str, tmp_path: Path) -> None:
    inside = tmp_path / "in"
    pulled = pull(f"{shelf}/x%2f..%2f..%2f.evil.gguf", {}, inside)
    assert pulled.path.parent == inside
