"""Conversations over HTTP: whole and streamed, broken off, hung up, repeated, and when too many ask."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.surfaces.http.conftest import (
    BOILER,
    BROKEN,
    LOOKED,
    LOOSE,
    SLOW,
    SURE,
    THOUGHT,
    UNSURE,
    Service,
    Start,
    events,
    ready,
    say,
    start,
)

FIELDS = {
    *("outcome", "answer", "citations", "model", "timings", "near", "session_id", "run_id", "claims"),
    *("pending_confirmation", "notices", "interrupted"),
}


def streamed(client: httpx.Client, message: str, **more: object) -> list[tuple[str, dict[str, Any]]]:
    body = {"message": message, "scope": ["general"], **more}
    with client.stream("POST", "/chat/stream", json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(events(response))


def hear(told: Iterator[tuple[str, dict[str, Any]]], kind: str = "token") -> None:
    """Reads on until the first event of a kind."""
    for name, _ in told:
        if name == kind:
            return
    raise AssertionError(f"the stream ended without {kind}")


def freed(service: Service) -> float:
    """Asks again, and gives the seconds until the model turned to it."""
    begun = time.monotonic()
    with service.client.stream("POST", "/chat/stream", json={"message": SURE}) as response:
        for _, data in events(response):
            if data != {"text": "waiting"}:
                return time.monotonic() - begun
    raise AssertionError("the stream ended before it began")


def kept(service: Service, session: str, entries: int) -> list[dict[str, Any]]:
    """Gives a session's entries once there are so many."""
    for _ in range(100):
        found: list[dict[str, Any]] = service.client.get(f"/sessions/{session}/messages").json()["messages"]
        if len(found) >= entries:
            return found
        time.sleep(0.05)
    pytest.fail(f"{session} has no {entries} entries")


def begin(service: Service) -> str:
    ident: str = say(service.client, SURE)["session_id"]
    return ident


def test_a_reply_comes_whole_with_what_it_was_found_in(service: Service) -> None:
    reply = say(service.client, LOOKED)
    assert set(reply) == FIELDS
    assert (reply["outcome"], reply["answer"], reply["interrupted"]) == ("answered", BOILER, False)
    assert reply["citations"][0]["path"] == "household/boiler.md"
    assert reply["claims"] == [{"start": 0, "end": len(BOILER), "citations": [1]}]


def test_a_sentence_that_nothing_carries_is_known_by_it(service: Service) -> None:
    reply = say(service.client, UNSURE)
    loose, carried = reply["claims"]
    assert carried["citations"]
    assert loose["citations"] == []
    assert reply["answer"][loose["start"] : loose["end"]] == LOOSE


def test_a_stream_ends_in_exactly_one_done_that_carries_the_reply(service: Service) -> None:
    seen = streamed(service.client, LOOKED)
    names = [name for name, _ in seen]
    assert names[-1] == "done"
    assert names.count("done") + names.count("error") == 1
    assert set(names) == {"status", "token", "done"}
    assert set(seen[-1][1]) == FIELDS
    assert ("status", {"text": "using search_knowledge_base"}) in seen
    assert "".join(data["text"] for name, data in seen if name == "token") == seen[-1][1]["answer"]


def test_reasoning_has_its_own_events_and_is_in_no_reply(service: Service) -> None:
    seen = streamed(service.client, THOUGHT)
    thoughts = "".join(data["text"] for name, data in seen if name == "reasoning")
    assert "note on the boiler" in thoughts
    rest = [data for name, data in seen if name != "reasoning"]
    assert "note on the boiler" not in json.dumps(rest)


def test_a_failure_in_the_middle_ends_in_error_and_what_was_said_is_kept(service: Service) -> None:
    session = begin(service)
    seen = streamed(service.client, BROKEN, session_id=session)
    names = [name for name, _ in seen]
    assert names[-1] == "error"
    assert "done" not in names
    assert seen[-1][1]["error"]["code"] == "generation_failed"
    last = kept(service, session, 4)[-1]
    assert (last["kind"], last["mark"]) == ("assistant", "failed")
    assert last["text"].strip() == BOILER
    assert service.client.get(f"/runs/{last['run']}").json()["state"] == "failed"
    response = service.client.post("/chat", json={"message": BROKEN})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "generation_failed")


def test_a_client_that_leaves_a_stream_frees_the_model_and_the_rest_is_kept(service: Service) -> None:
    session = begin(service)
    body = {"message": SLOW, "session_id": session}
    heard = ""
    with service.client.stream("POST", "/chat/stream", json=body) as response:
        for name, data in events(response):
            heard += str(data["text"]) if name == "token" else ""
            if len(heard) > 20:
                break
    assert freed(service) < 2
    question, last = kept(service, session, 4)[-2:]
    assert (question["text"], last["kind"], last["mark"]) == (SLOW, "assistant", "interrupted")
    assert last["text"].startswith(heard.rstrip())
    assert len(last["text"]) < len(BOILER) * 60
    assert service.client.get(f"/runs/{last['run']}").json()["state"] == "cancelled"
    assert '"client_gone"' in service.log.read_text(encoding="utf-8")


def test_a_client_that_leaves_before_the_whole_reply_frees_the_model(service: Service) -> None:
    with pytest.raises(httpx.ReadTimeout):
        service.client.post("/chat", json={"message": SLOW}, timeout=1.0)
    assert freed(service) < 2


def test_a_message_that_is_sent_again_gets_the_reply_that_there_is(service: Service) -> None:
    first = say(service.client, SURE, message_id="$1:here")
    again = say(service.client, SURE, message_id="$1:here", session_id=first["session_id"])
    lost = say(service.client, SURE, message_id="$1:here")
    for reply in (again, lost):
        assert {**reply, "timings": {}} == {**first, "timings": {}}
    assert len(kept(service, first["session_id"], 2)) == 2
    seen = streamed(service.client, SURE, message_id="$1:here", session_id=first["session_id"])
    assert (seen[-1][0], seen[-1][1]["answer"]) == ("done", first["answer"])
    assert len(kept(service, first["session_id"], 2)) == 2


def test_a_message_that_was_cut_short_is_taken_up_when_it_is_sent_again(service: Service) -> None:
    session = begin(service)
    body = {"message": SLOW, "session_id": session, "message_id": "cut"}
    with service.client.stream("POST", "/chat/stream", json=body) as response:
        hear(events(response))
    before = kept(service, session, 4)
    with service.client.stream("POST", "/chat/stream", json=body) as response:
        hear(events(response))
    after = kept(service, session, 4)
    assert [one["text"] for one in after].count(SLOW) == [one["text"] for one in before].count(SLOW) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": "  \n"},
        {"message": "x" * 32_001},
        {"message": "x", "session_id": "../x"},
        {"message": "x", "confirmation_id": ""},
        {"message": "x", "scope": "general"},
        {"message": "x", "message_id": "y" * 256},
        {"message": "x", "origin": 3},
        {"message": "x", "tools": []},
    ],
)
def test_what_can_be_no_message_is_400_and_begins_nothing(service: Service, body: dict[str, object]) -> None:
    before = len(service.client.get("/sessions").json()["sessions"])
    for address in ("/chat", "/chat/stream"):
        response = service.client.post(address, json=body)
        told = response.text
        assert (response.status_code == 400 and response.json()["error"]["code"] == "bad_input") or (
            response.status_code == 200 and "event: error" in told and '"bad_input"' in told
        )
    assert len(service.client.get("/sessions").json()["sessions"]) == before


def test_one_is_answered_a_few_wait_and_the_rest_are_sent_away(starts: Start) -> None:
    service = starts(queue=1)
    gone = threading.Event()
    waiting = threading.Event()
    begun = threading.Event()

    def slow() -> None:
        with service.client.stream("POST", "/chat/stream", json={"message": SLOW}) as response:
            stream = events(response)
            hear(stream)
            begun.set()
            gone.wait(30)
            stream.close()

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
    for address, body in (("/chat", "message"), ("/chat/stream", "message"), ("/ask", "question")):
        refused = service.client.post(address, json={body: SURE})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert int(refused.headers["retry-after"]) > 0
    assert service.client.post("/search", json={"question": "boiler", "mode": "words"}).status_code == 200
    assert service.client.get("/sessions").status_code == 200
    gone.set()
    first.join(20)
    second.join(20)
    assert last[-1] == "done"


def test_a_stopping_service_ends_its_streams_in_error_and_keeps_what_was_said(starts: Start) -> None:
    service = starts()
    ready(service)
    session = begin(service)
    with service.client.stream("POST", "/chat/stream", json={"message": SLOW, "session_id": session}) as response:
        stream = events(response)
        hear(stream)
        before = time.monotonic()
        service.process.terminate()
        rest = [name for name, _ in stream]
    assert service.process.wait(10) == 0
    assert time.monotonic() - before < 5
    assert rest[-1] == "error"
    assert "done" not in rest
    again = start(service.home, service.log)
    try:
        last = kept(again, session, 4)[-1]
        assert (last["kind"], last["mark"]) == ("assistant", "interrupted")
        assert BOILER.startswith(last["text"].strip()[:10])
    finally:
        again.stop()
