"""Answers over HTTP: whole and streamed, broken off, hung up, and when too many ask."""

import json
import threading
import time
from typing import Any

import httpx

from tests.surfaces.http.conftest import BOILER, BROKEN, SLOW, SURE, THOUGHT, Service, Start, events, ready

WRITING = {"text": "writing"}


def streamed(client: httpx.Client, message: str) -> list[tuple[str, dict[str, Any]]]:
    with client.stream("POST", "/chat/stream", json={"message": message}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(events(response))


def freed(service: Service) -> float:
    """Asks again, and gives the seconds until the model turned to it."""
    start = time.monotonic()
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        for _, data in events(response):
            if data != {"text": "waiting"}:
                return time.monotonic() - start
    raise AssertionError("the stream ended before it began")


def test_an_answer_comes_whole_with_its_citation(service: Service) -> None:
    response = service.client.post("/chat", json={"message": SURE})
    answer = response.json()
    assert response.status_code == 200
    assert set(answer) == {"outcome", "answer", "citations", "model", "timings", "near"}
    assert answer["outcome"] == "answered"
    assert "1.4 bar" in answer["answer"]
    assert answer["citations"][0]["path"] == "household/boiler.md"


def test_a_stream_ends_in_exactly_one_done_that_carries_the_answer(service: Service) -> None:
    seen = streamed(service.client, SURE)
    names = [name for name, _ in seen]
    assert names[-1] == "done"
    assert names.count("done") + names.count("error") == 1
    assert set(names) <= {"status", "token", "done"}
    told = seen[-1][1]
    whole = service.client.post("/chat", json={"message": SURE}).json()
    assert {**told, "timings": {}} == {**whole, "timings": {}}


def test_tokens_joined_are_the_answers_text(service: Service) -> None:
    seen = streamed(service.client, SURE)
    tokens = "".join(data["text"] for name, data in seen if name == "token")
    assert BOILER in tokens


def test_reasoning_has_its_own_events_and_is_in_no_answer(service: Service) -> None:
    seen = streamed(service.client, THOUGHT)
    thoughts = "".join(data["text"] for name, data in seen if name == "reasoning")
    assert "note on the boiler" in thoughts
    rest = [data for name, data in seen if name != "reasoning"]
    assert "note on the boiler" not in json.dumps(rest)


def test_a_failure_in_the_middle_ends_in_error_and_never_in_done(service: Service) -> None:
    seen = streamed(service.client, BROKEN)
    names = [name for name, _ in seen]
    assert names[-1] == "error"
    assert "done" not in names
    assert set(seen[-1][1]["error"]) == {"code", "message", "next"}
    response = service.client.post("/chat", json={"message": BROKEN})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "generation_failed")


def test_a_client_that_leaves_a_stream_frees_the_model(service: Service) -> None:
    with service.client.stream("POST", "/chat/stream", json={"message": SLOW}) as response:
        for _, data in events(response):
            if data == WRITING:
                break
    assert freed(service) < 2
    assert '"client_gone"' in service.log.read_text(encoding="utf-8")


def test_a_client_that_leaves_before_the_whole_answer_frees_the_model(service: Service) -> None:
    try:
        service.client.post("/chat", json={"message": SLOW}, timeout=1.0)
    except httpx.ReadTimeout:
        pass
    else:
        raise AssertionError("the slow reply was not slow")
    assert freed(service) < 2


def test_one_is_answered_a_few_wait_and_the_rest_are_sent_away(starts: Start) -> None:
    service = starts(queue=1)
    gone = threading.Event()
    waiting = threading.Event()
    begun = threading.Event()

    def slow() -> None:
        with service.client.stream("POST", "/chat/stream", json={"message": SLOW}) as response:
            for _, data in events(response):
                if data == WRITING:
                    begun.set()
                    gone.wait(30)
                    return

    def next_in_line() -> None:
        with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
            for name, data in events(response):
                if (name, data) == ("status", {"text": "waiting"}):
                    waiting.set()
                last.append(name)

    last: list[str] = []
    first, second = threading.Thread(target=slow), threading.Thread(target=next_in_line)
    first.start()
    assert begun.wait(20)
    second.start()
    assert waiting.wait(10)
    for address in ("/chat", "/chat/stream"):
        refused = service.client.post(address, json={"message": SURE})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert int(refused.headers["retry-after"]) > 0
    assert service.client.post("/search", json={"question": "boiler", "mode": "words"}).status_code == 200
    gone.set()
    first.join(20)
    second.join(20)
    assert last[-1] == "done"


def test_a_stopping_service_ends_its_streams_in_error_at_once(starts: Start) -> None:
    service = starts()
    ready(service)
    with service.client.stream("POST", "/chat/stream", json={"message": SLOW}) as response:
        stream = events(response)
        while next(stream)[1] != WRITING:
            pass
        start = time.monotonic()
        service.process.terminate()
        rest = [name for name, _ in stream]
    assert service.process.wait(10) == 0
    assert time.monotonic() - start < 5
    assert rest[-1] == "error"
    assert "done" not in rest
