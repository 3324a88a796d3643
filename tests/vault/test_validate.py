"""Each code of the validator, and what must not set it off."""

import pytest

from quorra.vault import links, validate
from quorra.vault.reading import parse

GOOD = """---
title: The boiler
created: 2024-10-03
updated: 2026-05-12
tags: [home]
entities: [home/boiler]
---

# The boiler

This note holds what one needs to know about the boiler.

Filled on 12 May 2026, see [[boiler]].
"""


def codes(text: str) -> list[tuple[str, str, int]]:
    note = parse.note("x.md", text.encode())
    names = links.Names(["home/boiler.md", "x.md"])
    found = validate.note(note, lambda link: links.resolve(link, "x.md", names))
    return [(issue.severity, issue.code, issue.line) for issue in found]


def test_a_good_note_has_no_issue():
    assert codes(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "issue"),
    [
        ("title: The boiler\n", "title: a: b\n", ("error", "frontmatter-invalid", 2)),
        ("[[boiler]]", "[[boilr]]", ("warning", "dangling-link", 13)),
        ("entities: [home/boiler]", "entities: [home/boilr]", ("warning", "dangling-link", 6)),
        ("entities: [home/boiler]", "entities: home/boiler", ("warning", "entities-format", 6)),
        ("2026-05-12", "12.5.2026", ("warning", "date-format", 4)),
        ("tags: [home]", "tags: home", ("info", "tags-format", 5)),
        ("on 12 May 2026", "yesterday", ("warning", "relative-date", 13)),
        ("on 12 May 2026", "two weeks ago", ("warning", "relative-date", 13)),
        ("on 12 May 2026", "at\nthe start of next\nweek", ("warning", "relative-date", 14)),
        ("on 12 May 2026", "last Tuesday", ("warning", "relative-date", 13)),
        ("on 12 May 2026", "this May", ("warning", "relative-date", 13)),
        ("This note holds what one needs to know about the boiler.", "- a list", ("info", "no-summary-lead", 11)),
        ("This note holds what one needs to know about the boiler.", "Boiler.", ("info", "no-summary-lead", 11)),
        ("Filled", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\nFilled", ("error", "conflict-markers", 13)),
    ],
)
def test_one_issue(old: str, new: str, issue: tuple[str, str, int]):
    assert old in GOOD
    assert issue in codes(GOOD.replace(old, new))


def test_a_note_without_title():
    assert ("warning", "title-missing", 1) in codes("Just some words stand in this note.\n")
    assert codes("") == []


@pytest.mark.parametrize(
    "text",
    [
        "The bins go out every Thursday and this may change.",
        "Say `git log --since 'the last week'`, `last week` or “yesterday”.",
        "It lasts two weeks, and in the last resort a year.",
        "```\nyesterday\n```",
        "See [[last week]].",
        "It was built 2000 years ago.",
    ],
)
def test_what_is_no_relative_date(text: str):
    assert not [code for _, code, _ in codes(f"# T\n\n{text}\n") if code == "relative-date"]


def test_conflict_markers_at_the_top_and_in_code():
    marks = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    assert ("error", "conflict-markers", 1) in codes(marks)
    assert not [code for _, code, _ in codes(f"```\n{marks}```\n") if code == "conflict-markers"]


def test_a_name_that_is_not_utf8():
    note = parse.note("caf\udce9.md", GOOD.encode())
    assert [issue.code for issue in validate.note(note, lambda link: "boiler.md")] == ["name-not-utf8"]
