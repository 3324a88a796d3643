"""A signer of tokens with its keys on a real server, which counts who asks for them."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep, time
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import KeySet, RSAKey

AUDIENCE = "quorra"


@dataclass
class Issuer:
    """What a provider tells of itself, as a test wants it told, and how often it was asked."""

    url: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    keys: list[Any] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    away: bool = False
    slow: float = 0.0

    def answer(self, path: str) -> tuple[int, bytes]:
        """Gives status and body for a path."""
        self.asked.append(path)
        sleep(self.slow)
        if self.away:
            return 500, b""
        if path == "/keys":
            public = KeySet([self.key]).as_dict(private=False)["keys"]
            return 200, json.dumps({"keys": self.keys or public}).encode()
        return 200, json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.told}).encode()

    def token(self, *, header: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
        """Makes a token that is good unless a claim or the header is given otherwise; None leaves a claim out."""
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "248", "exp": int(time()) + 60}
        said = {name: value for name, value in {**good, **claims}.items() if value is not None}
        head = {"alg": "RS256", "kid": "one", **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        every = jws.JWSRegistry(algorithms=list(jws.JWSRegistry.algorithms), strict_check_header=False)
        return jws.serialize_compact(head, json.dumps(said), key or self.key, registry=every)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer on loopback."""
    told = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = told.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield told
        server.shutdown()
