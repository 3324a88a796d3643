"""Structure of a body: headings, blocks and links as a reader sees them, and where they stand."""

import time

import pytest

from quorra.vault.note import Note
from quorra.vault.reading import parse


def read(text: str) -> Note:
    return parse.note("case.md", text.encode())


def blocks(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(text).blocks]


def targets(text: str) -> list[tuple[str, str, str, str]]:
    return [(link.kind, link.target, link.anchor, link.alias) for link in read(text).links]


def test_every_kind_of_block():
    text = """# Top

A paragraph
of two lines.

- one
  - two
- [ ] three
- [x] four

> quoted
> on

> [!note] Title
> called out

```py
print()
```

    indented

| a | b |
|---|---|
| 1 | 2 |

<div>some <b>html</b></div>

$$
x^2
$$
"""
    assert blocks(text) == [
        ("paragraph", "A paragraph of two lines."),
        ("item", "one"),
        ("item", "two"),
        ("task", "three"),
        ("task", "four"),
        ("quote", "quoted on"),
        ("quote", "Title called out"),
        ("code", "print()"),
        ("code", "indented"),
        ("table", "a | b\n1 | 2"),
        ("html", "some  html"),
        ("math", "x^2"),
    ]


def test_lines_and_spans_count_the_whole_note():
    note = read("---\ntitle: é\n---\n\n# Héad\n\nÄ one\ntwo\n\n- ü\n- [[漢]] z\n")
    assert [(head.line, note.text[head.span.start : head.span.end]) for head in note.headings] == [(5, "# Héad")]
    assert [(block.lines, note.text[block.span.start : block.span.end]) for block in note.blocks] == [
        ((7, 8), "Ä one\ntwo"),
        ((10, 10), "- ü"),
        ((11, 11), "- [[漢]] z"),
    ]
    assert [(link.line, note.text[link.span.start : link.span.end]) for link in note.links] == [(11, "漢")]


def test_crlf_and_byte_order_mark():
    note = parse.note("case.md", b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n# H\r\n\r\na\r\nb [[x]]\r\n")
    assert (note.title, note.headings[0].line, note.blocks[0].lines) == ("T", 4, (6, 7))
    assert note.text[note.links[0].span.start : note.links[0].span.end] == "x"


def test_blocks_know_their_heading():
    note = read("above\n\n# A\n\nunder a\n\n## B\n\nunder b\n")
    assert [block.heading for block in note.blocks] == [-1, 0, 1]
    assert [(head.level, head.text) for head in note.headings] == [(1, "A"), (2, "B")]


def test_setext_headings_and_marks_in_headings():
    note = read("Top *one*\n===\n\nSub `two` [[a/three]]\n---\n")
    assert [(head.level, head.text) for head in note.headings] == [(1, "Top one"), (2, "Sub two three")]


def test_items_without_their_sublists_and_with_what_follows_them():
    text = "1. one\n\n   more\n   - sub\n\n   after\n2. two\n   ```\n   code\n   ```\n   rest\n"
    assert blocks(text) == [
        ("item", "one\nmore"),
        ("item", "sub"),
        ("item", "after"),
        ("item", "two"),
        ("code", "code"),
        ("item", "rest"),
    ]


def test_readers_see_names_not_targets():
    text = (
        "[[home/boiler]] [[home/boiler.md]] [[boiler#Annual service]] [[boiler#^b1]] [[#Faults]] [[x|the *heater*]] "
        "[text](secret.md) ![alt](pic.png) ![[pic.png]] ![[pic.png|300]] ![[boiler]] a<br>b <b>c</b> ^block-1"
    )
    assert blocks(text) == [
        ("paragraph", "boiler boiler boiler > Annual service boiler Faults the heater text alt   boiler a\nb c")
    ]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[a]]", ("wiki", "a", "", "")),
        ("[[ a / b |c]]", ("wiki", "a / b", "", "c")),
        ("[[a#H#I|x]]", ("wiki", "a", "#H#I", "x")),
        ("[[a#^b]]", ("wiki", "a", "#^b", "")),
        ("![[a.png|300x200]]", ("embed", "a.png", "", "300x200")),
        ("[t](a.md)", ("inline", "a.md", "", "t")),
        ("[t]( <a b.md> 'T')", ("inline", "a b.md", "", "t")),
        ("[t](a%20b.md#h%20i)", ("inline", "a b.md", "#h i", "t")),
        ('[t](a(1).md "x](y")', ("inline", "a(1).md", "", "t")),
        ("[t](a\\_b.md)", ("inline", "a_b.md", "", "t")),
        ("[t](a&amp;b.md)", ("inline", "a&b.md", "", "t")),
        ("[](a.md 'T')", ("inline", "a.md", "", "")),
        ("[a `](x.md)` b](c.md 'T')", ("inline", "c.md", "", "a ](x.md) b")),
        ("![alt](a.png)", ("image", "a.png", "", "alt")),
        ("<https://example.org/a#b>", ("autolink", "https://example.org/a#b", "", "https://example.org/a#b")),
        ("<img src='a b.png'>", ("html", "a b.png", "", "")),
        ("<a class=x href=a.md#s>t</a>", ("html", "a.md", "#s", "")),
        ("[t][v]\n\n[V]: <a b.md> 'T'", ("reference", "a b.md", "", "t")),
        ("[v]\n\n[v]:\n  a.md#x", ("reference", "a.md", "#x", "v")),
        ("![pic][v]\n\n[v]: a.png", ("reference", "a.png", "", "pic")),
        ("> [t](a.md)", ("inline", "a.md", "", "t")),
        ("# [t](a.md)", ("inline", "a.md", "", "t")),
        ("| [[a\\|b]] |\n|---|\n", ("wiki", "a", "", "b")),
        ("text[^1]\n\n[^1]: see [t](a.md)", ("inline", "a.md", "", "t")),
    ],
)
def test_one_link(text: str, link: tuple[str, str, str, str]):
    assert targets(text) == [link]
    for lead in ("", "é漢 ", "---\ntitle: ü\n---\n"):
        if text[0] in ">#|" and lead == "é漢 ":
            continue
        note = read(lead + text)
        (found,) = note.links
        written = note.text[found.span.start : found.span.end]
        assert written == found.target or any(sign in written for sign in "%\\&")
        assert note.text.count("\n", 0, note.text.index(found.text)) + 1 == found.line


@pytest.mark.parametrize(
    "text",
    [
        "`[[a]]`",
        "```\n[[a]] [b](c.md)\n```",
        "    [[a]]",
        "``a ` [[b]] ``",
        "\\[\\[a\\]\\]",
        "<!-- <a href='x'> -->",
        "$[[a]]$",
    ],
)
def test_code_math_and_comments_hold_no_links(text: str):
    assert targets(text) == []


def test_links_come_in_order_of_appearance():
    text = "[![s](t.png)](b.md) [[w]] <img src='h.png'> [r][1] ![[e]]\n\n[1]: ref.md\n"
    assert [link.target for link in read(text).links] == ["t.png", "b.md", "w", "h.png", "ref.md", "e"]


def test_references_share_the_place_of_their_definition():
    note = read("[a][v] and [b][v]\n\n[v]: x/y.md\n")
    places = {(link.span.start, link.span.end) for link in note.links}
    assert [note.text[start:end] for start, end in places] == ["x/y.md"]
    assert [link.line for link in note.links] == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "![" * 20_000 + "a" + "](b)" * 20_000,
        "[[" * 50_000,
        "<!-- " * 50_000,
        '<a href="' * 50_000,
        "> " * 20_000 + "a",
        "- " * 20_000 + "a",
        "`a ``b " * 30_000,
        "漢字[[京都]] " * 10_000,
    ],
    ids=["images", "brackets", "comments", "attributes", "quotes", "lists", "ticks", "kanji"],
)
def test_hostile_text_is_read_in_time(text: str):
    start = time.perf_counter()
    note = read(text)
    assert time.perf_counter() - start < 5
    assert sum(len(link.text) for link in note.links) < 100_000_000
    assert note.text == text


def test_titles():
    assert read("# A\n").title == "A"
    assert read("---\ntitle: B\n---\n# A\n").title == "B"
    assert read("---\ntitle: 2024\n---\n").title == "2024"
    assert read("words only\n").title == ""


def test_bytes_that_are_not_utf8_stay_readable():
    note = parse.note("case.md", b"# Caf\xe9 \x80\n\nna\xefve caf\xc3\xa9\n")
    assert note.title == "Café €"
    assert note.blocks[0].text == "naïve café"
    assert [issue.code for issue in note.issues] == ["not-utf8"]
    wide = parse.note("case.md", "# Hé\n\nx\n".encode("utf-16"))
    assert (wide.title, wide.blocks[0].text) == ("Hé", "x")
