"""A provider of tokens on loopback: its keys are served, and it signs whatever an attack asks for."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

AUDIENCE = "quorra"


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Provider:
    """One issuer with one key, and an attacker's key beside it."""

    def __init__(self) -> None:
        self._key = RSAKey.generate_key(2048, {"kid": "known"}, private=True)
        self._foreign = RSAKey.generate_key(2048, {"kid": "known"}, private=True)
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(served.document(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def document(self, path: str) -> dict[str, Any]:
        """Gives what lies at a path."""
        if path.startswith("/.well-known"):
            return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"}
        public = self._key.as_dict(private=False)
        return {"keys": [{**public, "kid": "known", "use": "sig", "alg": "RS256"}]}

    def token(self, who: str, variants: list[str]) -> str:
        """Makes a token about somebody; variants change claims, header and key."""
        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "aud": AUDIENCE, "sub": f"sub-{who}", "iat": now}
        claims |= {"exp": now + 600, "email": f"{who}@example.org", "email_verified": True}
        header: dict[str, Any] = {"alg": "RS256", "kid": "known", "typ": "JWT"}
        how = {"key": "own", "alg": "RS256", "signature": ""}
        for name, _, value in (variant.partition("=") for variant in variants):
            if name in how:
                how[name] = value
            elif name in ("kid", "jku", "x5u", "jwk", "crit", "typ"):
                header[name] = self._foreign.as_dict(private=False) if value == "embedded" else value
            elif value == "missing":
                claims.pop(name, None)
            elif name in ("exp", "nbf"):
                claims[name] = "tomorrow" if value == "string" else now + int(value)
            else:
                claims[name] = {"true": True, "false": False}.get(value, value)
        return self._signed(header, claims, how)

    def _signed(self, header: dict[str, Any], claims: dict[str, Any], how: dict[str, str]) -> str:
        header["alg"] = how["alg"]
        if how["alg"] == "RS256" and "crit" not in header:
            return jwt.encode(header, claims, self._foreign if how["key"] == "attacker" else self._key)
        head = f"{_b64(json.dumps(header).encode())}.{_b64(json.dumps(claims).encode())}"
        if "crit" in header:
            return f"{head}.{_b64(self._raw(head))}"
        if not how["alg"].startswith("HS"):
            return f"{head}."
        secrets = {
            "public-pem": self._key.as_pem(private=False),
            "public-jwk": json.dumps(self._key.as_dict(private=False)).encode(),
        }
        mac = hmac.new(secrets.get(how["key"], b""), head.encode(), hashlib.sha256).digest()
        return f"{head}.{_b64(mac)}"

    def _raw(self, head: str) -> bytes:
        """Signs what the library would refuse to sign."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

        signed: bytes = self._key.raw_value.sign(head.encode(), PKCS1v15(), hashes.SHA256())
        return signed
