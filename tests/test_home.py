"""What a home tells of itself when it is opened."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.settings import Embedder, Model, Settings
from tests.ledger.places import killed, opened


def test_a_home_tells_of_edits_that_met(tmp_path: Path):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    (root / "vault").mkdir(exist_ok=True)
    (root / "vault/a.md").write_bytes(b"# A\n\nNot committed by anyone.\n")
    killed(root, {"vault/a.md": b"# A\n\nHers.\n"}, "files written")
    (root / ".git/index.lock").unlink()
    (root / "vault/a.md").write_bytes(b"# A\n\nA second hand's.\n")
    (root / ".git/HEAD").write_text("ref: refs/heads/other\n")
    (root / ".git/refs/heads/other").write_bytes((root / ".git/refs/heads/main").read_bytes())
    home = Home.open(settings.read(root))
    assert ["vault/a (kept edit).md" in notice for notice in home.notices()] == [True]
    assert "vault/a (kept edit).md" in home.ledger.snapshot().dirty
    home.close()


def test_a_home_tells_of_a_commit_that_it_can_not_finish(tmp_path: Path):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    killed(root, {"vault/a.md": b"# A\n\nHers.\n"}, "files written")
    lock = root / ".git/index.lock"
    lock.unlink()
    lock.touch()
    home = Home.open(settings.read(root))
    (notice,) = home.notices()
    assert "cut short" in notice
    assert "index.lock" in notice
    home.close()
    lock.unlink()
    home = Home.open(settings.read(root))
    assert home.notices() == []
    assert opened(root).snapshot().dirty == {}
    home.close()


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder where nothing in it can be written."""
    mounted: list[Path] = []

    def close(root: Path) -> Path:
        place = tmp_path / f"closed-{root.name}"
        place.mkdir()
        for words in (["--bind", str(root)], ["-o", "remount,bind,ro"]):
            if subprocess.run(["mount", *words, str(place)], capture_output=True, check=False).returncode:
                pytest.skip("nothing can be mounted here")
            mounted.append(place)
        return place

    yield close
    for place in dict.fromkeys(mounted):
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_home_that_can_not_be_written_can_be_asked(tmp_path: Path, closed: Callable[[Path], Path], indexed: bool):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    (root / "vault").mkdir(exist_ok=True)
    (root / "vault/boiler.md").write_bytes(b"# Boiler\n\nThe pressure of the boiler should be 1.5 bar.\n")
    if indexed:
        home = Home.open(settings.read(root))
        home.sync()
        home.close()
    home = Home.open(settings.read(closed(root)))
    assert ["can't be written" in notice for notice in home.notices()] == [True]
    home.prepare(lambda _: None)
    found = home.search("boiler pressure", window=home.window("owner", None))
    assert [hit.path for hit in found.hits] == ["boiler.md"]
    for words in ("boiler pressure", "boiler"):
        assert home.search(words, window=home.window("owner", None), at="HEAD").hits == ()
    done = home.changes.write("new", b"# New\n", Origin("owner", "test", ""))
    assert (done.outcome, done.code) == ("refused", "disk")
    spare = home.spare
    home.close()
    assert not spare.exists()
    assert not (root / "vault/new.md").exists()


class Server(ThreadingHTTPServer):
    """Embeds every text as the same two numbers, has no chat, and notes the keys that it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.keys: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.keys.add(self.headers["Authorization"])
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [
            {"object": "embedding", "index": at, "embedding": [0.6, 0.8]} for at in range(len(asked.get("input", ())))
        ]
        body = json.dumps({"object": "list", "model": "m", "data": data}).encode()
        self.send_response(200 if data else 503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def test_a_key_goes_to_the_server_it_was_given_for_and_to_no_other(tmp_path: Path):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    (root / "vault/boiler.md").write_bytes(b"# Boiler\n\nThe pressure of the boiler should be 1.5 bar.\n")
    with ExitStack() as open:
        chat, embedder, other = (open.enter_context(serving()) for _ in range(3))
        model = Model(backend="openai", url=chat.url, name="m", answers="composition")
        settings = Settings(home=root, model=model, embedder=Embedder(backend="openai", url=embedder.url, name="m"))
        home = Home.open(settings, model_key="for-the-model", embedder_key="for-the-embedder")
        open.callback(home.close)
        home.sync()
        for override in (None, f"openai:{other.url}#m", f"openai:{chat.url}/#m"):
            window = home.window("owner", None)
            answer = home.ask("What should the pressure of the boiler be?", window=window, model=override)
            assert answer.outcome == "model_away"
        assert chat.keys == {"Bearer for-the-model"}
        assert embedder.keys == {"Bearer for-the-embedder"}
        assert other.keys == {"Bearer none"}
