"""Who gets in: the one-time link, keys, and nobody else."""

import asyncio
import json
from collections.abc import Sequence
from time import sleep

import httpx
import pytest
from litestar.connection import ASGIConnection

from quorra.access.principals import AuthenticatedPrincipal
from quorra.surfaces.http.entry.auth import LASTS, Auth
from tests.surfaces.http.conftest import SURE, Service, Start, quorra, ready

ADDRESSES = [
    ("GET", "/metrics"),
    ("GET", "/schema"),
    ("GET", "/schema/openapi.json"),
    ("GET", "/nowhere"),
    ("GET", "/"),
    ("POST", "/search"),
    ("POST", "/chat"),
    ("POST", "/chat/stream"),
]


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_a_stranger_gets_the_same_401_everywhere(service: Service, method: str, path: str) -> None:
    response = service.stranger.request(method, path, json={"message": SURE} if method == "POST" else None)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "signed_out"
    assert response.text == service.stranger.get("/elsewhere").text


def test_health_tells_a_stranger_only_whether_all_is_well(service: Service) -> None:
    ready(service)
    response = service.stranger.get("/health")
    assert (response.status_code, response.json()) == (200, {"ok": True})


def test_a_wrong_key_is_a_stranger(service: Service) -> None:
    response = service.stranger.get("/metrics", headers={"Authorization": "Bearer not-a-key"})
    assert response.status_code == 401


def test_the_link_signs_a_browser_in_once_and_no_other_page_with_it(starts: Start) -> None:
    service = starts()
    with httpx.Client(base_url=service.url, timeout=60) as browser:
        opened = browser.get("/", params={"token": service.token})
        assert opened.status_code == 200
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert service.token not in opened.text
        assert browser.get("/").status_code == 200
        own = {"Origin": service.url.rstrip("/")}
        for headers, status in (
            ({}, 200),
            (own, 200),
            ({"Origin": "http://127.0.0.1:1"}, 401),
            ({"Origin": "null"}, 401),
        ):
            found = browser.post("/search", json={"question": "boiler"}, headers=headers)
            assert found.status_code == status
    assert service.stranger.get("/", params={"token": service.token}).status_code == 401
    assert service.stranger.get("/").status_code == 401


class Nobody:
    """Knows no bearer."""

    async def who(self, secrets: Sequence[str], emails: Sequence[str]) -> None:
        return None


def test_a_browser_is_signed_out_after_a_while_and_the_link_waits_for_its_first_use() -> None:
    assert LASTS == 14 * 24 * 3600
    auth = Auth(Nobody(), 1, lasts=0.3)
    token = auth.link()
    sleep(0.4)
    secret = auth.enter(token, "127.0.0.1")

    def who() -> AuthenticatedPrincipal | None:
        headers = [(b"cookie", f"quorra-1={secret}".encode())]
        return asyncio.run(auth.who(ASGIConnection({"type": "http", "headers": headers, "client": ("127.0.0.1", 1)})))

    assert who() == AuthenticatedPrincipal("owner")
    sleep(0.4)
    assert who() is None


@pytest.mark.parametrize("path", ["/", "/?token=used-up", "/elsewhere"])
def test_a_browser_that_is_turned_away_reads_what_to_do(service: Service, path: str) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    page = service.stranger.get(path, headers=browser)
    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "newest link that quorra serve printed" in page.text
    assert "<script" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["www-authenticate"] == "Bearer"
    assert service.stranger.get(path).json()["error"]["code"] == "signed_out"


def test_a_revoked_key_is_a_stranger_at_once(service: Service) -> None:
    made = json.loads(quorra(service.home, "keys", "create", "lost phone", "--json").stdout)
    assert set(made["keys"][0]) == {"id", "name", "principal", "created", "revoked", "kind"}
    with httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {made['key']}"}) as phone:
        assert phone.get("/schema").status_code == 200
        assert quorra(service.home, "keys", "revoke", made["keys"][0]["id"]).returncode == 0
        assert phone.get("/schema").status_code == 401
    listed = quorra(service.home, "keys", "list", "--json").stdout
    assert made["key"] not in listed
    assert [key["revoked"] is None for key in json.loads(listed)["keys"]] == [True, False]
    assert quorra(service.home, "keys", "revoke", "none").returncode == 1


def test_a_key_of_a_member_sees_the_members_window(service: Service) -> None:
    made = json.loads(quorra(service.home, "keys", "create", "tablet", "--for", "mira", "--json").stdout)
    with httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {made['key']}"}, timeout=60) as tablet:
        asked = {"question": "violet umbrella", "mode": "words"}
        assert tablet.post("/search", json=asked).json()["hits"] == []
        assert tablet.post("/search", json={**asked, "window": "member:tom"}).json()["hits"] == []
        hits = tablet.post("/search", json={"question": "paper bins", "mode": "words"}).json()["hits"]
        assert hits[0]["path"] == "household/bins.md"
    assert service.client.post("/search", json=asked).json()["hits"][0]["path"] == "members/tom/diary.md"


def test_a_name_that_was_rebound_to_this_machine_is_refused(service: Service) -> None:
    port = service.url.rsplit(":", 1)[1].rstrip("/")
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example"):
        response = service.client.post("/search", json={"question": "boiler"}, headers={"Host": host})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_input")
    assert service.client.get("/health", headers={"Host": f"localhost:{port}"}).status_code == 200
    for odd in (b"localhost:\xb2", b"localhost:" + b"9" * 5000):
        assert service.client.get("/health", headers={b"Host": odd}).status_code == 400


def test_guessing_is_limited_and_a_forgotten_program_is_no_guesser(starts: Start) -> None:
    service = starts()
    for _ in range(20):
        assert service.stranger.get("/schema", headers={"Authorization": "Bearer stale"}).status_code == 401
    assert service.client.get("/schema").status_code == 200
    codes = [
        service.stranger.get("/schema", headers={"Authorization": f"Bearer guess{number}"}).status_code
        for number in range(12)
    ]
    assert codes[0] == 401
    assert codes[-1] == 429
    last = service.stranger.get("/", params={"token": "guess"})
    assert (last.status_code, last.json()["error"]["code"]) == (429, "too_many_tries")
    assert int(last.headers["retry-after"]) > 0


def test_no_answer_ever_invites_another_origin(service: Service) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for client in (service.client, service.stranger):
        for method, path in [*ADDRESSES, ("OPTIONS", "/chat"), ("GET", "/health")]:
            response = client.request(method, path, headers=asking)
            assert not [name for name in response.headers if name.lower().startswith("access-control")]
