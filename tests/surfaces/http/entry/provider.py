"""A real OpenID provider as a process on loopback: Canaille with one person, and a login without a browser."""

import base64
import hashlib
import json
import re
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc.jwk import RSAKey

MIRA, PASSWORD = "mira", "correct horse battery staple"
BACK = "http://127.0.0.1:9/back"
KEPT = (
    *("client_id", "client_secret", "client_name", "client_uri", "redirect_uris"),
    *("grant_types", "response_types", "token_endpoint_auth_method", "id_token_signed_response_alg"),
)


@dataclass
class Provider:
    """A running provider; its keys and lifetimes are fixed until it is started again on the same port."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def signer() -> dict[str, Any]:
    """Makes a new key for a provider to sign with."""
    key = RSAKey.generate_key(2048, auto_kid=True)
    return dict(key.as_dict(private=True))


def start(*keys: dict[str, Any], port: int = 0, lifetime: int = 3600, client: dict[str, Any] | None = None) -> Provider:
    """Starts a provider that signs with the first key, and waits until it answers.

    It keeps nothing, so a client that it knew before is told to it again.
    """
    port = port or _free()
    told = json.dumps({"port": port, "keys": keys[:1], "old": keys[1:], "lifetime": lifetime, "client": client})
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.surfaces.http.entry.provider", told],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    provider = Provider(port, process)
    for _ in range(300):
        try:
            httpx.get(f"{provider.issuer}/.well-known/openid-configuration").raise_for_status()
            return provider
        except httpx.TransportError:
            assert process.poll() is None
            time.sleep(0.1)
    raise TimeoutError


def register(provider: Provider) -> dict[str, Any]:
    """Registers a client at the provider, as programs do it (RFC 7591)."""
    asked = {
        "client_name": "quorra",
        "client_uri": "http://127.0.0.1:9",
        "redirect_uris": [BACK],
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "scope": "openid profile email",
    }
    return dict(httpx.post(f"{provider.issuer}/oauth/register", json=asked).raise_for_status().json())


def login(provider: Provider, client: dict[str, Any]) -> dict[str, str]:
    """Logs Mira in with code and PKCE, and gives the tokens."""
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "client_id": client["client_id"],
        "response_type": "code",
        "scope": "openid profile email",
        "redirect_uri": BACK,
        "nonce": secrets.token_urlsafe(8),
        "state": "s",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    with httpx.Client(base_url=provider.issuer) as browser:
        page = _follow(browser, browser.get("/oauth/authorize", params=asked))
        page = _follow(browser, browser.post(page.url, data={"csrf_token": _csrf(page), "login": MIRA}))
        page = _follow(browser, browser.post(page.url, data={"csrf_token": _csrf(page), "password": PASSWORD}))
    code = parse_qs(urlsplit(page.headers["location"]).query)["code"][0]
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": verifier}
    found = httpx.post(f"{provider.issuer}/oauth/token", data=sent, auth=(client["client_id"], client["client_secret"]))
    return dict(found.raise_for_status().json())


def _follow(browser: httpx.Client, page: httpx.Response) -> httpx.Response:
    while page.is_redirect and not page.headers["location"].startswith(BACK):
        page = browser.get(page.headers["location"])
    return page


def _csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page.text)
    assert found is not None, page.text[:500]
    return found[1]


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def serve(port: int, keys: list[Any], old: list[Any], lifetime: int, client: dict[str, Any] | None) -> None:
    """Runs Canaille until it is ended."""
    from canaille import create_app
    from canaille.app import models
    from canaille.backends import Backend
    from canaille.oidc.provider import authorization
    from werkzeug.serving import make_server

    told = {
        "SECRET_KEY": "not a secret",
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "CANAILLE": {"DATABASE": "memory", "FORCE_HTTPS": False, "SMTP": None},
        "CANAILLE_OIDC": {
            "ACTIVE_JWKS": keys,
            "INACTIVE_JWKS": old or None,
            "DYNAMIC_CLIENT_REGISTRATION_OPEN": True,
        },
    }
    app = create_app(told)
    app.config["OAUTH2_TOKEN_EXPIRES_IN"] = {"authorization_code": lifetime}
    authorization.register_token_generator("default", authorization.create_bearer_token_generator(app.config))
    with app.app_context():
        mira = models.User(
            formatted_name="Mira", family_name="M", user_name=MIRA, emails=["mira@home.example"], password=PASSWORD
        )
        Backend.instance.save(mira)
        if client:
            same = models.Client(**{name: client[name] for name in KEPT}, scope=client["scope"].split())
            Backend.instance.save(same)
            same.audience = [same]
            Backend.instance.save(same)
    make_server("127.0.0.1", port, app, threaded=True).serve_forever()


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
