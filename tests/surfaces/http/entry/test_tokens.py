"""Which tokens are believed, and when a provider is asked for its keys."""

import asyncio
import base64
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep, time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc.jwk import ECKey, RSAKey

from quorra.settings import Oidc
from quorra.surfaces.http.entry.oidc import Claims, Provider
from tests.surfaces.http.entry.conftest import AUDIENCE, Issuer


def read(issuer: Issuer, *tokens: str, pause: float = 60.0, jwks: str = "") -> list[Claims | str]:
    """Reads tokens at once with one provider."""
    provider = Provider(Oidc(issuer=issuer.url, audience=AUDIENCE, jwks=jwks), pause)

    async def every() -> list[Claims | str]:
        return list(await asyncio.gather(*map(provider.claims, tokens)))

    return asyncio.run(every())


def test_a_good_token_tells_its_subject_and_an_address_that_was_verified(issuer: Issuer):
    said = {"email": "mira@home.example"}
    tokens = [
        issuer.token(**said, email_verified=True),
        issuer.token(**said),
        issuer.token(**said, email_verified="true"),
        issuer.token(email=["mira@home.example"], email_verified=True),
        issuer.token(aud=["other", AUDIENCE], header={"typ": "at+jwt", "x-more": "1"}),
    ]
    assert read(issuer, *tokens) == [Claims("248", "mira@home.example"), *[Claims("248", "")] * 4]


def now(seconds: int) -> int:
    return int(time()) + seconds


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "http://127.0.0.1:1"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"aud": []},
        {"aud": {AUDIENCE: True}},
        {"sub": None},
        {"sub": ""},
        {"sub": 248},
        {"exp": None},
        {"exp": now(-31)},
        {"exp": "2999-01-01"},
        {"exp": float("nan")},
        {"exp": True},
        {"nbf": now(9999)},
        {"iat": now(9999)},
    ],
    ids=str,
)
def test_a_token_with_a_wrong_claim_is_not_believed(issuer: Issuer, claims: dict[str, Any]):
    good, wrong = read(issuer, issuer.token(), issuer.token(**claims))
    assert isinstance(good, Claims)
    assert isinstance(wrong, str)


def test_clocks_may_differ_a_little(issuer: Issuer):
    found = read(issuer, issuer.token(exp=now(-20)), issuer.token(nbf=now(20), iat=now(20)))
    assert found == [Claims("248", "")] * 2


def encoded(said: dict[str, Any] | bytes) -> str:
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def signed(issuer: Issuer, header: dict[str, Any], payload: str) -> str:
    head = f"{encoded(header)}.{payload}"
    assert issuer.key.private_key is not None
    return f"{head}.{encoded(issuer.key.private_key.sign(head.encode(), PKCS1v15(), SHA256()))}"


def test_no_other_algorithm_is_believed(issuer: Issuer):
    curve = ECKey.generate_key("P-256", {"kid": "one"})
    payload = issuer.token().split(".")[1]
    mixed_up = f"{encoded({'alg': 'HS256', 'kid': 'one'})}.{payload}"
    public = issuer.key.as_pem(private=False)
    tokens = [
        f"{mixed_up}.{encoded(hmac.digest(public, mixed_up.encode(), 'sha256'))}",
        f"{mixed_up}.{encoded(hmac.digest(public.strip(), mixed_up.encode(), 'sha256'))}",
        issuer.token(header={"alg": "ES256"}, key=curve),
        issuer.token(header={"alg": "RS384"}),
        issuer.token(header={"alg": "RS512"}),
        issuer.token(header={"alg": "PS256"}),
        f"{encoded({'alg': 'none', 'kid': 'one'})}.{payload}.",
        issuer.token(header={"typ": "logout+jwt"}),
        signed(issuer, {"alg": "RS256", "kid": "one", "crit": ["exp"], "exp": 1}, payload),
        issuer.token(key=RSAKey.generate_key(2048)),
        issuer.token(header={"jwk": (mine := RSAKey.generate_key(2048)).as_dict(private=False)}, key=mine),
        issuer.token(header={"kid": "../../two"}),
        signed(issuer, {"alg": "RS256", "kid": 1}, payload),
        signed(issuer, {"alg": "RS256", "kid": ["one"]}, payload),
        signed(issuer, {"alg": ["RS256"], "kid": "one"}, payload),
        signed(issuer, {"kid": "one"}, payload),
        issuer.token()[:-8] + "AAAAAAAA",
        "..",
        "a.b.c",
        "é.é.é",
        "[" * 900 + ".x.y",
        "",
    ]
    found = read(issuer, signed(issuer, {"alg": "RS256", "kid": "one"}, payload), *tokens)
    assert isinstance(found[0], Claims)
    assert [each for each in found[1:] if isinstance(each, Claims)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"use": "enc"},
        {"alg": "RS512"},
        {"kty": "oct", "k": "AAAA"},
        {"n": "!"},
        {"n": 1},
    ],
    ids=str,
)
def test_a_key_that_is_for_something_else_signs_nothing(issuer: Issuer, change: dict[str, Any]):
    issuer.keys = ["odd", None, {**issuer.key.as_dict(private=False), **change}]
    assert read(issuer, issuer.token()) == ["unknown_signer"]


@pytest.mark.filterwarnings("ignore:Key size")
def test_a_weak_key_signs_nothing(issuer: Issuer):
    issuer.key = RSAKey.generate_key(1024, {"kid": "one"})
    assert read(issuer, issuer.token()) == ["unknown_signer"]


def test_a_token_may_leave_out_the_id_of_the_only_key(issuer: Issuer):
    other = RSAKey.generate_key(2048, {"kid": "two"}).as_dict(private=False)
    issuer.keys = [issuer.key.as_dict(private=False)]
    assert isinstance(read(issuer, issuer.token(header={"kid": None}))[0], Claims)
    issuer.keys.append(other)
    assert read(issuer, issuer.token(header={"kid": None})) == ["unknown_signer"]


def test_a_hundred_tokens_at_once_cost_one_fetch(issuer: Issuer):
    issuer.slow = 0.1
    found = read(issuer, *[issuer.token()] * 50, *(issuer.token(header={"kid": f"no{n}"}) for n in range(50)))
    assert found[:50] == [Claims("248", "")] * 50
    assert set(found[50:]) == {"unknown_signer"}
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


def test_strangers_do_not_make_the_provider_be_asked_faster(issuer: Issuer):
    provider = Provider(Oidc(issuer=issuer.url, audience=AUDIENCE), 0.3)

    async def knock() -> None:
        end = time() + 1
        while time() < end:
            await provider.claims(issuer.token(header={"kid": str(time())}))
            await provider.claims("x.y.z")

    asyncio.run(knock())
    assert 2 <= issuer.asked.count("/keys") <= 4


def test_where_the_keys_lie_may_be_told(issuer: Issuer):
    assert read(issuer, issuer.token(), jwks=f"{issuer.url}/keys") == [Claims("248", "")]
    assert issuer.asked == ["/keys"]


@pytest.mark.parametrize(
    "told",
    [
        {"issuer": "http://127.0.0.1:1"},
        {"jwks_uri": None},
        {"jwks_uri": "https://127.0.0.1:1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://["},
        {"more": "x" * (1 << 20)},
    ],
    ids=lambda told: next(iter(told)),
)
def test_a_provider_that_tells_nonsense_vouches_for_nobody(issuer: Issuer, told: dict[str, Any]):
    issuer.told = told
    assert read(issuer, issuer.token()) == ["unknown_signer"]


def test_a_provider_that_is_away_is_asked_again_later_and_its_keys_go_on(issuer: Issuer):
    provider = Provider(Oidc(issuer=issuer.url, audience=AUDIENCE), 0.2)

    async def life() -> list[Claims | str]:
        issuer.away = True
        found = [await provider.claims(issuer.token())]
        issuer.away = False
        found.append(await provider.claims(issuer.token()))
        await asyncio.sleep(0.3)
        found.append(await provider.claims(issuer.token()))
        issuer.away = True
        await asyncio.sleep(0.3)
        found.append(await provider.claims(issuer.token(header={"kid": "two"})))
        found.append(await provider.claims(issuer.token()))
        return found

    good = Claims("248", "")
    assert asyncio.run(life()) == ["unknown_signer", "unknown_signer", good, "unknown_signer", good]


def test_known_keys_are_refreshed_beside_what_is_asked(issuer: Issuer):
    provider = Provider(Oidc(issuer=issuer.url, audience=AUDIENCE), pause=0.05, fresh=0.05)

    async def life() -> tuple[list[Claims | str], float]:
        await provider.claims(issuer.token())
        issuer.slow, issuer.away = 0.5, True
        await asyncio.sleep(0.1)
        asked, begun = len(issuer.asked), perf_counter()
        found = list(await asyncio.gather(*(provider.claims(issuer.token()) for _ in range(20))))
        took = perf_counter() - begun
        await asyncio.sleep(0.7)
        assert len(issuer.asked) == asked + 1
        issuer.slow, issuer.away = 0.0, False
        old, issuer.key = issuer.token(), RSAKey.generate_key(2048, {"kid": "two"})
        await provider.claims(old)
        await asyncio.sleep(0.3)
        assert await provider.claims(issuer.token(header={"kid": "two"})) == Claims("248", "")
        assert await provider.claims(old) == "unknown_signer"
        return found, took

    found, took = asyncio.run(life())
    assert found == [Claims("248", "")] * 20
    assert took < 0.4


def test_searches_that_fill_the_shared_threads_keep_nobody_out(issuer: Issuer):
    async def crowded() -> tuple[Claims | str, float]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        busy = asyncio.create_task(asyncio.to_thread(sleep, 2))
        await asyncio.sleep(0)
        begun = perf_counter()
        found = await Provider(Oidc(issuer=issuer.url, audience=AUDIENCE)).claims(issuer.token())
        took = perf_counter() - begun
        await busy
        return found, took

    found, took = asyncio.run(crowded())
    assert found == Claims("248", "")
    assert took < 1.5
