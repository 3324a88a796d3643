"""The verbs about model files, against a file server on loopback."""

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.surfaces.http.conftest import ENV, quorra

WEIGHTS = b"not really a model"
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Stays silent."""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[str]:
    """A server with two model files; gives its address."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(WEIGHTS)
    (folder / "other.gguf").write_bytes(b"something else")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def home(tmp_path: Path, shelf: str) -> Path:
    folder = tmp_path / "home"
    subprocess.run(["git", "init", "-q", str(folder)], env=ENV, check=True)
    lines = [f'[models.{name}]\nurl = "{shelf}/{name}.gguf"\nsha256 = "{SHA256}"\n' for name in ("tiny", "other")]
    (folder / "quorra.toml").write_text("".join(lines), encoding="utf-8")
    return folder


def kinds(home: Path) -> dict[str, str]:
    rows = json.loads(quorra(home, "models", "list", "--json").stdout)["models"]
    return {row["name"]: row["kind"] for row in rows}


def test_a_named_model_is_fetched_checked_and_listed(home: Path) -> None:
    assert kinds(home) == {
        "SmolLM2-135M-Instruct": "packaged",
        "all-MiniLM-L6-v2": "packaged",
        "tiny": "to pull",
        "other": "to pull",
    }
    row = json.loads(quorra(home, "models", "pull", "tiny", "--json").stdout)["models"][0]
    assert Path(row["path"]).read_bytes() == WEIGHTS
    assert (row["name"], row["bytes"], row["sha256"], row["checked"]) == ("tiny", len(WEIGHTS), SHA256, True)
    assert kinds(home)["tiny"] == "pulled"


def test_what_is_not_as_promised_is_not_kept(home: Path) -> None:
    refused = quorra(home, "models", "pull", "other")
    assert refused.returncode == 1
    assert "sha256" in refused.stderr
    assert list((home / ".quorra" / "models").iterdir()) == []


def test_a_url_is_fetched_and_its_digest_told(home: Path, shelf: str) -> None:
    done = quorra(home, "models", "pull", f"{shelf}/tiny.gguf")
    assert done.returncode == 0
    assert SHA256 in done.stdout
    gone = quorra(home, "models", "pull", f"{shelf}/nowhere.gguf", "--json")
    assert (gone.returncode, json.loads(gone.stdout)["error"]["code"]) == (1, "pull_failed")
