"""The cases of ``stream`` that a model's own room can judge, and the cleaner's invariants."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.inference.chat.remote import Remote
from quorra.inference.protocol import Delta, GenerationFailed, Message, Tool
from quorra.inference.server import Server
from quorra.inference.stream import STOPS, Cleaner, opened
from tests.conftest import cases
from tests.inference.sse import streaming

LOOP = {f"STR-{number:02}" for number in (*range(13, 17), 22)}
SERVICE = {"STR-20"}
NOTES = {"type": "object", "properties": {"path": {"type": "string"}}}
OFFERED = [Tool(name, "", NOTES) for name in ("search_notes", "read_note")]
MARKS = [
    *("<think>", "</think>", "<thinking>", "</thinking>"),
    *("<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<Function_Call>", "[TOOL_CALLS]"),
    *STOPS[:3],
]
HALVES = ["<", ">", "<thi", "nk>", "</", "<|im_", "[TOOL", "_CALLS]", "[", "]", "İ", "é", "\n", '{"name": "a"}']
PIECES = st.one_of(st.sampled_from([*MARKS, *HALVES]), st.text(max_size=6))


def cleaned(chunks: list[str]) -> tuple[str, str]:
    return judged(chunks)[:2]


def judged(chunks: list[str]) -> tuple[str, str, list[str]]:
    cleaner = Cleaner()
    deltas = [delta for chunk in chunks for delta in cleaner.feed(chunk)] + cleaner.finish()
    return joined(deltas, "text"), joined(deltas, "reasoning"), cleaner.written


def joined(deltas: list[Delta], channel: str) -> str:
    return "".join(delta.text for delta in deltas if delta.channel == channel)


def remote(url: str) -> Remote:
    return Remote(Server(url, timeout=5.0), name="m", style="composition")


@pytest.mark.parametrize("case", cases("stream"))
def test_stream_case(case: dict[str, Any]) -> None:
    if case["id"] in LOOP:
        pytest.skip("is judged where tools are run")
    if case["kind"] == "stream-life":
        pytest.skip("has a test of its own below, or in the service")
    with streaming(case["deltas"], finish=case["finish_reason"]) as server:
        reply = remote(server.url).generate([Message("user", "?")], tools=OFFERED)
        deltas = list(reply)
    visible, expect = joined(deltas, "text"), case["expect"]
    assert reply.usage is not None
    assert visible == expect.get("visible", "")
    for never in expect.get("never_visible", ()):
        assert never not in visible
    calls = [{"name": "read_note", "arguments": {"path": "a.md"}}] if case["id"] == "STR-17" else []
    calls = expect.get("tool_calls", calls)
    assert [{"name": call.name, "arguments": json.loads(call.arguments)} for call in reply.calls] == calls
    assert len({call.id for call in reply.calls}) == len(calls)
    if not visible:
        assert reply.usage.finish in ({"calls"} if calls else {"empty", "length"})


def test_the_cases_not_judged_here_are_the_ones_of_the_loop_and_the_service() -> None:
    known = {param.id for param in cases("stream")}
    assert known >= LOOP | SERVICE
    here = (*range(1, 13), 17, 18, 21)
    assert {f"STR-{number:02}" for number in here} == known - LOOP - SERVICE


@pytest.mark.parametrize("ending", ["reset", "quiet", "error", "garbage"])
def test_an_upstream_that_fails_in_the_middle_is_an_error(ending: str) -> None:
    seen: list[Delta] = []
    with streaming([{"content": "The boi"}], ending) as server:
        reply = remote(server.url).generate([Message("user", "?")])
        with pytest.raises(GenerationFailed, match="broke off"):
            seen.extend(reply)
    assert joined(seen, "text") == "The boi"
    assert reply.usage is None


def test_what_was_held_back_is_not_shown_when_the_upstream_fails() -> None:
    shown: list[Delta] = []
    with streaming([{"content": "The <think>secret"}, {"content": "</thi"}], "reset") as server:
        reply = remote(server.url).generate([Message("user", "?")])
        with pytest.raises(GenerationFailed):
            shown.extend(reply)
    assert joined(shown, "text") == "The "


@given(st.lists(PIECES, max_size=12), st.data())
def test_any_chunking_gives_the_same_text(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert judged(chunks) == judged([whole]) == judged(list(whole))


@given(st.text(st.characters(exclude_characters="<")))
def test_text_without_tags_is_untouched(text: str) -> None:
    assert cleaned([text]) == (text, "")


@pytest.mark.parametrize(
    ("text", "visible", "reasoning"),
    [
        ("<think>a<think>b</think>c</think>d", "d", "abc"),
        ("<THINK>a</Think>b", "b", "a"),
        ("<thinking>a</think>b</thinking>c", "c", "ab"),
        ("</think>after", "after", ""),
        ("<think>never closed", "", "never closed"),
        ("a<tool_call>{}</tool_call>b", "ab", ""),
        ("a<tool_call>{", "a", ""),
        ("Done.<|im_end|>\n<|im_start|>user\nmore", "Done.", ""),
        ("<think>x<|im_end|>y", "", "x"),
        ("a <b>bold</b> <thinker>", "a <b>bold</b> <thinker>", ""),
    ],
)
def test_spans_and_stop_tokens(text: str, visible: str, reasoning: str) -> None:
    assert cleaned([text]) == (visible, reasoning)
    assert cleaned(list(text)) == (visible, reasoning)


def test_a_prompt_that_opens_reasoning_starts_inside_it() -> None:
    assert opened("<|im_start|>assistant\n<think>\n") == "think"
    assert opened("<|im_start|>assistant\n") == ""
    cleaner = Cleaner("think")
    deltas = cleaner.feed("plan</think>said") + cleaner.finish()
    assert (joined(deltas, "reasoning"), joined(deltas, "text")) == ("plan", "said")


@pytest.mark.parametrize(
    ("text", "visible", "written"),
    [
        ("Let me look. <tool_call>{}</tool_call>", "Let me look. ", ["{}"]),
        ("<tool_call>1</tool_call>\n<tool_call>2</tool_call>", "\n", ["1", "2"]),
        ("<tool_calls><tool_call>1</tool_call><tool_call>2</tool_call></tool_calls>", "", ["12"]),
        ("<function_call>1</function_call>", "", ["1"]),
        ('<tool_call>{"text": "<think>a</think>"}</tool_call>', "", ['{"text": "<think>a</think>"}']),
        ("<think><tool_call>1</tool_call></think>So.", "So.", []),
        ("<tool_call>1", "", ["1"]),
        ("Hm. [TOOL_CALLS] [1, 2]", "Hm. ", [" [1, 2]"]),
        ("[TOOL_CALLS]a[ARGS]{}[TOOL_CALLS]b[ARGS]{}", "", ["a[ARGS]{}", "b[ARGS]{}"]),
        ("see [tool_calls] and [TOOL] and [TOOL_", "see [tool_calls] and [TOOL] and [TOOL_", []),
    ],
)
def test_what_stands_in_spans_of_calls_is_kept_and_never_shown(text: str, visible: str, written: list[str]) -> None:
    assert judged([text]) == judged(list(text))
    assert (judged([text])[0], judged([text])[2]) == (visible, written)


def test_it_knows_before_a_piece_comes_whether_a_call_begins_in_it() -> None:
    cleaner = Cleaner()
    cleaner.feed("Well, <tool")
    assert cleaner.opens("_call>")
    assert not cleaner.opens("_cal")
    assert not cleaner.calling
    cleaner.feed("_call>")
    assert cleaner.calling
    assert cleaner.written == [""]
    cleaner.feed("{}</tool_call>")
    assert not cleaner.calling
    assert cleaner.written == ["{}"]
