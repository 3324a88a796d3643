"""Frontmatter by the cases of public bug reports, and what else YAML can do to a note."""

import base64
import json
import time
from typing import Any

import pytest

from quorra.vault.note import Note
from quorra.vault.reading import parse
from quorra.vault.writing import serialize
from tests.conftest import cases


def raw(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["input_b64"]) if "input_b64" in case else case["input"].encode()


def codes(note: Note, severity: str) -> list[str]:
    return [issue.code for issue in note.issues if issue.severity == severity]


def status(note: Note) -> str:
    if codes(note, "error"):
        return "invalid"
    return "ok-with-warning" if codes(note, "warning") else "ok"


def block(text: str) -> Note:
    return parse.note("case.md", f"---\n{text}\n---\nbody words\n".encode())


@pytest.mark.parametrize("case", cases("frontmatter"))
def test_case(case: dict[str, Any], tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, expect = raw(case), case["expect"]
    start = time.perf_counter()
    note = parse.note("case.md", content)
    assert time.perf_counter() - start < expect.get("max_seconds", 5)
    assert serialize.note(note) == content
    wanted = expect.get("status_any", [expect.get("status", "ok")])
    assert status(note) in wanted
    if status(note) == "invalid":
        assert all("frontmatter" in code for code in codes(note, "error"))
    if "body" in expect:
        assert note.body == expect["body"]
    _values(note, expect)
    _extras(note, expect, tmp_path)


def _values(note: Note, expect: dict[str, Any]) -> None:
    written = json.loads(json.dumps(dict(note.metadata)))
    assert len(json.dumps(written)) < expect.get("max_json_bytes", 1_000_000)
    for key, value in expect.get("json", {}).items():
        assert written[key] == value
    if expect.get("json") == {}:
        assert written == {}
    for key, values in expect.get("json_any", {}).items():
        assert written[key] in values
    for key, values in expect.get("never", {}).items():
        assert written[key] not in values
        assert str(written[key]) not in map(str, values)
    for key, text in expect.get("text_kept", {}).items():
        assert written[key] == text
    for key in expect.get("json_keys", []):
        assert key in written


def _extras(note: Note, expect: dict[str, Any], folder) -> None:
    if "tags" in expect:
        assert list(note.tags) == expect["tags"]
    if "links" in expect:
        assert [link.target for link in note.links] == expect["links"]
    if "title_any" in expect:
        assert note.title in [title for title in expect["title_any"] if not title.startswith("(")]
    if "problem" in expect:
        words = expect["problem"].removesuffix("-markers")
        assert any(words in code for code in codes(note, "error"))
    if expect.get("note_kept") and expect.get("body"):
        seen = " ".join(item.text for item in note.blocks)
        assert expect["body"].strip() in seen
    if "no_side_effect" in expect:
        assert not (folder / expect["no_side_effect"]).exists()
    if "edit" in expect:
        ((key, value),) = expect["edit"]["set"].items()
        assert serialize.with_field(note, key, value) == expect["result"].encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-7", -7),
        ("+7", "+7"),
        ("1.5", 1.5),
        ("1.50", "1.50"),
        ("0x1f", "0x1f"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("-inf", "-inf"),
        (".nan", ".nan"),
        ("1e400", "1e400"),
        ("190:20:30", "190:20:30"),
        ("9007199254740993", "9007199254740993"),
        ("９", "９"),
        ("~", None),
        ("TRUE", True),
        ("off", "off"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("2024-05-01", "2024-05-01"),
        ("=", "="),
        ("<<", "<<"),
        ("|\n  a\n  b", "a\nb\n"),
        ("[1, [2, {a: b}]]", [1, [2, {"a": "b"}]]),
    ],
)
def test_scalars_are_read_as_they_are_written(text: str, value: Any):
    note = block(f"x: {text}")
    assert note.metadata["x"] == value
    assert type(note.metadata["x"]) is type(value)
    assert not codes(note, "error")


@pytest.mark.parametrize(
    "text",
    [
        "x: " + "[" * 3000,
        "x: " + "[" * 300_000,
        "\n".join(" " * depth + "a:" for depth in range(2000)),
        "x: &a [*a]",
        "x: " + "[" * 150 + "]" * 150,
        "x: &a {y: *a}",
        "x: &a [1]\ny: [" + ",".join(["*a"] * 30_000) + "]",
        "x: *missing",
        "a: &a " + "word " * 20_000 + "\nb: [" + ",".join(["*a"] * 1000) + "]",
        "? [a]\n: b",
        "x: !thing 1",
        "a scalar",
        "x: \x07",
        "a: 1\n...\nb: 2",
    ],
)
def test_what_cannot_be_read_is_reported_and_kept(text: str):
    start = time.perf_counter()
    note = block(text)
    assert time.perf_counter() - start < 1
    assert note.metadata == {}
    assert codes(note, "error") == ["frontmatter-invalid"]
    assert note.body == "body words\n"
    kept = note.blocks[0]
    assert kept.text == text.rstrip()
    assert note.text[kept.span.start : kept.span.end] == kept.text
    assert kept.lines[0] == 2


def test_long_numbers_stay_text():
    note = block("x: " + "9" * 4400)
    assert note.metadata["x"] == "9" * 4400


def test_an_issue_names_its_line():
    assert block("a: 1\nb: c: d").issues[0].line == 3
    assert block("a: 1\nb: 2\na: 3").issues[0].line == 4
    assert block("a: 1\nb: [[mira]]").issues[0].line == 3


def test_links_stay_findable_where_the_block_cannot_be_read():
    note = block("created: {{date}}\npeople: [[mira]], [[tom|Tom]]")
    assert [(link.target, link.alias, link.line) for link in note.links] == [("mira", "", 3), ("tom", "Tom", 3)]
    assert [note.text[link.span.start : link.span.end] for link in note.links] == ["mira", "tom"]


def test_links_in_every_style_of_scalar():
    first = "a: '[[it''s]]'\nb: \"see [[caf\\u00e9#S|x]]\"\n"
    text = first + "c:\n  - [[one]]\n  - '[[two]]'\nd: |\n  first [[three]]\n  [[four]]"
    note = block(text)
    assert [link.target for link in note.links] == ["it's", "café", "one", "two", "three", "four"]
    spans = [note.text[link.span.start : link.span.end] for link in note.links]
    assert spans == ["it''s", "caf\\u00e9", "one", "two", "three", "four"]
    assert [link.line for link in note.links] == [2, 3, 5, 6, 8, 9]
    assert note.metadata["c"] == ["[[one]]", "[[two]]"]


def test_nested_lists_that_are_no_links_stay_lists():
    assert block("m: [[1, 2], [3]]").metadata["m"] == [[1, 2], [3]]
    assert block("m: [ [x] ]").metadata["m"] == [["x"]]


def test_entities_are_links_with_their_places():
    note = block("entities: [people/mira, 'vehicles/van', \"x/y\", '[[z]]']")
    assert [(link.kind, link.target) for link in note.links] == [
        ("entity", "people/mira"),
        ("entity", "vehicles/van"),
        ("entity", "x/y"),
        ("frontmatter", "z"),
    ]
    assert all(note.text[link.span.start : link.span.end] == link.target for link in note.links)


@pytest.mark.parametrize(
    ("text", "tags"),
    [("tags: ['#home', home, Garden]", ("home", "Garden")), ("tags: {a: b}", ()), ("x: 1", ()), ("tags: true", ())],
)
def test_tags(text: str, tags: tuple[str, ...]):
    assert block(text).tags == tags


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("created: 2024-05-01", "2024-05-01"),
        ("created: 2024-05-01\ndate: 2024-06-02T10:00:00Z", "2024-06-02"),
        ("created: 2024-02-30", None),
        ("created: May 2024", None),
        ("date: 2023/05/20 (Sat) 02:21", "2023-05-20"),
        ("date: 1:56 pm on 8 May, 2023", "2023-05-08"),
        ("title: Sitting of September 3rd, 2025", "2025-09-03"),
        ("created: 12345-67-89", None),
        ("created: 0000-01-01", None),
        ("title: Meeting of 2024-03-04", "2024-03-04"),
    ],
)
def test_the_date_is_the_notes_own(text: str, date: str | None):
    assert block(text).date == date
