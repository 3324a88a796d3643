"""Sign-in with a real OpenID provider, from its login page to an answer of the service."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorra.settings import Oidc
from quorra.surfaces.http.entry import oidc
from quorra.surfaces.http.entry.oidc import Claims
from tests.surfaces.http.conftest import Service, new_home, start
from tests.surfaces.http.entry import provider as real
from tests.surfaces.http.entry.provider import Provider

TOM = {"question": "violet umbrella", "mode": "words"}
KITE = {"question": "kite with a long tail", "mode": "words"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    running = real.start(real.signer())
    yield running
    if running.process.poll() is None:
        running.stop()


def served(tmp_path: Path, provider: Provider, audience: str, people: str) -> Service:
    home = tmp_path / "home"
    home.mkdir()
    with (new_home(home) / "quorra.toml").open("a", encoding="utf-8") as file:
        file.write(f'[oidc]\nissuer = "{provider.issuer}"\naudience = "{audience}"\n[people]\n{people}\n')
    return start(home, tmp_path / "log")


def asked(service: Service, token: str, question: dict[str, str]) -> tuple[int, list[str]]:
    found = service.stranger.post("/search", json=question, headers={"Authorization": f"Bearer {token}"})
    return found.status_code, [hit["path"] for hit in found.json().get("hits", [])]


def test_a_login_at_the_provider_opens_the_persons_own_window(tmp_path: Path, provider: Provider):
    client, other = real.register(provider), real.register(provider)
    service = served(tmp_path, provider, client["client_id"], '"sub:mira" = "mira"')
    try:
        tokens = real.login(provider, client)
        for token in (tokens["access_token"], tokens["id_token"]):
            assert asked(service, token, KITE) == (200, ["members/mira/kite.md"])
            assert asked(service, token, TOM) == (200, [])
        assert asked(service, real.login(provider, other)["id_token"], KITE)[0] == 401
        provider.stop()
        assert asked(service, tokens["id_token"], KITE)[0] == 200
        log = service.log.read_text(encoding="utf-8")
        assert "turned_away" in log
        assert not [secret for secret in (*tokens.values(), "home.example") if str(secret) in log]
    finally:
        service.stop()


def test_an_address_that_the_provider_has_not_verified_opens_nothing(tmp_path: Path, provider: Provider):
    client = real.register(provider)
    service = served(tmp_path, provider, client["client_id"], '"mira@home.example" = "mira"')
    try:
        assert asked(service, real.login(provider, client)["id_token"], KITE)[0] == 401
    finally:
        service.stop()


def test_a_provider_may_exchange_its_keys_and_its_tokens_end(provider: Provider):
    client = real.register(provider)
    reading = oidc.Provider(Oidc(issuer=provider.issuer, audience=client["client_id"]), pause=0.1)
    provider.stop()
    before, after = real.signer(), real.signer()
    found: list[Claims | str] = []

    def tokens(*keys: dict[str, Any], lifetime: int = 3600) -> Iterator[str]:
        again = real.start(*keys, port=provider.port, lifetime=lifetime, client=client)
        yield real.login(again, client)["access_token"]
        again.stop()

    async def life() -> None:
        for old in tokens(before):
            found.append(await reading.claims(old))
        for new in tokens(after, before):
            await asyncio.sleep(0.2)
            found.extend([await reading.claims(new), await reading.claims(old)])
        for expired in tokens(after, lifetime=-60):
            found.append(await reading.claims(expired))

    asyncio.run(life())
    mira = Claims("mira", "")
    assert found == [mira, mira, mira, "token_expired_token"]
