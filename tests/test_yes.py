"""What a person's plain yes and no look like, and what only looks like them."""

import pytest

from quorra.yes import answer


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "Yes!",
        " ja, bitte. ",
        "👍🏽",
        "✔️",
        "oui, vas-y",
        "d’accord",
        "okay, do it…",
        "はい。",
        "approved",
        "yes\n",
    ],
)
def test_a_plain_yes(text: str):
    assert answer(text) == "yes"


@pytest.mark.parametrize("text", ["no", "No, thanks!", "don't", "👎", "❎", "nein danke", "never mind", "leave it"])
def test_a_plain_no(text: str):
    assert answer(text) == "no"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yes?",
            "はい？",
            "да؟",
            "ok ⁇",
            "> yes",
            "＞ yes",
            "'yes'",
            "“yes”",
            "「はい」",
            "(yes)",
            "- yes",
            "| yes |",
        ),
        *("~~yes~~", "y̶e̶s̶", "!yes", "¬yes", "yes\nno", "yes no", "👍👎", "yеs", "y\u200bes", "yes\u2060", "", "  "),
    ],
)
def test_what_holds_more_answers_nothing(text: str):
    assert answer(text) is None
