"""Tools over an OpenAI-compatible server: what is sent, and how calls come back however a server cuts them up."""

import json
from typing import Any

import pytest

from quorra.inference.chat.remote import Remote
from quorra.inference.protocol import Call, Delta, GenerationFailed, Message, ModelAway, Tool
from quorra.inference.server import Server
from tests.inference.sse import streaming

ASK = [Message("user", "?")]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read_note", "Reads a note.", SCHEMA)


def remote(url: str, tools: bool = True) -> Remote:
    return Remote(Server(url, timeout=5.0), name="m", style="composition", tools=tools)


def piece(arguments: Any = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{**more, "function": function}]}


def made(*deltas: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str]]:
    with streaming(deltas, finish=finish) as server:
        reply = remote(server.url).generate(ASK, tools=[READ])
        list(reply)
    assert reply.usage is not None
    assert (reply.usage.finish == "calls") == bool(reply.calls)
    assert len({call.id for call in reply.calls} - {""}) == len(reply.calls)
    return [(call.name, call.arguments) for call in reply.calls]


A, B = ("read_note", '{"path":"a"}'), ("read_note", '{"path":"b"}')


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param([piece(A[1], A[0]), piece(B[1], B[0])], [A, B], id="neither index nor id"),
        pytest.param([piece(A[1], A[0], index=0), piece(B[1], B[0], index=0)], [A, B], id="one index, no ids"),
        pytest.param(
            [piece('{"path"', A[0]), piece(':"a"}'), piece(B[1], B[0])], [A, B], id="pieces without index or id"
        ),
        pytest.param(
            [piece('{"path"', A[0], index=0, id="1"), piece(':"a"}', index=0, id="2")],
            [A],
            id="another id with every piece",
        ),
        pytest.param(
            [piece('{"path"', A[0], id="1"), piece(':"a"}', id="1"), piece(B[1], B[0], id="2")], [A, B], id="ids alone"
        ),
        pytest.param(
            [piece('{"path"', A[0], index=0, id="1"), piece(':"a"}', A[0], index=0, id="1")], [A], id="name repeated"
        ),
        pytest.param(
            [piece(None, "read", index=0), piece(None, "_note", index=0), piece(A[1], index=0)],
            [A],
            id="name in pieces",
        ),
        pytest.param(
            [piece(A[1], A[0], index=0, id="x"), piece(B[1], B[0], index=1, id="x")], [A, B], id="one id for two"
        ),
        pytest.param([piece("", A[0], index=0), piece(A[1], index=0, id="late")], [A], id="the id comes late"),
        pytest.param([piece({"path": "a"}, A[0], index=0)], [("read_note", '{"path": "a"}')], id="an object"),
        pytest.param([{"tool_calls": None}, {"content": None}, piece(A[1], A[0], index=0)], [A], id="nulls"),
        pytest.param([piece("", "list_notes", index=0)], [("list_notes", "")], id="no arguments"),
        pytest.param([piece('{"path"', A[0], index=0)], [("read_note", '{"path"')], id="broken arguments"),
    ],
)
def test_calls_come_whole_however_they_are_cut(deltas: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert made(*deltas) == expected
    assert made(*deltas, finish="stop") == expected


def test_a_reply_that_was_cut_or_broke_off_has_no_calls() -> None:
    assert made(piece(A[1], A[0], index=0), finish="length") == []
    assert made({"content": '<tool_call>{"name": "read_note"}</tool_call>'}, finish="length") == []
    for ending in ("reset", "quiet", "error"):
        with streaming([piece(A[1], A[0], index=0)], ending) as server:
            reply = remote(server.url).generate(ASK, tools=[READ])
            with pytest.raises(GenerationFailed, match="broke off"):
                list(reply)
        assert reply.calls == ()


def test_a_call_without_end_is_ended_at_the_limit() -> None:
    with streaming([piece("", A[0], index=0), *[piece("x", index=0)] * 50], "hang") as server:
        reply = remote(server.url).generate(ASK, tools=[READ], max_tokens=20)
        list(reply)
        assert server.gone.wait(2.0)
    assert reply.usage is not None
    assert (reply.usage.finish, reply.usage.generated, reply.calls) == ("length", 21, ())


def test_a_cancelled_reply_has_no_calls() -> None:
    with streaming([{"content": "Hm."}, piece(A[1], A[0], index=0)], "hang") as server:
        seen: list[Delta] = []
        reply = remote(server.url).generate(ASK, tools=[READ], cancelled=lambda: bool(seen))
        for delta in reply:
            seen.append(delta)
        assert server.gone.wait(2.0)
    assert (reply.calls, reply.usage and reply.usage.finish) == ((), "cancelled")


def test_text_goes_out_at_once_while_a_call_is_still_coming() -> None:
    with streaming([{"content": "Let me look."}, piece('{"pa', A[0], index=0)], "hang") as server:
        reply = remote(server.url).generate(ASK, tools=[READ])
        assert next(iter(reply)) == Delta("text", "Let me look.")
        reply.close()
        assert server.gone.wait(2.0)


def test_calls_made_properly_win_over_the_same_ones_in_the_text() -> None:
    text = {"content": '<tool_call>{"name": "read_note", "arguments": {"path":"a"}}</tool_call>'}
    assert made(text, piece(A[1], A[0], index=0)) == [A]
    assert made(text, finish="stop") == [("read_note", '{"path": "a"}')]


def test_calls_written_where_no_tools_were_offered_are_nothing() -> None:
    with streaming([{"content": 'So. <tool_call>{"name": "read_note"}</tool_call>'}]) as server:
        for model, tools in ((remote(server.url), []), (remote(server.url, tools=False), [READ])):
            reply = model.generate(ASK, tools=tools)
            assert list(reply) == [Delta("text", "So. ")]
            assert reply.calls == ()
        assert all("tools" not in request for request in server.requests)


def test_what_is_sent_is_what_the_payload_told() -> None:
    broken = Call("c2", "read a note", '{"path": ')
    messages = [
        Message("user", "?"),
        Message("assistant", "Hm.", calls=(Call("c1", "read_note", ""), broken)),
        Message("tool", "Empty.", answers="c1"),
        Message("tool", "Invalid arguments.", answers="c2"),
    ]
    with streaming([{"content": "a"}]) as server:
        model = remote(server.url)
        told = model.payload(messages, tools=[READ], max_tokens=9, temperature=0.5)
        list(model.generate(messages, tools=[READ], max_tokens=9, temperature=0.5))
        sent = server.requests[0]
    assert {key: sent[key] for key in told} == told
    function = {"name": "read_note", "description": "Reads a note.", "parameters": SCHEMA}
    assert sent["tools"] == [{"type": "function", "function": function}]
    assert [call["function"]["name"] for call in sent["messages"][1]["tool_calls"]] == ["read_note", "read_a_note"]
    given = [json.loads(call["function"]["arguments"]) for call in sent["messages"][1]["tool_calls"]]
    assert given == [{}, {"unreadable": '{"path": '}]
    assert sent["messages"][2] == {"role": "tool", "content": "Empty.", "tool_call_id": "c1"}


def test_an_id_that_was_there_before_is_replaced() -> None:
    asked = [*ASK, Message("assistant", "", calls=(Call("c1", "read_note", "{}"),)), Message("tool", "", answers="c1")]
    with streaming([piece(A[1], A[0], index=0, id="c1")], finish="tool_calls") as server:
        reply = remote(server.url).generate(asked, tools=[READ])
        list(reply)
    assert reply.calls[0].id not in {"c1", ""}


@pytest.mark.parametrize("status", ["400", "404", "500"])
def test_a_server_that_refuses_tools_says_what_to_set(status: str) -> None:
    with streaming([], f"{status} tools param requires a flag") as server:
        with pytest.raises(GenerationFailed, match="refuses tools") as told:
            list(remote(server.url).generate(ASK, tools=[READ]))
        with pytest.raises((GenerationFailed, ModelAway)) as other:
            list(remote(server.url).generate(ASK))
    assert told.value.next
    assert 'model.tools = "off"' in told.value.next
    assert "flag" not in str(told.value)
    assert "refuses tools" not in str(other.value)
