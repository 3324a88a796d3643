"""The cases of ``stream`` that a model's own room can judge, and the cleaner's invariants."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.inference.chat.remote import Remote
from quorra.inference.protocol import Delta, GenerationFailed, Message
from quorra.inference.server import Server
from quorra.inference.stream import STOPS, Cleaner, opened
from tests.conftest import cases
from tests.inference.sse import streaming

TOOLS = {f"STR-{number:02}" for number in (*range(9, 17), 22)}
SERVICE = {"STR-20"}
MARKS = ["<think>", "</think>", "<thinking>", "</thinking>", "<tool_call>", "</tool_call>", *STOPS[:3]]
PIECES = st.one_of(
    st.sampled_from([*MARKS, "<", ">", "<thi", "nk>", "</", "<|im_", "İ", "é", "\n"]), st.text(max_size=6)
)


def cleaned(chunks: list[str]) -> tuple[str, str]:
    cleaner = Cleaner()
    deltas = [delta for chunk in chunks for delta in cleaner.feed(chunk)] + cleaner.finish()
    return joined(deltas, "text"), joined(deltas, "reasoning")


def joined(deltas: list[Delta], channel: str) -> str:
    return "".join(delta.text for delta in deltas if delta.channel == channel)


def remote(url: str) -> Remote:
    return Remote(Server(url, timeout=5.0), name="m", style="composition")


@pytest.mark.parametrize("case", cases("stream"))
def test_stream_case(case: dict[str, Any]) -> None:
    if case["id"] in TOOLS:
        pytest.skip("needs tools")
    if case["kind"] == "stream-life":
        pytest.skip("has a test of its own below, or in the service")
    with streaming(case["deltas"], finish=case["finish_reason"]) as server:
        reply = remote(server.url).generate([Message("user", "?")])
        deltas = list(reply)
    visible, expect = joined(deltas, "text"), case["expect"]
    assert reply.usage is not None
    if "visible" in expect:
        assert visible == expect["visible"]
    for never in expect.get("never_visible", ()):
        assert never not in visible
    if not visible:
        assert reply.usage.finish in {"empty", "length"}


def test_the_cases_not_judged_here_are_the_ones_with_tools_and_the_service() -> None:
    known = {param.id for param in cases("stream")}
    assert known >= TOOLS | SERVICE
    assert {f"STR-{n:02}" for n in range(1, 9)} | {"STR-17", "STR-18", "STR-21"} == known - TOOLS - SERVICE


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
    assert cleaned(chunks) == cleaned([whole]) == cleaned(list(whole))


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
