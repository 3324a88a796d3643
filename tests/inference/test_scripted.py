"""The scripted backend does what its directives say."""

import json
import time
from pathlib import Path

import pytest

from quorra.inference.chat.scripted import Scripted
from quorra.inference.protocol import Delta, GenerationFailed, Message, ModelAway


def said(model: Scripted, *contents: str, channel: str = "text") -> str:
    reply = model.generate([Message("user", content) for content in contents])
    return "".join(delta.text for delta in reply if delta.channel == channel)


def test_without_a_directive_the_last_line_is_echoed() -> None:
    assert said(Scripted(), "Notes: none.\nWhen do the bins go out?\n") == "When do the bins go out?"


def test_it_says_and_thinks_what_it_is_told() -> None:
    asked = "What?\n!think a secret plan\n!say First line.\n!say Second line."
    assert said(Scripted(), asked) == "First line.\nSecond line."
    assert said(Scripted(), asked, channel="reasoning") == "a secret plan"


def test_it_cites_the_sentence_that_holds_the_words() -> None:
    notes = "# Bins\nGlass is monthly. Paper goes out on Tuesday.\n"
    assert said(Scripted(), notes, "When?\n!cite goes OUT") == "Paper goes out on Tuesday."


def test_it_fails_after_what_came_before() -> None:
    seen: list[Delta] = []
    with pytest.raises(GenerationFailed, match="told to fail"):
        seen.extend(Scripted().generate([Message("user", "!say The boi\n!fail")]))
    assert "".join(delta.text for delta in seen) == "The boi"


def test_it_waits_before_each_word() -> None:
    begin = time.perf_counter()
    assert said(Scripted(), "!slow 0.05\n!say one two three") == "one two three"
    assert time.perf_counter() - begin >= 0.15
    with pytest.raises(GenerationFailed, match="needs seconds"):
        said(Scripted(), "!slow soon")


def test_lines_of_notes_that_only_look_like_directives_are_not() -> None:
    assert said(Scripted(), "![map](map.png)\n!sayings of old\nWhich?") == "Which?"


def test_replies_come_from_a_file_by_the_longest_question(tmp_path: Path) -> None:
    file = tmp_path / "replies.json"
    file.write_text(json.dumps({"bins": "Never.", "When do the bins": ["On Monday.", "!think hm\n!say On Tuesday."]}))
    model = Scripted(replies=file)
    assert said(model, "Notes\n\nWhen do the bins go out?") == "On Monday."
    assert said(model, "When do the bins go out?") == "On Tuesday."
    assert said(model, "When do the bins go out?") == "On Tuesday."
    assert said(model, "About bins") == "Never."
    model.close()
    assert said(model, "When do the bins go out?") == "On Monday."


@pytest.mark.parametrize("text", ["[1]", "{", None])
def test_a_file_that_is_no_table_of_replies_is_a_model_away(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "replies.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ModelAway, match="file of replies"):
        Scripted(replies=file)


def test_a_shared_beginning_is_not_counted_again() -> None:
    model = Scripted()
    for question, evaluated in (("one two three", 5), ("one two four", 1), ("one two four", 0)):
        reply = model.generate([Message("system", "be brief"), Message("user", question)])
        list(reply)
        assert reply.usage is not None
        assert (reply.usage.prompt, reply.usage.evaluated) == (5, evaluated)
