"""The service as a program: search, health, input, numbers, logs, where it listens and how it ends."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorra.access.principals import People
from quorra.surfaces.http import serve
from quorra.surfaces.http.entry.auth import Auth
from quorra.surfaces.http.entry.bearers import Bearers
from tests.surfaces.http.conftest import (
    BROKEN,
    HIDDEN,
    MODEL_KEY,
    SECRET,
    Service,
    Start,
    new_home,
    quorra,
    ready,
    start,
)

JSON = {"Content-Type": "application/json"}


def test_search_gives_the_command_lines_object(service: Service) -> None:
    response = service.client.post("/search", json={"question": "boiler pressure", "k": 2, "mode": "words"})
    found = response.json()
    assert response.status_code == 200
    assert {"commit", "behind", "pending", "hits"} <= set(found)
    hit = found["hits"][0]
    assert hit["path"] == "household/boiler.md"
    assert set(hit) >= {"path", "heading", "lines", "commit", "blob", "text", "score", "ranks"}


def test_a_search_at_a_revision_finds_what_stood_there(service: Service) -> None:
    asked = {"question": "walrus", "mode": "words"}
    before = service.client.post("/search", json=asked).json()["commit"]
    (service.home / "vault/household/later.md").write_text("# Later\n\nThe walrus came later.\n")
    assert service.client.post("/search", json=asked).json()["hits"]
    then = service.client.post("/search", json={**asked, "at": before}).json()
    assert (then["hits"], then["behind"]) == ([], 0)
    (service.home / "vault/household/later.md").unlink()
    wrong = service.client.post("/search", json={**asked, "at": "nowhere"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "revision")


def test_a_window_bounds_a_search(service: Service) -> None:
    asked = {"question": "violet umbrella", "mode": "words"}
    whole = service.client.post("/search", json=asked).json()
    assert whole["hits"][0]["path"] == "members/tom/diary.md"
    household = service.client.post("/search", json={**asked, "window": "household"}).json()
    assert household["hits"] == []


def test_an_empty_question_is_no_error(service: Service) -> None:
    response = service.client.post("/search", json={"question": "  "})
    assert (response.status_code, response.json()["reason"]) == (200, "empty_query")


def test_health_names_each_part_to_whoever_is_signed_in(service: Service) -> None:
    ready(service)
    response = service.client.get("/health")
    assert response.status_code == 200
    assert response.json() == {"ok": True, "model": True, "index": True, "git": True}


def test_health_is_503_when_the_model_is_away(starts: Start) -> None:
    service = starts()
    home = service.home
    settings = (home / "quorra.toml").read_text(encoding="utf-8")
    service.stop()
    away = settings.replace('"scripted"', '"openai"') + ""
    (home / "quorra.toml").write_text(away.replace("[service]", 'url = "http://127.0.0.1:9/v1"\n[service]'))
    again = start(home, service.log)
    try:
        told = again.client.get("/health")
        assert told.status_code == 503
        assert (told.json()["model"], told.json()["git"], told.json()["ok"]) == (False, True, False)
        assert again.stranger.get("/health").json() == {"ok": False}
        asked = again.client.post("/chat", json={"message": HIDDEN})
        assert asked.status_code == 503
        assert "retry-after" in asked.headers
    finally:
        again.stop()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"{}",
        b'{"question": 3}',
        b'{"question": "x", "k": 0}',
        b'{"question": "x", "k": "many"}',
        b'{"question": "x", "mode": "magic"}',
        b'{"question": "x", "window": "nowhere"}',
        b'{"question": "x", "qestion": "y"}',
        b'{"question": "\\ud800"}',
        b"[" * 100_000,
    ],
)
def test_bad_input_is_one_sentence_and_400(service: Service, body: bytes) -> None:
    response = service.client.post("/search", content=body, headers=JSON)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] in ("bad_input", "window")
    assert error["message"].endswith(".")
    assert "'data'" not in error["message"]
    assert "Traceback" not in response.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
@pytest.mark.parametrize("path", ["/search", "/chat", "/chat/stream"])
def test_what_a_web_page_may_send_unasked_is_415(service: Service, path: str, kind: str | None) -> None:
    headers = {"Content-Type": kind} if kind else {}
    response = service.client.post(path, content=b'{"question": "x", "message": "x"}', headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (415, "not_json")


def test_a_body_too_large_is_413(service: Service) -> None:
    response = service.client.post("/chat", content=b'{"message": "' + b"x" * (1 << 21) + b'"}', headers=JSON)
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


def test_other_addresses_and_methods_have_their_sentences(service: Service) -> None:
    assert service.client.get("/nowhere").json()["error"]["code"] == "no_address"
    refused = service.client.delete("/chat")
    assert (refused.status_code, refused.json()["error"]["code"]) == (405, "bad_method")


def test_the_schema_names_every_address_and_loads_nothing_from_elsewhere(service: Service) -> None:
    response = service.client.get("/schema")
    assert set(response.json()["paths"]) == {
        *("/health", "/search", "/ask", "/chat", "/chat/stream", "/metrics", "/preferences", "/bugs", "/audit"),
        *("/sessions", "/sessions/{ident}", "/sessions/{ident}/messages", "/sessions/{ident}/messages/recent"),
        *("/sessions/{ident}/purpose", "/sessions/{ident}/mode", "/confirmations", "/confirmations/{ident}"),
        *("/inbox", "/inbox/{ident}", "/inbox/{ident}/approve", "/inbox/{ident}/decline"),
        *("/outbox", "/outbox/{ident}", "/runs/{ident}", "/inspect/turns"),
    }
    assert response.headers["content-type"].startswith("application/vnd.oai.openapi")


FACT = "factopalgarnet"


@pytest.fixture
def odd(service: Service) -> Iterator[None]:
    """A page of facts and a note that can't be read well, both with something to hide."""
    page, note = service.home / "facts" / "household.md", service.home / "vault" / "odd.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"# Facts\n\n- 2026-05-12 The safe opens with {FACT}.\n", encoding="utf-8")
    note.write_bytes(f"---\ntitle: [{SECRET}\n: {{\n---\n# {SECRET}\n\n\xff {SECRET}\n".encode("latin-1"))
    yield
    page.unlink()
    note.unlink()


@pytest.mark.usefixtures("odd")
def test_metrics_and_logs_count_without_a_word_of_text(service: Service) -> None:
    assert FACT in service.client.post("/search", json={"question": FACT, "mode": "words"}).text
    service.client.post("/search", json={"question": SECRET})
    assert SECRET in service.client.post("/chat", json={"message": HIDDEN}).text
    for message in (HIDDEN, f"{BROKEN} {SECRET}", BROKEN, f"!fail {SECRET}", f"What opens with {FACT}?"):
        assert service.client.post("/chat/stream", json={"message": message}).text.count("event: done") <= 1
    service.client.post("/chat", content=f'{{"message": "{SECRET}"'.encode(), headers=JSON)
    service.client.post("/chat", content=SECRET.encode(), headers={"Content-Type": SECRET})
    service.client.post("/search", json={"question": "x", "window": SECRET})
    service.stranger.post("/chat", json={"message": SECRET}, headers={"Authorization": f"Bearer {SECRET}"})
    service.client.request(SECRET.upper(), "/chat")
    service.client.get(f"/{SECRET}")
    service.client.get("/health", params={"word": SECRET})
    service.stranger.get("/", params={"token": SECRET})
    service.client.post("/search", json={SECRET: SECRET})
    told = service.client.get("/metrics").text
    log = service.log.read_text(encoding="utf-8")
    for text in (told, log):
        assert SECRET not in text.lower()
        for hidden in ("spare key", FACT, MODEL_KEY, service.token, service.client.headers["Authorization"][7:]):
            assert hidden.lower() not in text.lower()
    assert 'quorra_http_request_duration_seconds_count{app_name="quorra",method="POST",path="/search"' in told
    lines = [json.loads(line) for line in log.splitlines()]
    assert {line["path"] for line in lines if line["event"] == "request"} <= {
        *("/", "-", "/schema", "/schema/openapi.json"),
        *service.client.get("/schema").json()["paths"],
    }
    known = {"event", "level", "timestamp", "method", "path", "status", "ms", "outcome"}
    assert all(set(line) == known for line in lines if line["event"] == "request")
    assert not [line for line in lines if line["event"] == "fault"]


def test_metrics_tell_what_the_model_cost(service: Service) -> None:
    service.client.post("/chat", json={"message": HIDDEN})
    told = service.client.get("/metrics").text
    names = {line.split("{")[0] for line in told.splitlines()}
    assert {"quorra_model_calls_total", "quorra_model_calls_seconds_total", "quorra_model_tokens_total"} <= names


def test_a_saved_note_is_found_without_being_asked_for(starts: Start) -> None:
    service = starts()
    note = service.home / "vault" / "household" / "new.md"
    note.write_text("# New\n\nThe marzipan lies in the third drawer.\n", encoding="utf-8")
    found = service.client.post("/search", json={"question": "marzipan", "mode": "words"}).json()
    assert found["hits"][0]["path"] == "household/new.md"
    ready(service)
    found = service.client.post(
        "/search", json={"question": "In which drawer is the marzipan?", "mode": "meaning"}
    ).json()
    assert "household/new.md" in [hit["path"] for hit in found["hits"]]


def test_it_refuses_to_listen_to_others_without_a_key(tmp_path: Path) -> None:
    home = new_home(tmp_path)
    refused = quorra(home, "serve", "--host", "", "--port", "0", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "no_key"
    spoken = quorra(home, "serve", "--host", "0.0.0.0", "--port", "0")
    assert "quorra keys create" in spoken.stderr
    assert "Traceback" not in spoken.stderr


def test_with_a_key_it_may_listen_to_others_and_gives_them_no_link() -> None:
    serve.bind("0.0.0.0", 0, has_key=True).close()
    auth = Auth(Bearers(lambda key: None, lambda who: None, People({})), 8750)
    assert serve.link(auth, "192.0.2.7", 8750) == "http://192.0.2.7:8750/"
    assert serve.link(auth, "127.0.0.1", 8750).startswith("http://127.0.0.1:8750/?token=")
    assert serve.link(auth, "::1", 8750).startswith("http://[::1]:8750/?token=")


def test_an_interrupt_ends_it_at_once_and_well(starts: Start) -> None:
    service = starts()
    ready(service)
    start = time.monotonic()
    assert service.stop(signal.SIGINT) == 0
    assert time.monotonic() - start < 5
    assert quorra(service.home, "sync", "--json").returncode == 0
    assert "Traceback" not in service.log.read_text(encoding="utf-8")


def test_a_taken_port_is_a_sentence_and_exit_code_3(tmp_path: Path) -> None:
    home = new_home(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = quorra(home, "serve", "--port", port, "--json")
    assert refused.returncode == 3
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "service_away"
    assert port in error["message"]


def test_an_unknown_host_is_a_sentence(tmp_path: Path) -> None:
    refused = quorra(new_home(tmp_path), "serve", "--host", "no.such.host.invalid")
    assert refused.returncode == 1
    assert "no.such.host.invalid" in refused.stderr
    assert "Traceback" not in refused.stderr
