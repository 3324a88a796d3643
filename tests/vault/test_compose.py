"""Composing notes: how a new one looks, how one that is there is changed, and how a title becomes a name."""

from datetime import date

import pytest

from quorra.vault.reading import parse
from quorra.vault.writing import compose
from quorra.vault.writing.compose import Fields, Uncomposed
from quorra.vault.writing.serialize import Unwritable

DAY = date(2026, 11, 30)
ODD = (
    "\ufeff---\r\n# how the house is told of\r\ntags:   [home]  # one\r\n'title': 'Ol''d'\r\nx: |\r\n  kept\r\n"
    "updated: 2024-01-01 # by hand\r\n---\r\n\r\n# Old\r\n\r\nText, as it was.\r\n"
)


def test_a_new_note_has_the_form_that_the_handbook_tells():
    fields = Fields(
        title="The boiler", summary="This note holds what\nwas repaired.", tags=("home", "#heating", "home"),
        entities=("[[household/emergency]]", "household/boiler.md"), author="Mira", source="The plumber's bill",
    )  # fmt: skip
    assert compose.new("x.md", fields, "\n## Repairs\n\nThe pump was replaced.", DAY).text == (
        "---\n"
        "title: The boiler\n"
        "created: 2026-11-30\n"
        "updated: 2026-11-30\n"
        "tags: [home, heating]\n"
        "entities: [household/emergency, household/boiler]\n"
        "author: Mira\n"
        "source: The plumber's bill\n"
        "---\n\n"
        "# The boiler\n\n"
        "This note holds what was repaired.\n\n"
        "## Repairs\n\nThe pump was replaced.\n"
    )


@pytest.mark.parametrize(
    ("title", "body", "below"),
    [
        ("A", "", "# A\n\nLead.\n"),
        ("A", "# Own\n\nText.\n", "# Own\n\nLead.\n\nText.\n"),
        ("A", "Own\n===\nText.\n", "Own\n===\n\nLead.\n\nText.\n"),
        ("A", "## Part\n", "# A\n\nLead.\n\n## Part\n"),
        ("See [[b]]", "Text.", "Lead.\n\nText.\n"),
        ("A", "Text.\r\n", "# A\r\n\r\nLead.\r\n\r\nText.\r\n"),
    ],
)
def test_the_summary_is_the_lead_below_one_heading(title: str, body: str, below: str):
    assert compose.new("x.md", Fields(title=title, summary="Lead."), body, DAY).body.lstrip("\r\n") == below


def test_a_change_of_fields_touches_nothing_else():
    before = parse.note("x.md", ODD.encode())
    after = compose.revised(before, Fields(tags=("home", "water"), source="A letter"), None, DAY)
    wanted = ODD.replace("[home]", "[home, water]").replace("2024-01-01", "2026-11-30")
    assert after.raw.decode() == wanted.replace("by hand\r\n", "by hand\r\nsource: A letter\r\n")


def test_a_new_text_keeps_the_front_matter_and_the_line_ends():
    before = parse.note("x.md", ODD.encode())
    after = compose.revised(before, Fields(summary="The lead."), "Words.\n", DAY)
    head = ODD[: ODD.index("# Old")].replace("2024-01-01", "2026-11-30")
    assert after.raw.decode() == f"{head}# Ol'd\r\n\r\nThe lead.\r\n\r\nWords.\r\n"


@pytest.mark.parametrize(
    ("had", "more", "has"),
    [
        ("tags: [a, b]", Fields(tags=("c", "a")), "tags: [a, b, c]"),
        ("tags: a, b", Fields(tags=("c",)), "tags: [a, b, c]"),
        ("tags: a, b", Fields(tags=("b",)), "tags: a, b"),
        ("tags:", Fields(tags=("#c",)), "tags: [c]"),
        ('entities: ["[[x/a]]"]', Fields(entities=("x/a", "b.md")), 'entities: ["[[x/a]]", b]'),
    ],
)
def test_tags_and_entities_come_behind_those_that_are_there(had: str, more: Fields, has: str):
    note = parse.note("x.md", f"---\n{had}\n---\nText.\n".encode())
    assert compose.revised(note, more, None, DAY).text.splitlines()[1] == has


def test_what_says_the_same_changes_nothing():
    note = compose.new("x.md", Fields(title="A", tags=("b",)), "Text.\n", DAY)
    assert compose.revised(note, Fields(tags=("b",)), None, date(2027, 1, 1)).raw == note.raw
    odd = parse.note("x.md", ODD.encode())
    assert compose.revised(odd, Fields(title="Ol'd", tags=("home",)), None, DAY).raw == odd.raw
    assert compose.revised(note, Fields(), "# A\n\nText.\n", date(2027, 1, 1)).raw == note.raw


@pytest.mark.parametrize(
    ("fields", "body", "why"),
    [
        (Fields(summary="x"), "y", "no title"),
        (Fields(title=" \n"), "y", "no title"),
        (Fields(title="a\udc80"), "y", "no valid Unicode"),
        (Fields(title="a", tags=("\ud800",)), "y", "no valid Unicode"),
        (Fields(title="a"), "\udc80", "no valid Unicode"),
    ],
)
def test_what_makes_no_note_is_said(fields: Fields, body: str, why: str):
    with pytest.raises(Uncomposed, match=why) as told:
        compose.new("x.md", fields, body, DAY)
    assert told.value.next


def test_a_summary_alone_changes_no_text():
    with pytest.raises(Uncomposed, match="part of the text"):
        compose.revised(parse.note("x.md", b"# A\n"), Fields(summary="x"), None, DAY)


def test_front_matter_that_cannot_be_changed_safely_is_left():
    with pytest.raises(Unwritable):
        compose.revised(parse.note("x.md", b"---\na: b: c\n---\n"), Fields(title="x"), None, DAY)


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"a\nb\xff", "line 2 of the text is not UTF-8"), (b"\xef\xbb\xbf---\na: b\n---\nx", "begins with frontmatter")],
)
def test_a_text_that_brings_its_own_is_refused(raw: bytes, why: str):
    with pytest.raises(Uncomposed, match=why):
        compose.text("x.md", raw)


def test_a_rule_at_the_top_is_no_front_matter():
    assert compose.text("x.md", b"\xef\xbb\xbf---\nwords") == "---\nwords"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("The Boiler's Service", "the-boilers-service"),
        ("The Boiler\u2019s Service", "the-boilers-service"),
        ("  Grüße aus Köln!  ", "grusse-aus-koln"),
        ("Crème brûlée, à la Zoë", "creme-brulee-a-la-zoe"),
        ("e\u0301tude", "etude"),
        ("С. Йод", "с-йод"),
        ("が日本", "が日本"),
        ("हिन्दी नोट", "हिन्दी-नोट"),
        ("2026/11/30: a_b.md", "2026-11-30-a-b-md"),
        ("../../etc/passwd", "etc-passwd"),
        ("NO", "no"),
        ("C++ & C#", "c-c"),
        ("🜚 --- !", ""),
        ("word " * 40, "-".join(["word"] * 24)),
        ("漢" * 60, "漢" * 40),
    ],
)
def test_a_title_becomes_a_kebab_case_name(title: str, slug: str):
    assert compose.slug(title) == slug
