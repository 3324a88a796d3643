"""How notes are cut, and what of them is searched by words and by meaning."""

from pathlib import Path

import pytest

from quorra.index.intake import passages, terms
from quorra.index.intake.passages import Cut
from quorra.vault.reading import parse

NOTE = """---
title: The boiler
date: 2026-05-12
maker: Brightwell
---

# The boiler

It stands in the cellar and heats the whole house. See [the plan](plans/cellar-plan.md) and [[heating/Old stove]].

## Service

Brightwell Heating comes each May and looks at everything that moves.

- filter
- [ ] order a new filter before winter comes to the house again
- The pressure must stay near 1.5 bar, or the pump begins to complain loudly.
"""


def cut(text: str, path: str = "household/warm-thing.md") -> Cut:
    return passages.cut(parse.note(path, text.encode()))


def embedded(found: Cut) -> str:
    return "\n".join(each.words[: each.embeds] for each in found.passages)


def test_a_link_to_a_note_that_became_a_folder_is_embedded_as_before():
    assert embedded(cut("See [[boiler/overview#Service]].\n")) == embedded(cut("See [[boiler#Service]].\n"))


def test_cut_at_headings_with_title_trail_and_date():
    first, second = cut(NOTE).passages
    assert (first.heading, second.heading) == ("The boiler", "The boiler > Service")
    assert second.words.startswith("The boiler, 12 May 2026\nService\nBrightwell Heating comes each May")
    assert (first.lines, second.lines) == ((9, 9), (13, 17))


def test_terse_items_and_tasks_are_words_only():
    found = cut(NOTE)
    assert "order a new filter" not in embedded(found)
    assert "The pressure must stay near" in embedded(found)
    assert "order a new filter" in found.passages[1].words
    assert "order a new filter" in found.whole


def test_names_and_targets_are_not_embedded():
    found = cut(NOTE)
    assert "warm-thing" not in embedded(found)
    assert "cellar-plan" not in embedded(found)
    assert "Old stove" in embedded(found)
    assert "warm-thing" in found.passages[0].words
    assert "household" in found.whole
    assert "Brightwell" in found.passages[0].words


def test_a_title_is_never_the_file_name():
    assert embedded(cut("The cat eats at noon.")) == "The cat eats at noon."


@pytest.mark.parametrize("text", ["", "   \n\n", "---\ntitle: Bare\n---\n"])
def test_a_note_without_text_is_found_by_its_name(text: str):
    (only,) = cut(text).passages
    assert "warm-thing" in only.words


def test_a_heading_without_text_is_found():
    found = cut("# Plan\n\n## Later\n\n## Now\n\nPaint the fence.\n")
    assert [each.heading for each in found.passages] == ["Plan > Later", "Plan > Now"]


@pytest.mark.parametrize("mark", ["plain", "**bold** and [[links|shown]]"])
def test_a_long_line_is_cut_at_sentences_and_each_piece_is_the_source(mark: str):
    sentences = [f"Sentence {number} of this very long line has {mark} words in it." for number in range(60)]
    text = "# Long\n\n" + " ".join(sentences) + "\n"
    found = cut(text).passages
    assert len(found) >= 5
    assert all(each.text in text and each.lines == (3, 3) for each in found)
    assert all(passages.size(each.words[: each.embeds]) < 2 * passages.SIZE for each in found)
    for number in range(60):
        holding = [each for each in found if f"Sentence {number} of" in each.text]
        assert len(holding) == 1
        assert f"Sentence {number} of" in holding[0].words


def test_lines_of_a_long_paragraph_are_those_of_each_piece():
    text = "\n".join(f"Line {number} of a paragraph that goes on for quite some time here." for number in range(1, 41))
    for each in cut(text).passages:
        first, last = each.lines
        assert each.text == "\n".join(text.split("\n")[first - 1 : last])


def test_text_without_spaces_is_cut_too():
    found = cut("即适者生存" * 400).passages
    assert len(found) > 5
    assert "".join(each.text for each in found) == "即适者生存" * 400


@pytest.mark.parametrize("vault", ["garden", "kepano", "powershell-docs"])
def test_real_vaults_lose_no_block(vault: str, shared: Path):
    for file in (shared / "vaults" / vault).rglob("*.md"):
        note = parse.note(file.name, file.read_bytes())
        found = passages.cut(note)
        assert [each.part for each in found.passages] == list(range(len(found.passages)))
        words = " ".join(" ".join(each.words.split()) for each in found.passages)
        for block in note.blocks:
            assert " ".join(block.text.split())[:100] in words, file
        for each in found.passages:
            assert each.text in note.text
            assert 1 <= each.lines[0] <= each.lines[1] <= note.text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("C++ and C#", ["Cplusplus", "Csharp"]),
        ("AX-20 at 7:30", ["AX20", "7z30"]),
        ("50% @nasa current.md", ["50percent", "atnasa", "currentmd"]),
        ("don't", ["dont"]),
        ("Get-ChildItem", ["GetChildItem"]),
        ("inspectPlan", ["inspect", "Plan"]),
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("plain Words only.", []),
    ],
)
def test_added_words(text: str, added: list[str]):
    assert terms.extras(text) == added


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the boiler's pressure?", ("boiler", "pressure", "boilers")),
        ("boiler boiler Boiler", ("boiler",)),
        ("the", ("the",)),
        ("?!", ()),
        ("道理", ("道理",)),
        ("道", ("道",)),
    ],
)
def test_asked_words(question: str, words: tuple[str, ...]):
    assert terms.asked(question) == words


@pytest.mark.parametrize("wide", ["日", "\uf900", "한", "ก"])
def test_what_words_cut_into_pairs_counts_as_wide(wide: str):
    assert passages.size(wide) == 4
    assert terms.extras(wide * 2) == [wide, wide, wide * 2]


def test_what_a_reader_does_not_see_is_not_searched():
    found = cut("# Tent\n\nIt is white.%% A secret\n\n# Riddle\n\nof mine. %% It is dry.\n\n`%%` and `%%` are signs.\n")
    (only,) = found.passages
    assert only.words.startswith("Tent\nIt is white.")
    assert "It is dry." in embedded(found)
    assert "%% and %% are signs." in embedded(found)
    assert not any(word in found.whole for word in ("secret", "Riddle", "mine"))


def test_markers_of_a_merge_are_neither_words_nor_headings():
    text = "Title\n=======\n\n<<<<<<< HEAD\nIt is white.\n=======\nIt is orange.\n>>>>>>> origin/main\n"
    (only,) = cut(text).passages
    assert (only.heading, only.words[: only.embeds]) == ("Title", "Title\nIt is white.\nIt is orange.")
