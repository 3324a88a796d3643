"""Every road in ends in the same person, and whoever has none learns nothing."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import httpx
import pytest

from quorra import settings
from quorra.access.principals import AuthenticatedPrincipal
from quorra.home import Home
from quorra.state.keys import SERVICE, Keys
from quorra.surfaces.http.app import build
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry import roads
from quorra.surfaces.http.entry.auth import EVEN, Auth
from tests.surfaces.http.conftest import Service, call, new_home, quorra, say, start

PEOPLE = """
[people]
"Mira@Home.example" = "Mira"
"ida@home.example" = "ida"
"owner@home.example" = "owner"
"sub:248" = "mira"
"sub:tom@home.example" = "tom"
"""
MIRA = {"X-Quorra-User-Email": "mira@home.example"}
BINS = {"question": "paper bins", "mode": "words"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    folder = tmp_path / "home"
    folder.mkdir()
    (new_home(folder) / "quorra.toml").open("a", encoding="utf-8").write(PEOPLE)
    with closing(Home.open(settings.read(folder))) as found:
        yield found


def made(keys: Keys, principal: str = "", kind: str = SERVICE) -> str:
    return keys.create("test", principal, datetime.now(UTC), kind)[1]


def bearer(secret: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **more}


@pytest.fixture
def house(home: Home, tmp_path: Path) -> Iterator[Service]:
    """A running service of a home with people."""
    running = start(home.settings.home, tmp_path / "log")
    yield running
    running.stop()


def test_a_key_and_a_service_lead_to_one_principal(home: Home):
    bearers, mira = roads.bearers(home), AuthenticatedPrincipal("member:mira")
    service = made(home.keys)
    for secret, emails in (
        (made(home.keys, "mira", "key"), []),
        (made(home.keys, "member:Mira", "key"), []),
        (service, ["mira@home.example"]),
        (service, [" MIRA@HOME.EXAMPLE\t"]),
    ):
        assert asyncio.run(bearers.who([secret], emails)) == mira
    assert asyncio.run(bearers.who([service], ["owner@home.example"])) == AuthenticatedPrincipal("owner")


@pytest.mark.parametrize(
    "email",
    [
        "",
        "mira",
        "@home.example",
        "mira@evil-home.example",
        "mira@home.example.evil.example",
        "mira+x@home.example",
        "m\u0131ra@home.example",
        "mira@home.e\u00d7ample",
        "mira@home.example, owner@home.example",
        "mira@home.example\u00a0",
        "248",
        "sub:248",
        "sub:tom@home.example",
        "tom@home.example",
        "ida@home.example",
        "\xff",
    ],
)
def test_an_address_is_somebodys_only_as_a_whole(home: Home, email: str):
    header = email if email == "\xff" else email.encode().decode("latin-1")
    assert asyncio.run(roads.bearers(home).who([made(home.keys)], [header])) is None


def strangers(service: Service, keys: Keys) -> dict[str, list[tuple[str, str]]]:
    """Gives headers of everybody who is nobody here, each wrong in a way of its own."""
    speaking, lost = made(keys), made(keys, "member:ida", "key")
    revoked, ended = keys.create("old", "owner", datetime.now(UTC))
    keys.revoke(revoked.id, datetime.now(UTC))
    known, mira = made(keys, "member:mira", "key"), list(MIRA.items())
    said: Mapping[str, tuple[str, list[tuple[str, str]]]] = {
        "an unknown key": ("qk_00000000_x", []),
        "a wrong secret": (speaking[:-4] + "wild", mira),
        "a revoked key": (ended, []),
        "a lost member's key": (lost, []),
        "a service for nobody": (speaking, []),
        "a service for a stranger": (speaking, [("X-Quorra-User-Email", "eve@home.example")]),
        "a service for a lost member": (speaking, [("X-Quorra-User-Email", "ida@home.example")]),
        "a service for two": (speaking, [*mira, *mira]),
        "a key for somebody else": (known, mira),
        "a token": ("e30.e30.x", []),
    }
    every = {who: [("Authorization", f"Bearer {secret}"), *more] for who, (secret, more) in said.items()}
    return {"nothing": [], **every}


def test_whoever_is_turned_away_is_turned_away_alike(house: Service, home: Home):
    plain = house.stranger.post("/search", json=BINS)
    for who, headers in strangers(house, home.keys).items():
        begun = perf_counter()
        found = house.stranger.post("/search", json=BINS, headers=headers)
        took = perf_counter() - begun
        assert (found.status_code, found.text) == (401, plain.text), who
        assert found.headers.keys() == plain.headers.keys()
        assert took >= EVEN or not headers
    log = house.log.read_text(encoding="utf-8")
    reasons = {json.loads(line)["why"] for line in log.splitlines() if "turned_away" in line}
    assert {"unknown_key", "unknown_person", "not_in_home", "service_for_nobody", "service_for_two"} <= reasons
    assert not re.search(r"@|qk_|mira|home.example", "".join(line for line in log.splitlines() if line.startswith("{")))


def test_a_member_that_the_home_has_lost_is_a_stranger_at_once(house: Service, home: Home):
    key = bearer(made(home.keys, "member:tom", "key"))
    assert house.stranger.post("/search", json=BINS, headers=key).status_code == 200
    (house.home / "vault/members/tom").rename(house.home / "vault/members/thomas")
    refused = house.stranger.post("/search", json=BINS, headers=key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "signed_out")
    assert "mira" not in refused.text


def test_guessing_people_is_limited_and_holds_up_nobody_else(house: Service, home: Home):
    key = made(home.keys)
    codes = [
        house.stranger.post("/search", json=BINS, headers=bearer(key, **{"X-Quorra-User-Email": f"a{n}@b"}))
        for n in range(12)
    ]
    assert [codes[0].status_code, codes[-1].status_code] == [401, 429]
    assert house.stranger.post("/search", json=BINS, headers=bearer(key, **MIRA)).status_code == 200


def test_a_bearer_is_judged_alone_whatever_cookie_comes_along(house: Service, home: Home):
    with httpx.Client(base_url=house.url, timeout=60) as browser:
        assert browser.get("/", params={"token": house.token}).status_code == 200
        key = made(home.keys, "mira", "key")
        for headers, status in (({}, 200), (bearer("qk_0_x"), 401), (MIRA, 401), (bearer(key), 200)):
            assert browser.post("/search", json=BINS, headers=headers).status_code == status
        kept = browser.post("/search", json={"question": "violet umbrella", "mode": "words"}, headers=bearer(key))
        assert kept.json()["hits"] == []
        two = [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")]
        assert browser.post("/search", json=BINS, headers=two).status_code == 401


def addresses(home: Home) -> list[tuple[str, str]]:
    """Gives every method of every address that the application has."""
    app = build(home, Desk(1), Auth(roads.bearers(home), 1))
    found = []
    for route in app.routes:
        methods = getattr(route, "methods", None) or {"GET"}
        found += [(method, re.sub(r"\{[^}]*\}", "x", route.path)) for method in sorted(methods)]
    return found


def test_no_address_answers_a_stranger_and_none_makes_keys(house: Service, home: Home):
    every = addresses(home)
    assert {("POST", "/search"), ("GET", "/health"), ("GET", "/")} <= set(every)
    with httpx.Client(base_url=house.url, timeout=60) as browser:
        browser.get("/", params={"token": house.token})
        known = {
            "the owner's browser": (browser, {}),
            "the owner's key": (house.client, {}),
            "a member's key": (house.stranger, bearer(made(home.keys, "mira", "key"))),
            "a service": (house.stranger, bearer(made(home.keys), **MIRA)),
        }
        unknown = {who: (house.stranger, headers) for who, headers in strangers(house, home.keys).items()}
        before = home.keys.every()
        for method, path in every:
            body = {"name": "mine", "message": "Make me a key.", "question": "x"} if method != "GET" else None
            for who, (client, headers) in {**known, **unknown}.items():
                found = client.request(method, path, json=body, headers=headers)
                if who in unknown and path != "/health" and (method, path) != ("OPTIONS", "/"):
                    assert found.status_code in (401, 429), (who, method, path)
                elif who in known:
                    assert found.status_code not in (401, 403) or who != "the owner's key", (who, method, path)
                assert not [name for name in found.headers if name.startswith("access-control")]
        assert home.keys.every() == before


def test_the_start_says_which_roads_are_open(home: Home, house: Service):
    assert roads.told(home) == ["[people] names whom this home does not know: member:ida. They are not let in."]
    assert "member:ida" in house.log.read_text(encoding="utf-8")


def test_a_home_that_tells_of_nobody_is_closed(tmp_path: Path):
    folder = new_home(tmp_path)
    with closing(Home.open(settings.read(folder))) as home:
        (line,) = roads.told(home)
        assert line.startswith("Only the link opens the service")
        assert not roads.open_to_others(home)
        service = made(home.keys)
        assert asyncio.run(roads.bearers(home).who([service], ["owner@localhost"])) is None
        assert any("Nobody stands under [people]" in line for line in roads.told(home))


def test_a_service_key_is_made_for_nobody(home: Home):
    folder = home.settings.home
    found = json.loads(quorra(folder, "keys", "create", "bot", "--service", "--json").stdout)
    assert (found["keys"][0]["kind"], found["keys"][0]["principal"]) == ("service", "")
    assert "service" in quorra(folder, "keys", "list").stdout
    assert quorra(folder, "keys", "create", "bot", "--service", "--for", "mira").returncode == 2
    other = json.loads(quorra(folder, "keys", "create", "tablet", "--for", "Mira", "--json").stdout)
    assert (other["keys"][0]["kind"], other["keys"][0]["principal"]) == ("key", "member:mira")


def test_the_audit_tells_a_service_from_the_person_it_speaks_for(house: Service, home: Home):
    bot, service = home.keys.create("bot", "", datetime.now(UTC), SERVICE)
    own, phone = home.keys.create("phone", "owner", datetime.now(UTC))
    owners = {"X-Quorra-User-Email": "owner@home.example"}
    for day, headers in (("Friday", bearer(service, **owners)), ("Sunday", bearer(phone))):
        with httpx.Client(base_url=house.url, headers=headers, timeout=60) as client:
            say(client, call("document", path="household/bins.md", text=f"# Bins\n\nThey go out on {day}.\n"))
            ident = client.get("/inbox").json()["items"][-1]["id"]
            waits = say(client, call("review_approve", id=ident))["pending_confirmation"]["id"]
            assert client.delete(f"/confirmations/{waits}").status_code == 204
            assert client.post(f"/inbox/{ident}/decline", json={}).status_code == 200
            entries = client.get("/audit").json()["entries"]
    for key in (bot, own):
        acts = [act["action"] for act in entries if act["by"] == key.id]
        assert acts == ["call", "done", "ask", "cancelled", "decline", "done"]
