"""What a person can look at over HTTP: inbox, outbox, preferences, runs, audit, the inspector, reports of bugs."""

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.surfaces.http.conftest import LOOKED, SURE, THOUGHT, Service, call, events, member, new_home, say, start

NOTHING = {"show_thinking": True, "developer_mode": False}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose notes may change."""
    running = start(new_home(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("log") / "log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def mira(home: Service) -> Iterator[httpx.Client]:
    with member(home, "mira") as client:
        yield client


def refused(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def proposed(home: Service, day: str) -> str:
    """Lets a change of the note on the bins be proposed, and gives the proposal's id."""
    say(home.client, call("document", path="household/bins.md", text=f"# Bins\n\nThe bins go out on {day}.\n"))
    ident: str = home.client.get("/inbox").json()["items"][-1]["id"]
    return ident


def test_the_inbox_shows_approves_and_declines_as_review_does(home: Service) -> None:
    first, second = proposed(home, "Friday"), proposed(home, "Monday")
    listed = home.client.get("/inbox").json()["items"]
    assert {first, second} <= {item["id"] for item in listed}
    assert "payload" not in listed[0]
    shown = home.client.get(f"/inbox/{first}").json()["item"]
    assert "+The bins go out on Friday." in shown["diff"]
    done = home.client.post(f"/inbox/{first}/approve", json={})
    assert (done.status_code, done.json()["outcome"]) == (200, "applied")
    assert "Friday" in (home.home / "vault/household/bins.md").read_text(encoding="utf-8")
    assert refused_write(home.client.post(f"/inbox/{first}/approve", json={})) == 409
    gone = home.client.post(f"/inbox/{second}/decline", json={"reason": "not now"})
    assert (gone.status_code, gone.json()["outcome"], gone.json()["reason"]) == (200, "declined", "not now")
    acts = home.client.get("/audit", params={"limit": 1000}).json()["entries"]
    assert [(act["action"], act["ok"]) for act in acts if act["tool"] == "review"] == [
        *(("approve", None), ("done", True)),
        *(("approve", None), ("failed", False)),
        *(("decline", None), ("done", True)),
    ]
    for method, path in (("GET", ""), ("POST", "/approve"), ("POST", "/decline")):
        body = {} if method == "POST" else None
        assert refused(home.client.request(method, f"/inbox/00000000{path}", json=body)) == (404, "no_item")


def refused_write(response: httpx.Response) -> int:
    assert response.json()["outcome"] in ("refused", "stale")
    return response.status_code


def test_the_inbox_is_the_owners(home: Service, mira: httpx.Client) -> None:
    ident = proposed(home, "Sunday")
    assert refused(mira.get("/inbox")) == (403, "not_owner")
    assert refused(mira.get(f"/inbox/{ident}")) == (403, "not_owner")
    assert refused(mira.post(f"/inbox/{ident}/decline", json={})) == (403, "not_owner")
    turned = mira.post(f"/inbox/{ident}/approve", json={})
    assert (turned.status_code, turned.json()["outcome"]) == (403, "refused")
    assert "Sunday" not in (home.home / "vault/household/bins.md").read_text(encoding="utf-8")
    assert home.client.post(f"/inbox/{ident}/decline", json={}).status_code == 200


def test_a_question_that_waits_for_its_own_person_is_no_proposal(home: Service) -> None:
    ident = proposed(home, "Tuesday")
    waiting = say(home.client, call("review_decline", id=ident))["pending_confirmation"]["id"]
    assert waiting not in [item["id"] for item in home.client.get("/inbox").json()["items"]]
    assert refused(home.client.get(f"/inbox/{waiting}")) == (404, "no_item")
    assert refused(home.client.post(f"/inbox/{waiting}/approve", json={})) == (404, "no_item")
    assert refused(home.client.post(f"/inbox/{waiting}/decline", json={})) == (404, "no_item")
    assert home.client.delete(f"/confirmations/{waiting}").status_code == 204


def test_what_was_done_is_told_once_and_its_state_goes_forward(home: Service, mira: httpx.Client) -> None:
    reply = say(home.client, call("document", path="household/shed.md", text="# Shed\n\nThe shed is green.\n"))
    assert any("household/shed.md" in line for line in reply["notices"])
    notice = home.client.get("/outbox").json()["notices"][-1]
    assert "household/shed.md" in notice["subject"]
    assert (notice["state"], notice["run"]) == ("queued", reply["run_id"])
    address = f"/outbox/{notice['id']}"
    assert mira.get("/outbox").json() == {"notices": []}
    assert refused(mira.put(address, json={"state": "seen"})) == (404, "no_notice")
    assert home.client.put(address, json={"state": "sent"}).json()["state"] == "sent"
    assert refused(home.client.put(address, json={"state": "sent"})) == (409, "settled")
    assert refused(home.client.put(address, json={"state": "queued"})) == (400, "bad_input")
    assert home.client.put(address, json={"state": "seen"}).json()["state"] == "seen"
    assert refused(home.client.put(address, json={"state": "failed"})) == (409, "settled")
    assert notice["id"] not in [one["id"] for one in home.client.get("/outbox").json()["notices"]]


def thoughts(client: httpx.Client) -> list[str]:
    with client.stream("POST", "/chat/stream", json={"message": THOUGHT, "scope": ["general"]}) as response:
        seen = list(events(response))
    assert seen[-1][0] == "done"
    return [str(data["text"]) for name, data in seen if name == "reasoning"]


def test_reasoning_is_streamed_to_those_who_want_to_see_it(home: Service, mira: httpx.Client) -> None:
    assert mira.get("/preferences").json() == NOTHING
    assert "note on the boiler" in "".join(thoughts(mira))
    changed = mira.put("/preferences", json={"show_thinking": False})
    assert changed.json() == {**NOTHING, "show_thinking": False}
    assert thoughts(mira) == []
    assert home.client.get("/preferences").json()["show_thinking"] is True
    assert refused(mira.put("/preferences", json={"show_thoughts": True})) == (400, "bad_input")
    assert mira.put("/preferences", json={"show_thinking": True}).json() == NOTHING


def test_a_run_tells_its_steps_without_a_word_of_text(home: Service, mira: httpx.Client) -> None:
    reply = say(home.client, LOOKED)
    response = home.client.get(f"/runs/{reply['run_id']}")
    run = response.json()
    assert (run["session"], run["state"], run["question"]) == (reply["session_id"], "done", 0)
    kinds = [event["kind"] for event in run["events"]]
    assert kinds[0] == "prompt"
    assert {"retrieval", "result", "reply"} <= set(kinds)
    assert "pressure" not in response.text
    theirs, none = mira.get(f"/runs/{reply['run_id']}"), mira.get("/runs/0000000000000000")
    assert refused(theirs) == (404, "no_run")
    assert theirs.text.replace(reply["run_id"], "0" * 16) == none.text


def test_the_audit_is_the_owners_and_comes_in_pages(home: Service, mira: httpx.Client) -> None:
    assert refused(mira.get("/audit")) == (403, "not_owner")
    say(home.client, call("document", path="household/audited.md", text="# Audited\n\nOnce.\n"))
    whole = home.client.get("/audit", params={"limit": 1000}).json()
    assert (whole["holds"], whole["next"]) == (True, None)
    assert len(whole["entries"]) > 1
    page = home.client.get("/audit", params={"limit": 1}).json()
    assert page["entries"] == whole["entries"][:1]
    after = home.client.get("/audit", params={"limit": 1, "after": page["next"]}).json()
    assert after["entries"] == whole["entries"][1:2]


def test_what_was_really_sent_is_shown_to_its_own_person_in_developer_mode(home: Service, mira: httpx.Client) -> None:
    say(home.client, LOOKED)
    assert refused(home.client.get("/inspect/turns")) == (404, "no_turn")
    assert refused(home.client.delete("/inspect/turns")) == (404, "no_turn")
    assert '{"developer_mode": true}' in home.client.get("/inspect/turns").json()["error"]["next"]
    home.client.put("/preferences", json={"developer_mode": True})
    mira.put("/preferences", json={"developer_mode": True})
    reply = say(home.client, LOOKED)
    turns = home.client.get("/inspect/turns").json()["turns"]
    mine = next(turn for turn in turns if turn["run"] == reply["run_id"])
    assert "search_knowledge_base" in json.dumps(mine)
    assert "1.4 bar" in json.dumps(mine)
    assert reply["run_id"] not in mira.get("/inspect/turns").text
    said = {"text": "The answer was odd."}
    assert refused(mira.post("/bugs", json={**said, "turn": mine["id"]})) == (404, "no_turn")
    assert refused(home.client.post("/bugs", json={**said, "turn": "nosuch"})) == (404, "no_turn")
    plain = mira.post("/bugs", json=said)
    assert (plain.status_code, len(plain.json()["files"])) == (201, 1)
    whole = home.client.post("/bugs", json={**said, "turn": mine["id"]}).json()
    kept = [home.home / ".quorra" / name for name in whole["files"]]
    assert [file.stat().st_mode & 0o777 for file in kept] == [0o600, 0o600]
    assert "The answer was odd." in kept[0].read_text(encoding="utf-8")
    assert json.loads(kept[1].read_text(encoding="utf-8"))["run"] == reply["run_id"]
    assert mira.delete("/inspect/turns").status_code == 204
    assert reply["run_id"] in home.client.get("/inspect/turns").text
    assert home.client.delete("/inspect/turns").status_code == 204
    assert home.client.get("/inspect/turns").json() == {"turns": []}
    home.client.put("/preferences", json={"developer_mode": False})
    assert refused(home.client.get("/inspect/turns")) == (404, "no_turn")


def test_only_the_page_itself_changes_anything_by_its_cookie(home: Service) -> None:
    with httpx.Client(base_url=home.url, timeout=60) as browser:
        assert browser.get("/", params={"token": home.token}).status_code == 200
        ident = browser.post("/chat", json={"message": SURE}).json()["session_id"]
        address = f"/sessions/{ident}/purpose"
        for origin in ("http://127.0.0.1:1", "null", "https://evil.example"):
            headers = {"Origin": origin}
            assert browser.put(address, json={"purpose": "x"}, headers=headers).status_code == 401
            assert browser.delete(f"/sessions/{ident}", headers=headers).status_code == 401
        own = {"Origin": home.url.rstrip("/")}
        assert browser.put(address, json={"purpose": "x"}, headers=own).status_code == 200
        assert browser.delete(f"/sessions/{ident}", headers=own).status_code == 204
