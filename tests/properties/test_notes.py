"""Laws of notes: any bytes parse, an unchanged note is its own bytes, spans point at what they say."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from quorra.vault import links, validate
from quorra.vault.reading import frontmatter, parse
from quorra.vault.writing import serialize

PIECES = st.sampled_from(
    [
        "---\n", "---", "\n", "\r\n", "\r", "\ufeff", "# ", "- ", "- [ ] ", "> ", "    ", "\t", "```\n", "~~~", "`",
        "|", "|-|\n",
        "[[", "]]", "![[", "[", "](", ")", "![", "<", ">", "<a href='x'>", "<!--", "-->", "$$", "$", "*", "^a", "[v]: ",
        "[v]", "[^1]", "[^1]: ", "\\", "%20", "#", "é", "漢", "🜚", "e\u0301", "title: ", "tags: [", "]\n",
        "entities: [a]\n",
        "a: &x [*x]\n", "x: '[[it''s]]'\n", "{{date}}", "\0", "word ", "a.md", "<<<<<<< \n", "&amp;", "\u2028", "\x85",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from(
        [
            "yes",
            "0123",
            "1e3",
            "2024-05-01",
            "- a",
            "a: b",
            "a #b",
            "#a",
            "~",
            "null",
            "[x",
            "@y",
            "---",
            "12:30",
            "-inf",
        ]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text("abc é:#", min_size=1, max_size=5), part, max_size=3)
    ),
    max_leaves=6,
)


@given(st.binary(max_size=300) | TEXTS.map(str.encode))
@example(b"\xff\xfe\x00")
@example(b"---\n\xef\xbb\xbf---\n")
@settings(max_examples=600, deadline=None)
def test_any_bytes_are_a_note(raw: bytes):
    note = parse.note("any.md", raw)
    assert serialize.note(note) == raw
    assert note.text.endswith(note.body)
    json.dumps(dict(note.metadata), allow_nan=False).encode()
    names = links.Names(["a.md", "b/a.md", "any.md"])
    validate.note(note, lambda link: links.resolve(link, "any.md", names))


@given(TEXTS)
@settings(max_examples=600, deadline=None)
def test_spans_point_at_what_they_say(text: str):
    note = parse.note("any.md", text.encode())
    last = len(note.text)
    for place in (*note.headings, *note.blocks, *note.links):
        assert 0 <= place.span.start <= place.span.end <= last
    for block in note.blocks:
        first = note.text.count("\n", 0, block.span.start) + 1
        assert block.lines == (first, first + note.text.count("\n", block.span.start, block.span.end))
        assert -1 <= block.heading < len(note.headings)
    for link in note.links:
        written = note.text[link.span.start : link.span.end]
        assert "\n" not in written or link.kind in ("frontmatter", "entity", "html", "wiki", "embed")
        if link.kind in ("wiki", "embed"):
            assert written == link.target
            assert written in link.text


@given(
    st.dictionaries(st.text("abcé 1:#-", min_size=1, max_size=6), VALUES, max_size=5), st.text("abc\n#- ", max_size=20)
)
@settings(max_examples=400, deadline=None)
def test_what_is_assembled_reads_back(metadata: dict, body: str):
    note = parse.note("any.md", serialize.assemble(metadata, body))
    assert not [issue for issue in note.issues if issue.severity == "error"]
    assert note.metadata == metadata
    assert note.body.strip("\n") == body.strip("\n")


@given(TEXTS, st.sampled_from(["title", "tags", "new key", "x"]), SCALARS)
@example("?", "title", None)
@settings(max_examples=400, deadline=None)
def test_setting_a_key_changes_that_key_alone(text: str, key: str, value: object):
    note = parse.note("any.md", ("---\n" + text + "\n---\nbody").encode())
    try:
        edited = parse.note("any.md", serialize.with_field(note, key, value))
    except serialize.Unwritable:
        return
    assert edited.metadata == {**note.metadata, key: value}
    assert edited.body == note.body


FIELDS = st.lists(
    st.sampled_from(
        ["a: 1", "a:  [x, 'y'] # why", "a:\n- x\n-   y", "a: |\n  t", "b: é # ü", "# alone", "", "'c' : {d: e}",
         "f: >-\n  g\n  h", '"i": "j\\n"', "k: [[l]]", "when: 12:30", "m:\t2024-01-01   "]
    ),
    max_size=6, unique=True,
)  # fmt: skip


@given(FIELDS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]), SCALARS)
@settings(max_examples=400, deadline=None)
def test_setting_a_key_keeps_every_byte_outside_its_value(lines: list[str], end: str, mark: str, value: object):
    text = ("---\n" + "".join(line + "\n" for line in lines) + "---\n\nbody \tx\n\nno end").replace("\n", end)
    note = parse.note("any.md", (mark + text).encode())
    try:
        edited = serialize.with_field(note, "a", value).decode()
    except serialize.Unwritable:
        return
    old = next((line for line in lines if line.startswith("a:")), None)
    if old is None:
        before, after = text.rsplit("---", 1)
        after = f"---{after}"
    else:
        before, after = text.split(old.replace("\n", end), 1)
        after = old[old.index(" #") :] + after if "#" in old else after
    assert edited.startswith(mark + before)
    assert edited.endswith(after)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_a_block_is_found_as_its_lines_say(text: str):
    found = frontmatter.find(text)
    if found:
        start, end, body = found
        assert text[:start].rstrip() == "---"
        assert text[end:body].rstrip() == "---"
        assert text[end - 1] == "\n"
