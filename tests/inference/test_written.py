"""Calls that stand in a model's text are read whatever their form, and what can't be read can be told of."""

import pytest

from quorra.inference.chat.written import read


def calls(*spans: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in read(spans)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"name": "a", "arguments": {"x": 1}}', [("a", '{"x": 1}')]),
        ('\n{"name": "a", "parameters": {"x": "é"}}\n', [("a", '{"x": "é"}')]),
        ('{"name": "a"}', [("a", "{}")]),
        ('{"name": "a", "arguments": "{\\"x\\": 1}"}', [("a", '{"x": 1}')]),
        ('{"type": "function", "function": {"name": "a", "arguments": "{}"}}', [("a", "{}")]),
        ('[{"name": "a"}, {"name": "b", "arguments": {}}]', [("a", "{}"), ("b", "{}")]),
        ('{"name": "a"}\n{"name": "b"}', [("a", "{}"), ("b", "{}")]),
        ('{"name": "a"}, {"name": "b"}', [("a", "{}"), ("b", "{}")]),
        ('{"name": "a"}}', [("a", "{}")]),
        ('{"name": "a"}\n</tool_', [("a", "{}")]),
        ('a[ARGS]{"x": 1}', [("a", '{"x": 1}')]),
        ("a[CALL_ID]7f[ARGS]{}", [("a", "{}")]),
        ("<function=a>\n<parameter=x>\n1\n</parameter>\n</function>", [("a", '{"x": "1"}')]),
        ("", []),
        ("  \n", []),
    ],
)
def test_calls_are_read_in_every_form(text: str, expected: list[tuple[str, str]]) -> None:
    assert calls(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('{"name": "a", "arguments": {"x":', "a", '{"x":'),
        ('{"name": "a", "arguments": {x: 1}}', "a", "{x: 1}}"),
        ('{"name": "a", "arguments": [1]}', "a", "[1]"),
        ('{"name": "a"', "a", '{"name": "a"'),
        ("read the note, please", "", "read the note, please"),
        ("7", "", "7"),
        ('{"tool": "a"}', "", '{"tool": "a"}'),
        ("[" * 20_000, "", "[" * 20_000),
    ],
)
def test_what_can_not_be_read_is_a_call_that_can_be_told_of(text: str, name: str, arguments: str) -> None:
    assert calls(text) == [(name, arguments)]


def test_a_readable_call_before_a_broken_one_stands() -> None:
    assert calls('{"name": "a"}\n{"name": "b", "arguments": {') == [("a", "{}"), ("b", "{")]
    assert calls('{"name": "a"}', "what?") == [("a", "{}"), ("", "what?")]
