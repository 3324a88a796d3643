"""The one list of tools: names, tiers, schemas, and who reaches which."""

import json
import re
from datetime import datetime

import pytest

from quorra.access.principals import AnonymousPrincipal, AuthenticatedPrincipal, ReservationPrincipal
from quorra.agent.calling.registry import Registry
from quorra.agent.calling.tool import Tool, Unreadable
from quorra.agent.scopes import SCOPES
from quorra.agent.tools.families import EVERY
from quorra.inference.packaged import SMOLLM2

OWNER, MIRA = AuthenticatedPrincipal("owner"), AuthenticatedPrincipal("member:mira")
GUEST = ReservationPrincipal("r1", "rental", datetime.max)
LOOKS = {
    "search_knowledge_base",
    "read_note",
    "note_links",
    "note_history",
    "think",
    "get_my_context",
    "search_history",
}
TIERS = dict.fromkeys(LOOKS | {"review_list", "review_show"}, 0)
TIERS |= {"document": 1, "organize": 1, "review_approve": 2, "review_decline": 2, "undo_change": 2}


def test_tiers_are_what_they_were_registered_as():
    assert {tool.name: tool.tier for tool in EVERY} == TIERS
    with pytest.raises(AttributeError):
        EVERY[0].tier = 2  # type: ignore[misc]


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_a_tool_is_offered_in_few_plain_words(tool: Tool):
    offered = tool.offer()
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", offered.name)
    assert 0 < len(offered.description) < 130
    assert tool.scopes
    assert tool.scopes <= set(SCOPES)
    assert offered.parameters["type"] == "object"
    fields = offered.parameters["properties"]
    assert set(fields) == set(tool.takes.__struct_encode_fields__)
    assert set(offered.parameters["required"]) <= set(fields)
    assert all("type" in field for field in fields.values())
    assert "$ref" not in json.dumps(offered.parameters)


def test_what_changes_anything_is_kept_from_who_may_not_write():
    table = Registry(EVERY)
    assert {tool.name for tool in table.for_scope(["general"], OWNER)} == set(TIERS)
    assert {tool.name for tool in table.for_scope(["general"], MIRA)} == LOOKS
    assert {tool.name for tool in table.for_scope(["general"], GUEST)} == LOOKS
    assert table.for_scope(["general"], AnonymousPrincipal()) == ()
    assert [tool.name for tool in EVERY if tool.tier and not tool.writes] == []


@pytest.mark.parametrize("scope", [None, [], ["finance"], ["GENERAL"], ["general "]])
def test_a_guessed_name_reaches_nothing_out_of_scope(scope: list[str] | None):
    table = Registry(EVERY)
    assert table.for_scope(scope, OWNER) == ()
    assert [name for name in TIERS if table.get_for_scope(name, scope, OWNER)] == []


def test_a_member_reaches_no_writing_tool_by_name():
    table = Registry(EVERY)
    assert {name for name in TIERS if table.get_for_scope(name, ["general"], MIRA)} == LOOKS
    for name in ("Document", "document ", "general.document", "../document", ""):
        assert table.get_for_scope(name, ["general"], OWNER) is None


def test_names_are_given_once():
    with pytest.raises(ValueError, match="names two"):
        Registry([*EVERY, EVERY[0]])


@pytest.mark.parametrize("given", ["[1]", "{", '"x"', "nul", "[" * 5000, '{"k": 3}'])
def test_arguments_that_are_none_are_told_with_the_schema(given: str):
    search = EVERY[0]
    with pytest.raises(Unreadable, match=r"was not run\. Its schema"):
        search.read(given)


def test_all_of_them_fit_a_small_prompt():
    from llama_cpp import Llama

    model = Llama(str(SMOLLM2.path()), vocab_only=True, verbose=False)
    told = [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
        }
        for one in (tool.offer() for tool in EVERY)
    ]
    tokens = len(model.tokenize(json.dumps(told, ensure_ascii=False).encode(), add_bos=False))
    model.close()
    assert tokens < 1500
