"""Confirmations from the question to the deed, and to nobody else's yes."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from tests.surfaces.http.conftest import SURE, Service, Start, call, member, new_home, say, start

NUMBERS = count()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose notes may change."""
    running = start(new_home(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("log") / "log")
    yield running
    running.stop()


@pytest.fixture
def note(home: Service) -> str:
    return written(home)


def written(service: Service) -> str:
    """Lets a note be written, and gives its path."""
    path = f"household/bins{next(NUMBERS)}.md"
    say(service.client, call("document", path=path, text="# Bins\n\nThe bins go out on Thursday.\n"))
    assert "Thursday" in text(service, path)
    return path


def proposed(service: Service, path: str, day: str = "Friday") -> str:
    """Lets a change of a note be proposed, and gives the proposal's id."""
    say(service.client, call("document", path=path, text=f"# Bins\n\nThe bins go out on {day}.\n"))
    ident: str = service.client.get("/inbox").json()["items"][-1]["id"]
    return ident


def text(service: Service, path: str) -> str:
    return (service.home / "vault" / path).read_text(encoding="utf-8")


def asked(service: Service, ident: str) -> dict[str, Any]:
    """Lets the model ask for the approval of a proposal."""
    reply = say(service.client, call("review_approve", id=ident) + "\n!then\n!say It is done.")
    assert reply["outcome"] == "asked"
    waiting: dict[str, Any] = reply["pending_confirmation"]
    assert set(waiting) == {*("id", "session_id", "tool", "title", "description", "arguments", "digest", "expires")}
    assert waiting["arguments"] == {"id": ident}
    return waiting


def yes(waiting: dict[str, Any], **more: str) -> dict[str, str]:
    named = {"session_id": waiting["session_id"], "confirmation_id": waiting["id"], "digest": waiting["digest"]}
    return {**named, **more}


def refused(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_nothing_is_done_before_a_yes_by_id_and_then_once(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    assert "Thursday" in text(home, note)
    assert waiting in home.client.get("/confirmations").json()["confirmations"]
    assert home.client.get(f"/runs/{_run(home, waiting)}").json()["state"] == "paused"
    done = home.client.post("/chat", json=yes(waiting)).json()
    assert (done["outcome"], done["pending_confirmation"]) == ("answered", None)
    assert "It is done." in done["answer"]
    assert "Friday" in text(home, note)
    assert waiting not in home.client.get("/confirmations").json()["confirmations"]
    assert refused(home.client.post("/chat", json=yes(waiting))) == (409, "decided")
    trace = home.client.get(f"/runs/{done['run_id']}").json()
    assert trace["state"] == "done"
    assert [event["data"]["state"] for event in trace["events"] if event["kind"] == "approval"] == ["asked", "approved"]
    audit = home.client.get("/audit").json()
    assert (audit["holds"], audit["problems"]) == (True, [])
    assert "approved" in [act["action"] for act in audit["entries"]]
    assert "Friday" not in str(audit)


def test_a_plain_yes_in_its_session_does_it(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    elsewhere = say(home.client, "yes")
    assert elsewhere["pending_confirmation"] is None
    assert "Thursday" in text(home, note)
    done = say(home.client, "Yes, please.", session_id=waiting["session_id"])
    assert done["outcome"] == "answered"
    assert "Friday" in text(home, note)


def test_a_plain_no_leaves_everything(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    say(home.client, "no", session_id=waiting["session_id"])
    assert "Thursday" in text(home, note)
    assert refused(home.client.post("/chat", json=yes(waiting))) == (409, "decided")


def test_what_was_edited_is_approved_as_it_was_shown_then(home: Service, note: str) -> None:
    first = proposed(home, note)
    second = proposed(home, note, "Monday")
    waiting = asked(home, first)
    address = f"/confirmations/{waiting['id']}"
    for wrong in ({"id": "nosuch"}, {"id": ["x"]}, {"ident": second}):
        told = home.client.put(address, json={"arguments": wrong})
        assert refused(told) == (400, "bad_input"), wrong
        assert told.json()["error"]["message"]
    edited = home.client.put(address, json={"arguments": {"id": second}}).json()
    assert (edited["id"], edited["arguments"]) == (waiting["id"], {"id": second})
    assert edited["digest"] != waiting["digest"]
    assert refused(home.client.post("/chat", json=yes(waiting))) == (409, "stale")
    assert "Thursday" in text(home, note)
    assert home.client.post("/chat", json=yes(edited)).json()["outcome"] == "answered"
    assert "Monday" in text(home, note)


def test_what_was_cancelled_can_be_approved_no_more(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    address = f"/confirmations/{waiting['id']}"
    assert home.client.delete(address).status_code == 204
    assert refused(home.client.delete(address)) == (409, "decided")
    assert refused(home.client.put(address, json={"arguments": {}})) == (409, "decided")
    assert refused(home.client.post("/chat", json=yes(waiting))) == (409, "decided")
    assert "Thursday" in text(home, note)
    assert home.client.get(f"/runs/{_run(home, waiting)}").json()["state"] == "cancelled"


def test_nobody_else_sees_or_answers_what_waits(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    with member(home, "mira") as mira:
        own = say(mira, SURE)["session_id"]
        assert mira.get("/confirmations").json() == {"confirmations": []}
        for method in ("PUT", "DELETE"):
            body = {"arguments": {}} if method == "PUT" else None
            theirs = mira.request(method, f"/confirmations/{waiting['id']}", json=body)
            none = mira.request(method, "/confirmations/00000000", json=body)
            assert refused(theirs) == (404, "no_confirmation")
            assert theirs.text == none.text
        assert refused(mira.post("/chat", json=yes(waiting))) == (404, "no_session")
        assert refused(mira.post("/chat", json=yes(waiting, session_id=own))) == (404, "no_confirmation")
        no_session = {key: value for key, value in yes(waiting).items() if key != "session_id"}
        assert refused(mira.post("/chat", json=no_session)) == (404, "no_confirmation")
        assert refused(mira.get(f"/runs/{_run(home, waiting)}")) == (404, "no_run")
    other = say(home.client, SURE)["session_id"]
    assert refused(home.client.post("/chat", json=yes(waiting, session_id=other))) == (404, "no_confirmation")
    assert "Thursday" in text(home, note)


def test_a_repeated_yes_gets_the_reply_that_there_is(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    first = home.client.post("/chat", json=yes(waiting, message_id="m1")).json()
    again = home.client.post("/chat", json=yes(waiting, message_id="m1"))
    assert again.status_code == 200
    assert (again.json()["answer"], again.json()["run_id"]) == (first["answer"], first["run_id"])


def test_a_forgotten_session_takes_its_question_along(home: Service, note: str) -> None:
    waiting = asked(home, proposed(home, note))
    assert home.client.delete(f"/sessions/{waiting['session_id']}").status_code == 204
    assert waiting not in home.client.get("/confirmations").json()["confirmations"]
    assert refused(home.client.post("/chat", json=yes(waiting))) == (404, "no_session")
    assert "Thursday" in text(home, note)


def test_what_waits_outlives_the_service(starts: Start) -> None:
    before = starts()
    note = written(before)
    waiting = asked(before, proposed(before, note))
    before.stop()
    again = start(before.home, before.log)
    try:
        assert again.client.get("/confirmations").json()["confirmations"] == [waiting]
        assert again.client.post("/chat", json=yes(waiting)).json()["outcome"] == "answered"
        assert "Friday" in text(again, note)
    finally:
        again.stop()


def _run(service: Service, waiting: dict[str, Any]) -> str:
    entries = service.client.get(f"/sessions/{waiting['session_id']}/messages").json()["messages"]
    run: str = entries[-1]["run"]
    return run
