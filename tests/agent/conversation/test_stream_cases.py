"""The stream cases as a whole turn sees them: real deltas, the real loop, and tools that say that they ran."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quorra.agent.calling.registry import Registry
from quorra.agent.calling.tool import Reach, Result, Tool
from quorra.home import Home
from quorra.inference.open import chat
from quorra.inference.protocol import GenerationFailed
from quorra.settings import Model
from tests.agent.conversation.talk import Person, made, opened
from tests.conftest import cases
from tests.inference.sse import streaming

OVER = "So be it."
ELSEWHERE = {"STR-20", "STR-22"}
"""A client that goes away is a matter of the service's tests, a loop of the test below."""


class Note(msgspec.Struct, forbid_unknown_fields=True):
    """Reads a note."""

    path: str


class Query(msgspec.Struct, forbid_unknown_fields=True):
    """Searches notes."""

    query: str


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """Lists notes."""


class Cron(msgspec.Struct, forbid_unknown_fields=True):
    """Plans a job."""

    cron: str = ""
    every_secs: int = 0


class Ran:
    """Tools by the names of the cases, which remember what they were called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        takes = {"read_note": Note, "delete_note": Note, "search_notes": Query, "list_notes": Nothing, "cron": Cron}
        self.registry = Registry(self._tool(name, struct) for name, struct in takes.items())

    def _tool(self, name: str, struct: type[msgspec.Struct]) -> Tool:
        def run(_: Reach, given: Any) -> Result:
            self.calls.append((name, msgspec.to_builtins(given)))
            wrong = name == "cron" and given.cron and given.every_secs
            return Result("Give either cron or every_secs." if wrong else "done", ok=not wrong)

        return Tool(name, struct, frozenset({"general"}), 0, run)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = opened(made(tmp_path / "home"))
    yield home
    home.close()


class Deltas(list[Any]):
    """Deltas of the first request; those that follow it get a plain word."""

    def __iter__(self) -> Iterator[Any]:
        first, self[:] = list(self[:]), [{"content": OVER}]
        return iter(first)


@contextmanager
def speaking(home: Home, deltas: Sequence[Any], ending: str, finish: str) -> Iterator[tuple[Person, Ran, Any]]:
    """Lets a person talk with a server that streams these deltas first, and a plain word afterwards."""
    ran = Ran()
    with streaming(Deltas(deltas), ending, finish) as server:
        model = chat(Model(backend="openai", url=server.url, name="m"))
        talks = home.talks
        home.talks = replace(talks, runner=replace(talks.runner, registry=ran.registry, model=lambda: model))
        yield Person(home), ran, server


def visible(person: Person) -> str:
    """Gives what a client saw of the first step."""
    return "".join(person.told("token")).removesuffix(OVER).rstrip("\n")


@pytest.mark.parametrize("case", [one for one in cases("stream") if one.id not in ELSEWHERE])
def test_a_turn_sees_what_the_case_says(case: Any, home: Home):
    expect, script = case["expect"], case.get("script")
    deltas = case.get("deltas", [{"content": "The boi"}])
    ending = "reset" if script else "done"
    with speaking(home, deltas, ending, case.get("finish_reason", "stop")) as (person, ran, server):
        reply = None
        try:
            reply = person.say("Is the boiler due?")
        except GenerationFailed:
            assert expect.get("last_event") == "error"
        seen = visible(person)
    if "visible" in expect:
        assert seen == expect["visible"]
    for text in expect.get("never_visible", ()):
        assert text not in "".join(person.told("token"))
    if "outcome_any" in expect and not seen:
        assert reply is None or reply.notices or ran.calls
    if calls := expect.get("tool_calls"):
        assert ran.calls == [(call["name"], call["arguments"]) for call in calls]
    if "tool_run" in expect:
        assert bool(ran.calls) == expect["tool_run"]
    if "tool_arguments" in expect:
        assert ran.calls[0][1] == expect["tool_arguments"]
    if "tools_run" in expect:
        assert [name for name, _ in ran.calls] == expect["tools_run"]
    if "tool_result_to_model" in expect:
        told = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"]
        wanted = expect["tool_result_to_model"].split(";")[0].split("(")[0].strip()
        assert any(wanted.casefold() in text.casefold().replace("'", "") for text in told)
        assert reply
        assert reply.answer.endswith(OVER)


def test_the_same_call_again_and_again_is_ended(home: Home):
    (case,) = [one.values[0] for one in cases("stream") if one.id == "STR-22"]
    call = {"name": "cron", "arguments": '{"cron": "0 9 * * 1-5", "every_secs": 60}'}
    delta = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": call}]}
    ran = Ran()
    with streaming([delta], finish="tool_calls") as server:
        model = chat(Model(backend="openai", url=server.url, name="m"))
        talks = home.talks
        home.talks = replace(talks, runner=replace(talks.runner, registry=ran.registry, model=lambda: model))
        reply = Person(home).say("Plan it for nine.")
        assert len(server.requests) < case["expect"]["stops_before_steps"]
    assert reply.outcome == "stopped"
    assert reply.notices
    assert len(ran.calls) == 1
