"""Fifty streamed conversations at once: a tenth cut off, the service killed in the middle and started again.

Every client sends its messages under ids of its own, waits where the service says that it is busy, and sends again
what it has no whole reply to. Afterwards each session must hold each message once, with one whole reply to it; no
generation may run on upstream; and what waited for a yes before the kill must wait still, and be doable.

Usage: python -m tests.bench.chats [--quick]
"""

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from tests.surfaces.http.conftest import ENV, new_home, quorra

CLIENTS, MESSAGES, WAITING = 50, 4, 5
WORDS = 12
CUT = 10
"""One in so many replies is left in its middle."""


class Upstream(ThreadingHTTPServer):
    """An OpenAI-compatible server that answers word by word, and counts what it is generating."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.active = 0
        self.most = 0
        self.counted = threading.Lock()

    @contextmanager
    def generating(self) -> Iterator[None]:
        """Counts one generation while it runs."""
        with self.counted:
            self.active += 1
            self.most = max(self.most, self.active)
        try:
            yield
        finally:
            with self.counted:
                self.active -= 1


class Answer(BaseHTTPRequestHandler):
    """Answers a message by its own first word, or calls the tool that it names."""

    server: Upstream

    def do_POST(self) -> None:
        """Streams one reply."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = next(m for m in reversed(told["messages"]) if m["role"] in ("user", "tool"))
        asked = next(m["content"] for m in reversed(told["messages"]) if m["role"] == "user").split("\n")[-1]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            with self.server.generating():
                self._reply(asked, last["role"] == "user" and asked.startswith("approve "))
        except OSError:
            self.close_connection = True

    def _reply(self, asked: str, calls: bool) -> None:
        if calls:
            given = json.dumps({"id": asked.split()[1]})
            function = {"name": "review_approve", "arguments": given}
            self._send({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}, None)
        else:
            for at in range(WORDS):
                self._send({"content": f"{asked.split(maxsplit=1)[0]}-{at} "}, None)
                time.sleep(0.005)
        self._send({}, "tool_calls" if calls else "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, delta: dict[str, Any], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.flush()

    def do_GET(self) -> None:
        """Names the model."""
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stays silent."""


class Service:
    """The service, which can be killed and started again at the same port."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.key: str = json.loads(quorra(home, "keys", "create", "bench", "--json").stdout)["key"]
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        command = [
            sys.executable,
            "-m",
            "quorra",
            "serve",
            "--home",
            str(self.home),
            "--port",
            str(self.port),
            "--json",
        ]
        process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout
        assert process.stdout.readline()
        return process

    def again(self) -> None:
        """Kills it outright and starts another."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = self._start()

    def client(self) -> httpx.Client:
        """Gives a client with the owner's key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=30)


class Talker:
    """One client: says its messages one after the other, each until it has the whole reply."""

    def __init__(self, service: Service, number: int, met: Counter[str]) -> None:
        self.service, self.number, self.met = service, number, met
        self.pick = random.Random(number)
        self.session: str | None = None
        self.leaves = False

    def run(self, messages: int) -> None:
        """Says everything."""
        with self.service.client() as client:
            for at in range(messages):
                self.leaves = (self.number + at) % CUT == 0
                while not self._said(client, at):
                    pass
                self.met["done"] += 1

    def word(self, at: int) -> str:
        """Gives the word that a message and its reply begin with."""
        return f"w{self.number}m{at}"

    def _said(self, client: httpx.Client, at: int) -> bool:
        body = {"message": f"{self.word(at)} please", "message_id": self.word(at), "scope": ["general"]}
        if self.session:
            body["session_id"] = self.session
        try:
            with client.stream("POST", "/chat/stream", json=body) as response:
                if response.status_code in (409, 503):
                    self.met[str(response.status_code)] += 1
                    time.sleep(self.pick.uniform(0.02, 0.2))
                    return False
                assert response.status_code == 200, response.status_code
                return self._heard(response, at)
        except httpx.TransportError:
            self.met["lost"] += 1
            time.sleep(0.1)
            return False

    def _heard(self, response: httpx.Response, at: int) -> bool:
        kind = ""
        for line in response.iter_lines():
            kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
            if self.leaves and kind == "token":
                self.leaves = False
                self.met["cut"] += 1
                return False
            if line.startswith("data: ") and kind == "done":
                told = json.loads(line.removeprefix("data: "))
                assert told["answer"].startswith(self.word(at)), told["answer"]
                self.session = told["session_id"]
                return True
        self.met["broken"] += 1
        return False


def whole(client: httpx.Client, talker: Talker, messages: int) -> list[str]:
    """Says what is wrong with a session, if anything is."""
    entries = client.get(f"/sessions/{talker.session}/messages").json()["messages"]
    asked = [entry["text"] for entry in entries if entry["kind"] == "user"]
    replies = [entry["text"].split("-")[0] for entry in entries if entry["kind"] == "assistant" and not entry["mark"]]
    wanted = [talker.word(at) for at in range(messages)]
    told = [] if asked == [f"{word} please" for word in wanted] else [f"{talker.number}: asked {asked}"]
    whole = [entry["text"] for entry in entries if entry["kind"] == "assistant" and not entry["mark"]]
    short = [text for text in whole if len(text.split()) != WORDS]
    return told + ([] if replies == wanted and not short else [f"{talker.number}: replied {replies}"])


def waiting(service: Service, count: int) -> dict[str, str]:
    """Lets some things wait for a yes; gives their digests by id."""
    found = {}
    with service.client() as client:
        for at in range(count):
            words = ("note", f"household/new{at}", "--propose", "--from", str(service.home / "quorra.toml"), "--json")
            proposal = json.loads(quorra(service.home, *words).stdout)["proposal"]
            reply = client.post("/chat", json={"message": f"approve {proposal}", "scope": ["general"]}).json()
            shown = reply["pending_confirmation"]
            found[shown["id"]] = shown["digest"]
    return found


def intact(client: httpx.Client, before: dict[str, str]) -> bool:
    """Tells whether what waited still does, and whether one of it can be done."""
    there = client.get("/confirmations").json()["confirmations"]
    if {one["id"]: one["digest"] for one in there} != before:
        return False
    ident, digest = next(iter(before.items()))
    body = {"message": "", "confirmation_id": ident, "digest": digest}
    return client.post("/chat", json=body).json().get("outcome") == "answered"


def measure(clients: int, messages: int) -> bool:
    """Runs the crowd and looks at what is left of it."""
    upstream = Upstream()
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    model = f'backend = "openai"\nname = "m"\nurl = "http://127.0.0.1:{upstream.server_port}/v1"\n'
    met: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        service = Service(new_home(Path(folder), 8, model))
        try:
            before = waiting(service, WAITING)
            talkers = [Talker(service, number, met) for number in range(clients)]
            start = time.perf_counter()
            with ThreadPoolExecutor(clients) as crowd:
                talking = [crowd.submit(talker.run, messages) for talker in talkers]
                while met["done"] < clients * messages // 2 and not any(one.done() for one in talking):
                    time.sleep(0.01)
                service.again()
                for one in talking:
                    one.result()
            spent = time.perf_counter() - start
            time.sleep(2)
            with service.client() as client:
                wrong = [line for talker in talkers for line in whole(client, talker, messages)]
                kept = intact(client, before)
        finally:
            service.process.kill()
            service.process.wait()
            upstream.shutdown()
    holds = not wrong and kept and not upstream.active and met["cut"] > 0 and met["lost"] + met["broken"] > 0
    row = {"figure": f"{clients} streamed chats of {messages} messages", "met": dict(met), "wrong": wrong[:5]}
    row |= {"approvals": kept, "running upstream": upstream.active, "at once upstream": upstream.most}
    print(json.dumps(row | {"seconds": round(spent, 1), "holds": holds}))
    return holds


def main() -> None:
    """Runs it."""
    quick = "--quick" in sys.argv
    sys.exit(not measure(10 if quick else CLIENTS, 3 if quick else MESSAGES))


if __name__ == "__main__":
    main()
