"""The verifier's rules, one by one, on four small notes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.agent.reading.reader import read
from quorra.agent.reading.sentences import sources
from quorra.agent.verifiers.verify import Unbound
from tests.agent.passages import BINS, BOILER, CAR, HITS, LISBON, check, stands

PRESSURE = "What pressure does the boiler run at?"
REAR = "What pressure do the rear tyres of the van need?"
FILTER = "When was the boiler's filter changed?"
GLASS = "Can glass go in the paper bin?"


@pytest.mark.parametrize(
    ("question", "truth"),
    [
        (PRESSURE, "It runs at 1.5 bar when cold."),
        (PRESSURE, "When cold, the boiler should be at 1.5 bar."),
        (PRESSURE, "According to your notes, the boiler runs at 1,5 bar when cold [1]."),
        (REAR, "The rear tyres need 2.7 bar."),
        (REAR, "2.7 bar."),
        (FILTER, "Mira replaced the filter on 2026-05-12."),
        (GLASS, "No, glass must never go in the paper bin."),
        ("When do the paper bins go out?", "The paper bins go out at half past seven every other Thursday."),
        ("Who services the boiler?", "The boiler is serviced by Brightwell Heating."),
        ("Is breakfast included in Lisbon?", "No, breakfast isn't included."),
        ("Who lends whom the camera?", "Tom borrows the camera from Mira."),
    ],
)
def test_a_paraphrase_stands(question, truth):
    assert stands(question, truth)


@pytest.mark.parametrize(
    ("rule", "question", "lie"),
    [
        ("another number", PRESSURE, "The boiler runs at 88 bar when cold."),
        ("another entity's number", PRESSURE, "The boiler runs at 2.4 bar when cold."),
        ("the other one's number", REAR, "The rear tyres need 2.4 bar."),
        ("the other one's number, left to the question", REAR, "2.4 bar."),
        ("unit", PRESSURE, "The boiler runs at 1.5 psi when cold."),
        ("date", FILTER, "The filter was changed on 5 December 2026."),
        ("more exact than the source", "When is the van's inspection due?", "It is due on 12 March 2027."),
        ("invented name", "Who services the boiler?", "Hollis Gas services the boiler each May."),
        ("true, but of something else", FILTER, "Brightwell Heating services the boiler each May."),
        ("dropped negation", GLASS, "Put glass in the paper bin."),
        ("yes for no", GLASS, "Yes, put glass in the paper bin."),
        ("added negation", PRESSURE, "The boiler never runs at 1.5 bar when cold."),
        ("opposite", PRESSURE, "The boiler runs at 1.5 bar when hot."),
        ("modality", "What do visitors have to do?", "Visitors may sign the book."),
        ("dropped doubt", "Does the lock stick?", "The lock sticks."),
        ("turned round", "Who lends whom the camera?", "Tom lends Mira the camera."),
        ("invented clause", PRESSURE, "The boiler runs at 1.5 bar when cold, and the pump was replaced last week."),
        ("invented cause", PRESSURE, "The boiler runs at 1.5 bar because the filter was changed."),
        ("merged", "When do the paper bins go out?", "Paper and glass bins go out every second Thursday."),
        ("two numbers exchanged", REAR, "Its front tyres take 2.7 bar and the rear tyres 2.4 bar."),
        ("a word near in meaning", "Who services the boiler?", "Brightwell Heating inspects the boiler each May."),
        ("the end for the beginning", "When do we fly to Lisbon?", "We fly to Lisbon from 3 October 2026 on."),
        ("another restriction", GLASS, "Never put glass in the paper bin unless it is clean."),
        ("nothing", PRESSURE, "Well, here you are."),
    ],
)
def test_a_lie_falls(rule, question, lie):
    assert not stands(question, lie), rule


def test_a_joined_sentence_has_a_passage_for_each_part():
    found = check(
        "When do the paper bins go out and who services the boiler?",
        "Paper bins go out every second Thursday, and Brightwell Heating services the boiler.",
    )
    assert [HITS[one.source.hit].path for one in found] == ["household/bins.md", "household/boiler.md"]


def test_parts_of_one_sentence_are_judged_together():
    assert not stands("What does the van take?", "The front tyres take 2.7 bar and the rear tyres 2.4 bar.")


def test_a_pronoun_stands_for_the_sentence_before():
    question = "What are the pressure of the boiler and of the van's front tyres?"
    lie = check(question, "It takes 2.4 bar.", before="The boiler runs at 1.5 bar when cold.")
    assert isinstance(lie, Unbound)


def test_the_reason_names_what_is_wrong():
    assert "20 bar" in check(PRESSURE, "The boiler runs at 20 bar.").reason
    assert check(FILTER, "Brightwell Heating services the boiler each May.").beside


@pytest.mark.parametrize(
    "answer",
    [
        "Der Kessel läuft kalt mit 1,5 bar.",
        "La chaudière fonctionne à 1,5 bar à froid.",
        "La caldera no funciona a 1,5 bar.",
        "Kocioł pracuje przy ciśnieniu 2,4 bar.",
        "ボイラーは冷えているとき1.5 barです。",
        "Котёл не работает при 1,5 bar.",
    ],
)
def test_an_answer_in_another_language_never_stands(answer):
    assert not stands(PRESSURE, answer)


SENTENCES = [one.plain for one in sources(HITS)]
NUMBERED = [sentence for sentence in (*SENTENCES,) if any(character.isdigit() for character in sentence)]


@given(st.sampled_from(SENTENCES))
def test_a_verbatim_sentence_stands_for_a_question_in_its_own_words(sentence):
    assert stands(sentence.rstrip(".") + "?", sentence)


@given(st.sampled_from(NUMBERED), st.integers(0, 9999), st.data())
def test_a_sentence_with_another_number_never_stands(sentence, number, data):
    digits = [at for at, character in enumerate(sentence) if character.isdigit()]
    at = data.draw(st.sampled_from(digits))
    changed = sentence[:at] + str(number) + sentence[at + 1 :]
    text = f"{BOILER} {CAR} {BINS} {LISBON}"
    same = [one.value for one in read(changed).quantities] == [one.value for one in read(sentence).quantities]
    if changed not in text and not same:
        assert not stands(sentence.rstrip(".") + "?", changed)
