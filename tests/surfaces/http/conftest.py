"""A real small home, and the real service run on it as its own process on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from quorra.state import database
from quorra.state.keys import Keys

SECRET = "zanzibarquartz"
BOILER = "The boiler pressure should stay at 1.4 bar."
LOOK = '!call search_knowledge_base {"question": "boiler pressure"}'
LOOSE = "The moon 🌊 is made of basalt."
NOTES = {
    "household/boiler.md": f"# Boiler\n\n{BOILER} It hangs in the cellar beside the washing machine.\n",
    "household/bins.md": "# Bins\n\nThe paper bins go out on Thursday evening.\n",
    "household/secret.md": f"# Hiding place\n\nThe spare key lies under the {SECRET}.\n",
    "members/mira/kite.md": "# Kite\n\nMira wants a kite with a long tail.\n",
    "members/tom/diary.md": "# Diary\n\nTom likes the violet umbrella best.\n",
}
REPLIES = {
    "What should the boiler pressure be?": f"!say {BOILER}",
    "Which pressure should the boiler have?": f"!think The note on the boiler says it.\n!say {BOILER}",
    "How long should the boiler pressure stay so?": "!slow 0.1\n!say " + " ".join([BOILER] * 60),
    "Why should the boiler pressure stay so?": f"!say {BOILER}\n!fail",
    "Where does the spare key lie?": f"!say The spare key lies under the {SECRET}.",
    "Look up the boiler pressure.": f"{LOOK}\n!then\n!say {BOILER}",
    "What is the boiler pressure, and the moon?": f"{LOOK}\n!then\n!say {LOOSE} {BOILER}",
}
SURE, THOUGHT, SLOW, BROKEN, HIDDEN, LOOKED, UNSURE = REPLIES
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MODEL_KEY = "modelkeyagate"
ENV = {**os.environ, "QUORRA_MODEL_KEY": MODEL_KEY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass
class Service:
    """A running service, with a client that is signed in by a key and one that is not."""

    home: Path
    process: subprocess.Popen[str]
    url: str
    token: str
    client: httpx.Client
    stranger: httpx.Client
    log: Path

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it, and gives its exit code."""
        self.client.close()
        self.stranger.close()
        self.process.send_signal(number)
        return self.process.wait(20)


Start = Callable[..., Service]


def quorra(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb on a home."""
    command = [sys.executable, "-m", "quorra", *words, "--home", str(home)]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)


def new_home(folder: Path, queue: int = 2, model: str = "") -> Path:
    """Makes a committed home; its model is scripted unless ``model`` says otherwise."""
    for path, text in NOTES.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "replies.json").write_text(json.dumps(REPLIES), encoding="utf-8")
    model = model or 'backend = "scripted"\npath = "replies.json"\n'
    (folder / "quorra.toml").write_text(f"[model]\n{model}[service]\nqueue = {queue}\n", encoding="utf-8")
    (folder / ".gitignore").write_text(".quorra/\n", encoding="utf-8")
    author = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*author, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, env=ENV, check=True)
    return folder


def start(home: Path, log: Path, *words: str) -> Service:
    """Starts the service and waits for its first line."""
    state = database.open(home / ".quorra" / "state.db")
    _, key = Keys(state).create("tests", "owner", datetime.now(UTC))
    state.close()
    command = [sys.executable, "-m", "quorra", "serve", "--home", str(home), "--port", "0", "--json", *words]
    with log.open("w", encoding="utf-8") as err:
        process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=err, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"exit code {process.wait(10)}: {log.read_text(encoding='utf-8')}"
    url, _, token = json.loads(line)["url"].partition("?token=")
    client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60)
    return Service(home, process, url, token, client, httpx.Client(base_url=url, timeout=60), log)


def ready(service: Service) -> None:
    """Waits until every part answers and every passage is embedded."""
    for _ in range(200):
        pending = service.client.post("/search", json={"question": "x"}).json()["pending"]
        if pending == 0 and service.client.get("/health").status_code == 200:
            return
        time.sleep(0.1)
    pytest.fail(service.log.read_text(encoding="utf-8"))


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for the tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("home")
    running = start(new_home(folder), tmp_path_factory.mktemp("log") / "log")
    yield running
    running.stop()


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Start]:
    """Starts services of a test's own; whatever still runs at its end is stopped."""
    running: list[Service] = []

    def begin(*words: str, queue: int = 2, model: str = "") -> Service:
        number = len(running)
        folder = tmp_path / f"home{number}"
        folder.mkdir()
        running.append(start(new_home(folder, queue, model), tmp_path / f"log{number}", *words))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.stop(signal.SIGKILL)


def say(client: httpx.Client, message: str, status: int = 200, **more: object) -> dict[str, Any]:
    """Says something in a conversation with tools, and gives the reply."""
    response = client.post("/chat", json={"message": message, "scope": ["general"], **more})
    assert response.status_code == status, response.text
    told: dict[str, Any] = response.json()
    return told


def call(tool: str, **arguments: object) -> str:
    """Writes the message that makes the scripted model call a tool."""
    return f"!call {tool} {json.dumps(arguments)}"


def member(service: Service, name: str) -> httpx.Client:
    """Gives a client with a key of a member's own."""
    state = database.open(service.home / ".quorra" / "state.db")
    _, key = Keys(state).create("tests", f"member:{name}", datetime.now(UTC))
    state.close()
    return httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def events(response: httpx.Response) -> Generator[tuple[str, dict[str, object]], None, None]:
    """Reads server-sent events as they come."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
