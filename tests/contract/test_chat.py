"""What every chat backend promises, shown on each of them."""

import json
import threading
from collections.abc import Iterator
from typing import get_args

import pytest

from quorra.inference.open import PACKAGED, chat
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import Call, Chat, Delta, Message, Style, Tool, Usage
from quorra.settings import Model
from tests.inference.llama_server import serving
from tests.inference.sse import streaming

SYSTEM = Message("system", "You are a careful assistant of a household. You answer in one short sentence.")
QUESTION = Message("user", "Name the capital of France.")
LONG = Message(
    "user", "Count from one to two hundred in words, separated by commas.\n!slow 0.02\n!say " + "word " * 200
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module", params=["llama", "openai", "scripted"])
def model(request: pytest.FixtureRequest) -> Iterator[Chat]:
    backend = request.param
    url = request.getfixturevalue("server") if backend == "openai" else ""
    opened = chat(Model(backend=backend, url=url, threads=1))
    yield opened
    opened.close()


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if delta.channel == "text")


def said(model: Chat, *messages: Message, max_tokens: int = 24) -> tuple[str, Usage]:
    reply = model.generate(messages, max_tokens=max_tokens)
    whole = text(list(reply))
    assert reply.usage is not None
    return whole, reply.usage


def test_it_declares_what_it_can(model: Chat) -> None:
    assert model.name
    assert model.abilities.streaming
    assert model.abilities.tools == (model.name != PACKAGED)
    assert model.abilities.context == 4096
    assert model.abilities.style in get_args(Style)


def test_it_is_reachable(model: Chat) -> None:
    assert model.reachable()


def test_it_streams_a_reply_and_says_what_it_cost(model: Chat) -> None:
    whole, usage = said(model, SYSTEM, QUESTION)
    assert whole.strip()
    assert 0 < usage.generated <= 24
    assert 0 <= usage.evaluated <= usage.prompt
    assert usage.evaluated or model.name not in {"SmolLM2-135M-Instruct", "scripted"}
    assert usage.finish in {"stop", "length"}


def test_the_same_question_gets_the_same_answer(model: Chat) -> None:
    assert said(model, SYSTEM, QUESTION)[0] == said(model, SYSTEM, QUESTION)[0]


def test_it_holds_no_history(model: Chat) -> None:
    before = said(model, SYSTEM, QUESTION)[0]
    said(model, SYSTEM, Message("user", "My name is Mira and I love the sea."))
    assert said(model, SYSTEM, QUESTION)[0] == before


def test_the_limit_is_kept_and_told(model: Chat) -> None:
    whole, usage = said(model, LONG, max_tokens=5)
    assert whole
    assert usage.generated <= 5
    assert usage.finish == "length"


def test_cancelling_stops_it_and_says_so(model: Chat) -> None:
    stop = threading.Event()
    reply = model.generate([LONG], max_tokens=400, cancelled=stop.is_set)
    seen = []
    for delta in reply:
        seen.append(delta)
        if len(seen) == 3:
            stop.set()
    assert len(seen) < 40
    assert reply.usage is not None
    assert reply.usage.finish == "cancelled"


def test_closing_frees_it_for_the_next(model: Chat) -> None:
    reply = model.generate([LONG], max_tokens=400)
    next(iter(reply))
    reply.close()
    assert said(model, SYSTEM, QUESTION)[0].strip()


def test_closing_from_another_thread_ends_the_reply(model: Chat) -> None:
    reply = model.generate([LONG], max_tokens=2000)
    seen: list[Delta] = []
    begun = threading.Event()

    def read() -> None:
        for delta in reply:
            seen.append(delta)
            begun.set()

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(20.0)
    reply.close()
    thread.join(3.0)
    assert not thread.is_alive()
    assert len(seen) < 150
    assert said(model, SYSTEM, QUESTION)[0].strip()


def test_a_reply_dropped_unread_holds_nothing_up(model: Chat) -> None:
    model.generate([LONG])
    assert said(model, SYSTEM, QUESTION)[0].strip()


def test_it_works_again_after_close(model: Chat) -> None:
    before = said(model, SYSTEM, QUESTION)[0]
    model.close()
    assert said(model, SYSTEM, QUESTION)[0] == before


READ = Tool(
    "read_note",
    "Reads a note.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
ASK_FOR_IT = [
    SYSTEM,
    Message("user", "Read the note bins."),
    Message("assistant", "", calls=(Call("c1", "read_note", '{"path": "bins"}'),)),
    Message("tool", "Tuesday.", answers="c1"),
    Message("user", 'Read the note boiler.\n!call read_note {"path": "boiler"}\n!then\n!say It is hot.'),
]
PIECES = [
    {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "read_note", "arguments": '{"path":'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": ' "boiler"}'}}]},
]


@pytest.fixture(params=["llama", "openai", "scripted"])
def caller(request: pytest.FixtureRequest) -> Iterator[Chat]:
    """A backend with tools: a model file, a server that streams a call in pieces, a script."""
    with streaming(PIECES, finish="tool_calls") as server:
        path = str(SMOLLM2.path()) if request.param == "llama" else ""
        opened = chat(Model(backend=request.param, url=server.url, path=path, threads=1))
        yield opened
        opened.close()


def test_a_backend_with_tools_calls_them(caller: Chat) -> None:
    assert caller.abilities.tools
    reply = caller.generate(ASK_FOR_IT, tools=[READ], max_tokens=60)
    assert reply.calls == ()
    shown = text(list(reply))
    assert reply.usage is not None
    assert reply.usage.finish == "calls"
    (call,) = reply.calls
    assert call.name == "read_note"
    assert isinstance(json.loads(call.arguments)["path"], str)
    assert call.id not in {"", "c1"}
    assert "read_note" not in shown
    assert "tool_call" not in shown


def test_it_takes_the_answer_back(caller: Chat) -> None:
    first = caller.generate(ASK_FOR_IT, tools=[READ], max_tokens=60)
    list(first)
    answers = [Message("tool", "Hot.", answers=call.id) for call in first.calls]
    reply = caller.generate([*ASK_FOR_IT, Message("assistant", "", calls=first.calls), *answers], tools=[READ])
    assert text(list(reply)) or reply.calls
    assert not {call.id for call in reply.calls} & {call.id for call in first.calls}


def test_a_reply_that_was_stopped_calls_nothing(caller: Chat) -> None:
    reply = caller.generate(ASK_FOR_IT, tools=[READ], max_tokens=60, cancelled=lambda: True)
    list(reply)
    assert reply.usage is not None
    assert (reply.usage.finish, reply.calls) == ("cancelled", ())


def test_its_payload_tells_what_it_is_handed(caller: Chat) -> None:
    told = caller.payload(ASK_FOR_IT, tools=[READ], max_tokens=9, temperature=0.5)
    assert json.loads(json.dumps(told)) == told
    assert told["tools"][0]["function"]["name"] == "read_note"
    assert [message["role"] for message in told["messages"]] == [message.role for message in ASK_FOR_IT]
    assert (told["max_tokens"], told["temperature"]) == (9, 0.5)
    assert "tools" not in caller.payload(ASK_FOR_IT)
