"""One question at a time over HTTP."""

import json

from tests.surfaces.http.conftest import BROKEN, SURE, THOUGHT, Service, member


def test_an_answer_comes_whole_with_its_citation(service: Service) -> None:
    response = service.client.post("/ask", json={"question": SURE})
    answer = response.json()
    assert response.status_code == 200
    assert set(answer) == {"outcome", "answer", "citations", "model", "timings", "near"}
    assert answer["outcome"] == "answered"
    assert "1.4 bar" in answer["answer"]
    assert answer["citations"][0]["path"] == "household/boiler.md"


def test_reasoning_is_in_no_answer(service: Service) -> None:
    assert "note on the boiler" not in service.client.post("/ask", json={"question": THOUGHT}).text


def test_a_failure_in_the_middle_is_502(service: Service) -> None:
    response = service.client.post("/ask", json={"question": BROKEN})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "generation_failed")


def test_a_member_is_answered_from_what_they_may_see(service: Service) -> None:
    asked = {"question": "Which umbrella does Tom like best?"}
    with member(service, "mira") as mira:
        told = mira.post("/ask", json=asked).json()
        assert "violet" not in json.dumps(told)
    assert "members/tom/diary.md" in service.client.post("/ask", json=asked).text


def test_nothing_asked_leaves_a_session(service: Service) -> None:
    before = service.client.get("/sessions").json()
    service.client.post("/ask", json={"question": SURE})
    assert service.client.get("/sessions").json() == before
