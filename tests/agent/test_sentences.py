"""Passages are cut into sentences that are still the note's own characters."""

from hypothesis import given
from hypothesis import strategies as st

from quorra.agent.reading.sentences import plain, sources, spans, split
from tests.agent.passages import hit

TEXT = st.text(alphabet=st.sampled_from("abc AB12.!?\n-#|`*[]() :;,°"), max_size=200)


@given(TEXT)
def test_every_visible_character_is_in_some_sentence_in_order(text):
    at = 0
    for start, end in spans(text):
        assert at <= start < end <= len(text)
        assert set(text[at:start]) <= set(" \n-*#|>0123456789.)[]xX")
        at = end


@given(TEXT)
def test_a_source_is_verbatim_at_its_lines(text):
    for one in sources([hit("a.md", "A", text)]):
        assert one.text in text
        first, last = one.lines
        assert one.text in "\n".join(text.split("\n")[first - 1 : last])


def test_abbreviations_units_and_code_end_no_sentence():
    text = "Dr. Halm comes e.g. on Monday. Not below 8 °C. The pump runs. Run `quorra init . --empty` here."
    assert split(text) == [
        "Dr. Halm comes e.g. on Monday.",
        "Not below 8 °C.",
        "The pump runs.",
        "Run `quorra init . --empty` here.",
    ]


def test_list_items_headings_and_rows_stand_alone():
    text = "# Head\nText\n- one\n- two\n| a | b |\n| 1 | 2 |"
    assert split(text) == ["# Head", "Text", "one", "two", "| a | b |", "| 1 | 2 |"]


def test_a_reader_sees_no_markup():
    assert plain("- **The** [[household/car|van]] has `AX` [here](x.md).") == "The van has AX here."


def test_a_pronoun_reaches_back_to_what_it_stands_for():
    first, second, third = sources([hit("a.md", "A", "The pump is new. It is loud. It needs oil.")])
    assert (first.anaphoric, second.before, third.before) == (False, "The pump is new.", "The pump is new. It is loud.")


def test_a_link_is_read_as_it_is_seen():
    assert (
        plain("- Pepper sleeps on the [[boiler/overview]] by the [[car|van]].")
        == "Pepper sleeps on the boiler by the van."
    )
