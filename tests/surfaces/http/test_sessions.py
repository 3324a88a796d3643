"""Sessions over HTTP: whose they are, what is kept in them, their scope, purpose and mode."""

from collections.abc import Iterator

import httpx
import pytest

from tests.surfaces.http.conftest import LOOKED, SURE, THOUGHT, Service, call, member, say


@pytest.fixture(scope="module")
def mira(service: Service) -> Iterator[httpx.Client]:
    with member(service, "mira") as client:
        yield client


def begin(client: httpx.Client, scope: list[str] | None = None) -> str:
    response = client.post("/chat", json={"message": SURE, **({"scope": scope} if scope else {})})
    assert response.status_code == 200
    ident: str = response.json()["session_id"]
    return ident


def refused(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_sessions_are_listed_the_newest_first_and_only_to_their_own_person(
    service: Service, mira: httpx.Client
) -> None:
    first, second = begin(mira), begin(mira)
    begin(service.client)
    listed = mira.get("/sessions").json()["sessions"]
    assert [one["id"] for one in listed[:2]] == [second, first]
    assert set(listed[0]) == {"id", "origin", "scope", "mode", "purpose", "title", "created", "changed"}
    assert {one["id"] for one in service.client.get("/sessions").json()["sessions"]}.isdisjoint({first, second})
    say(mira, SURE, session_id=first)
    assert mira.get("/sessions").json()["sessions"][0]["id"] == first


def test_sessions_are_listed_page_by_page(service: Service, mira: httpx.Client) -> None:
    for _ in range(3):
        begin(mira)
    whole = mira.get("/sessions").json()
    assert set(whole) == {"sessions"}
    every, seen, after = [one["id"] for one in whole["sessions"]], [], {}
    while True:
        page = mira.get("/sessions", params={"limit": 2, **after}).json()
        assert len(page["sessions"]) <= 2
        seen += [one["id"] for one in page["sessions"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert seen == every
    assert [one["id"] for one in mira.get("/sessions", params={"after": every[1]}).json()["sessions"]] == every[2:]
    others = service.client.get("/sessions", params={"after": every[0]})
    assert (others.status_code, refused(others)) == (404, (404, "no_session"))
    for wrong in ({"limit": 0}, {"after": "no id"}):
        assert refused(mira.get("/sessions", params=wrong)) == (400, "bad_input")


PRIVATE = [
    ("GET", "", None),
    ("DELETE", "", None),
    ("GET", "/messages", None),
    ("GET", "/messages/recent", None),
    ("GET", "/purpose", None),
    ("PUT", "/purpose", {"purpose": "x"}),
    ("DELETE", "/purpose", None),
    ("GET", "/mode", None),
    ("PUT", "/mode", {"mode": "research"}),
    ("DELETE", "/mode", None),
]


@pytest.mark.parametrize(("method", "path", "body"), PRIVATE)
def test_anothers_session_is_told_of_as_none(
    service: Service, mira: httpx.Client, method: str, path: str, body: dict[str, str] | None
) -> None:
    theirs = begin(service.client, ["general"])
    nobodys = "0" * len(theirs)
    another = mira.request(method, f"/sessions/{theirs}{path}", json=body)
    none = mira.request(method, f"/sessions/{nobodys}{path}", json=body)
    assert refused(another) == (404, "no_session")
    assert (another.status_code, another.text.replace(theirs, nobodys)) == (none.status_code, none.text)
    assert service.client.get(f"/sessions/{theirs}").status_code == 200
    assert service.client.get(f"/sessions/{theirs}/purpose").json() == {"purpose": None}


def test_nobody_speaks_in_anothers_session(service: Service, mira: httpx.Client) -> None:
    theirs = begin(service.client)
    body = {"message": SURE, "session_id": theirs}
    assert refused(mira.post("/chat", json=body)) == (404, "no_session")
    with mira.stream("POST", "/chat/stream", json=body) as response:
        assert "event: error" in response.read().decode()
    assert len(service.client.get(f"/sessions/{theirs}/messages").json()["messages"]) == 2


def test_every_entry_is_there_in_dense_numbers_with_what_is_meant_for_people(service: Service) -> None:
    ident = say(service.client, LOOKED)["session_id"]
    kept = service.client.get(f"/sessions/{ident}/messages").json()
    assert kept["next"] is None
    entries = kept["messages"]
    assert [one["kind"] for one in entries] == ["user", "tool_call", "tool_result", "assistant"]
    assert [one["seq"] for one in entries] == [0, 1, 2, 3]
    assert set(entries[0]) == {"seq", "kind", "text", "at", "mark", "run", "data"}
    assert entries[1]["data"]["name"] == "search_knowledge_base"
    assert entries[2]["data"]["ok"] is True
    assert entries[3]["data"]["citations"][0]["path"] == "household/boiler.md"
    page = service.client.get(f"/sessions/{ident}/messages", params={"after": 0, "limit": 2}).json()
    assert ([one["seq"] for one in page["messages"]], page["next"]) == ([1, 2], 2)
    rest = service.client.get(f"/sessions/{ident}/messages", params={"after": page["next"], "limit": 2}).json()
    assert ([one["seq"] for one in rest["messages"]], rest["next"]) == ([3], None)
    said = service.client.get(f"/sessions/{ident}/messages/recent").json()["messages"]
    assert [one["kind"] for one in said] == ["user", "assistant"]
    for wrong in ({"limit": 0}, {"limit": 1001}, {"after": -2}, {"after": "x"}):
        assert refused(service.client.get(f"/sessions/{ident}/messages", params=wrong)) == (400, "bad_input")


def test_reasoning_is_kept_nowhere(service: Service) -> None:
    ident = say(service.client, THOUGHT)["session_id"]
    assert "note on the boiler" not in service.client.get(f"/sessions/{ident}/messages").text


def test_a_session_that_was_forgotten_is_gone(service: Service) -> None:
    reply = say(service.client, SURE)
    ident = reply["session_id"]
    assert service.client.get(f"/runs/{reply['run_id']}").status_code == 200
    assert service.client.delete(f"/sessions/{ident}").status_code == 204
    assert refused(service.client.get(f"/sessions/{ident}/messages")) == (404, "no_session")
    assert refused(service.client.delete(f"/sessions/{ident}")) == (404, "no_session")
    assert refused(service.client.get(f"/runs/{reply['run_id']}")) == (404, "no_run")


def test_without_a_scope_no_tool_is_reached_and_a_scope_is_for_good(service: Service) -> None:
    looking = call("search_knowledge_base", question="boiler")
    plain = service.client.post("/chat", json={"message": looking}).json()
    ident = plain["session_id"]
    entries = service.client.get(f"/sessions/{ident}/messages").json()["messages"]
    assert all("boiler.md" not in one["text"] for one in entries)
    assert service.client.get(f"/sessions/{ident}").json()["scope"] is None
    say(service.client, looking, session_id=ident)
    assert service.client.get(f"/sessions/{ident}").json()["scope"] == ["general"]
    assert "boiler.md" in service.client.get(f"/sessions/{ident}/messages").text
    for scope, code in ((["general", "nosuch"], "unknown_scope"), ([], "unknown_scope"), (["x" * 65], "bad_input")):
        body = {"message": SURE, "session_id": ident, "scope": scope}
        assert refused(service.client.post("/chat", json=body)) == (400, code)
    none = service.client.post("/chat", json={"message": SURE, "scope": []}).json()["error"]["message"]
    assert none == "A scope names at least one; leave the field out for none."
    assert refused(service.client.post("/chat", json={"message": SURE, "origin": "pigeon"})) == (400, "unknown_origin")


def test_a_purpose_is_said_changed_and_unsaid(service: Service) -> None:
    address = f"/sessions/{begin(service.client)}/purpose"
    assert service.client.get(address).json() == {"purpose": None}
    assert service.client.put(address, json={"purpose": "Plan the garden."}).json() == {"purpose": "Plan the garden."}
    assert service.client.get(address).json() == {"purpose": "Plan the garden."}
    for wrong in ("x" * 2001, "", 3, None):
        assert refused(service.client.put(address, json={"purpose": wrong})) == (400, "bad_input")
    assert service.client.get(address).json() == {"purpose": "Plan the garden."}
    assert service.client.delete(address).status_code == 204
    assert service.client.get(address).json() == {"purpose": None}


def test_a_mode_needs_a_scope_that_has_it(service: Service) -> None:
    ident = begin(service.client)
    address = f"/sessions/{ident}/mode"
    assert service.client.get(address).json() == {"mode": None, "modes": {}}
    assert refused(service.client.put(address, json={"mode": "research"})) == (409, "no_scope")
    say(service.client, SURE, session_id=ident)
    assert "research" in service.client.get(address).json()["modes"]
    assert refused(service.client.put(address, json={"mode": "nosuch"})) == (400, "unknown_mode")
    assert service.client.put(address, json={"mode": "research"}).json()["mode"] == "research"
    assert service.client.get(f"/sessions/{ident}").json()["mode"] == "research"
    assert service.client.delete(address).status_code == 204
    assert service.client.get(address).json()["mode"] is None


def test_what_changes_needs_json_and_no_other_page(service: Service) -> None:
    ident = begin(service.client)
    put = service.client.put(f"/sessions/{ident}/purpose", content=b'{"purpose": "x"}')
    assert refused(put) == (415, "not_json")


def test_an_id_that_can_be_none_is_bad_input(service: Service) -> None:
    for wrong in ("a b", "x" * 65, "%00", "é"):
        assert refused(service.client.get(f"/sessions/{wrong}/messages")) == (400, "bad_input")
