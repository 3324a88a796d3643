"""Laws of composed notes: what was asked for is what reads back, and setting a field is setting that field."""

import re
from datetime import date

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from quorra.vault import validate
from quorra.vault.reading import frontmatter, parse
from quorra.vault.writing import compose, serialize
from quorra.vault.writing.compose import Fields
from tests.properties.test_notes import TEXTS

DAY, LATER = date(2026, 11, 30), date(2026, 12, 24)
ODD = ["NO", "null", "~", "2024", "1.5", "0123", "2026-05-12", "- a", "a: b", "a #b", "#a", "'", '"', "[x]", "{a: b}",
       "[[x]]", "*a*", "a\nb", "a\r\nb", "é", "🜚", "---", "\0", "\u2028", "&x", "@y", "%z", "!t", "`c`", "a:", "a|b",
       "x.md", "<b>", "\ufeff", "a\\", "e\u0301"]  # fmt: skip
WORDS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LISTS = st.lists(WORDS, max_size=4).map(tuple)
FIELDS = st.builds(
    Fields, title=WORDS, summary=WORDS, type=WORDS, tags=LISTS, entities=LISTS, author=WORDS, source=WORDS
)
BODIES = TEXTS.filter(lambda text: not frontmatter.find(text) and not frontmatter.find(text.lstrip("\r\n")))


@given(FIELDS, BODIES)
@example(Fields(title="- [[a]] # b: 'c'", tags=("#x", "x", "y, z")), "# Own\r\n\r\ntext")
@settings(max_examples=600, deadline=None)
def test_a_composed_note_reads_back_as_it_was_asked_for(fields: Fields, body: str):
    asked = fields.clean()
    assume(asked.title)
    note = parse.note("x.md", compose.new("x.md", fields, body, DAY).raw)
    dates = {"created": "2026-11-30", "updated": "2026-11-30"}
    assert note.metadata == asked.metadata() | dates
    assert (note.title, note.date) == (asked.title, "2026-11-30")
    assert note.tags == asked.tags
    assert list(note.metadata) == [key for key in serialize.ORDER if key in note.metadata]
    kept = body.lstrip("\r\n")
    if asked.summary:
        below = iter(note.body.split())
        assert all(word in below for word in kept.split())
    else:
        assert note.body.removesuffix("\n").removesuffix("\r").endswith(kept.removesuffix("\n").removesuffix("\r"))
    found = validate.note(note, lambda link: "x.md")
    assert not [
        issue for issue in found if issue.code.startswith(("frontmatter", "tags", "date", "entities", "title-m"))
    ]


@given(FIELDS, FIELDS, BODIES)
@settings(max_examples=300, deadline=None)
def test_fields_are_set_one_by_one_and_tags_are_added(first: Fields, second: Fields, body: str):
    assume(first.clean().title)
    before = compose.new("x.md", first, body, DAY)
    after = compose.revised(before, Fields(title=second.title, tags=second.tags, source=second.source), None, LATER)
    wanted = Fields(title=second.title, tags=second.tags, source=second.source).clean().metadata()
    if "tags" in wanted:
        wanted["tags"] = list(dict.fromkeys([*before.metadata.get("tags", []), *wanted["tags"]]))
    if wanted.items() <= before.metadata.items():
        assert after.raw == before.raw
        return
    assert after.metadata == {**before.metadata, **wanted, "updated": "2026-12-24"}
    assert after.body == before.body


@given(st.text(max_size=200))
@example("İstanbul")
@example("ﬀ½ ﷺ")
@settings(max_examples=500, deadline=None)
def test_a_slug_is_a_name_and_its_own_slug(title: str):
    slug = compose.slug(title)
    assert compose.slug(slug) == slug
    assert not re.search(r"[\s/.\\'\0#\[\]|]|^-|-$|--", slug)
    assert len(slug.encode()) <= 120
    assert bool(slug) == any(sign.isalnum() for sign in title) or not title.isascii()
