"""Prompts are files, the home's own before the shipped ones, with what seldom changes in front."""

import subprocess

import pytest

from quorra.agent.prompting.prompt import PromptAway, Prompts, again, assemble
from quorra.home import SHIPPED
from tests.agent.passages import HITS


@pytest.fixture
def prompts(tmp_path):
    return Prompts(tmp_path / "prompts", SHIPPED / "prompts")


def test_a_homes_own_prompt_goes_first_and_has_gits_blob_id(prompts, tmp_path):
    shipped = prompts.read("ask/rules")
    own = tmp_path / "prompts" / "ask" / "rules.md"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"Be brief.\r\n")
    read = prompts.read("ask/rules")
    assert (read.text, shipped.text != read.text) == ("Be brief.", True)
    blob = subprocess.run(["git", "hash-object", str(own)], capture_output=True, text=True, check=True)
    assert read.blob == blob.stdout.strip()


def test_a_missing_prompt_says_where_it_was_looked_for(prompts):
    with pytest.raises(PromptAway, match=r"nothing\.md"):
        prompts.read("ask/nothing")


def test_braces_in_a_passage_or_question_stay(prompts):
    text = prompts.read("ask/question").fill(passages="a {question} b", question="c {passages} d")
    assert "a {question} b" in text
    assert text.endswith("c {passages} d")


def test_the_question_comes_last(prompts):
    system, user = assemble(prompts, "What now?", HITS, 10_000)
    assert (system.role, user.role) == ("system", "user")
    assert user.content.endswith("What now?")
    assert all(hit.text in user.content for hit in HITS)


def test_passages_keep_to_their_room(prompts):
    _, user = assemble(prompts, "What now?", HITS, 400)
    assert HITS[0].text in user.content
    assert HITS[-1].text not in user.content


def test_a_second_try_keeps_the_first_as_it_was(prompts):
    first = assemble(prompts, "What now?", HITS, 10_000)
    second = again(prompts, first, "A draft.", "“9 bar” is not stated there")
    assert second[:2] == first
    assert "9 bar" in second[-1].content
