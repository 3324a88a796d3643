"""How notes are put in order."""

import numpy as np

from quorra.index import rank
from quorra.index.intake import terms
from quorra.index.rank import Field, Spot
from quorra.index.search import Question


def field(**notes: list[list[float]]) -> Field:
    places = [(path, part) for path, rows in notes.items() for part in range(len(rows))]
    rows = np.array([row for rows in notes.values() for row in rows], np.float32)
    return Field(places, list(range(len(places))), rows / np.linalg.norm(rows, axis=1, keepdims=True))


ASKED = np.array([1.0, 0.0, 0.0], np.float32)


def test_equal_scores_are_ordered_by_path_and_part():
    assert rank.ordered({"b": 1.0, "a": 1.0, "c": 2.0}) == ["c", "a", "b"]
    spots = [Spot("a", 2, 1.0, 5), Spot("a", 1, 1.0, 4)]
    assert rank.best(spots)["a"].part == 1


def test_a_note_scores_by_all_its_words_and_its_best_passage():
    whole = [Spot("a", 0, 4.0, 0), Spot("b", 0, 5.0, 1)]
    passages = [Spot("a", 1, 6.0, 2), Spot("a", 2, 3.0, 3), Spot("c", 0, 1.0, 4)]
    assert rank.by_words(whole, passages) == {"a": 10.0, "b": 5.0, "c": 1.0}


def test_a_full_pool_ends_at_the_first_that_is_left_out():
    scores = {f"{number:03}": float(number) for number in range(200)}
    scaled = rank.scaled(scores)
    assert len(scaled) == rank.POOL
    assert scaled["199"] == 1.0
    assert 0.0 < scaled["100"] < scaled["101"]
    assert rank.scaled({}) == {}
    assert rank.scaled({"a": 3.0}) == {"a": 1.0}


def test_both_sides_count():
    near = field(a=[[1, 0, 0]], b=[[0.9, 0.4, 0]], c=[[0, 0, 1]])
    fused = rank.fused({"b": 5.0, "c": 2.0}, near, ASKED)
    assert rank.ordered(fused)[0] == "b"
    assert rank.ordered(rank.fused({}, near, ASKED))[0] == "a"


def test_words_alone_are_ordered_where_nothing_has_a_vector():
    none = Field([], [], np.zeros((0, 3), np.float32))
    assert rank.ordered(rank.fused({"a": 1.0, "b": 2.0}, none, ASKED)) == ["b", "a"]


def test_smoothing_lowers_nobody():
    near = field(**{f"n{number}": [[1, number / 10, 0]] for number in range(12)})
    words = {f"n{number}": float(12 - number) for number in range(12)}
    plain = rank._sum(words, near.near(ASKED), rank.WORDS)
    at = {path: row for row, path in enumerate(near.paths)}
    smooth = rank._smoothed(plain, at, near.means())
    assert all(smooth[path] >= plain[path] for path in plain)
    assert rank.ordered(smooth)[0] == rank.ordered(plain)[0]


def test_a_passage_that_many_notes_hold_is_not_remembered():
    spots = [Spot(path, 0, 1.0, 0) for path in "abcd"]
    assert rank.remembered(spots[:2]) == {"a": rank.WHOLE, "b": rank.WHOLE}
    assert rank.remembered(spots) == {}


def test_only_notes_close_to_the_best_move_the_question():
    near = field(best=[[1, 0.2, 0]], other=[[0.3, 0, 1]], lure=[[0.5, 0, 0.9]], like=[[0.9, 0.5, 0]])
    alone = rank.fused({"best": 9.0}, near, ASKED)
    led = rank.fused({"best": 9.0, "other": 8.5}, near, ASKED)
    assert rank.ordered(alone)[:2] == ["best", "like"]
    assert led["lure"] > alone["lure"]


def test_exact_words_count_for_more_and_empty_ones_for_nothing():
    def share(text: str) -> float:
        return Question(text, terms.asked(text), "hybrid", 10).share

    assert share("where did we plant the apple tree") == rank.WORDS
    assert share("what is it") == 0.0
    named = [share(text) for text in ("the notes of 16 May 2025", "Get-ChildItem --force", "renew_all in 3.11")]
    assert all(each > rank.WORDS for each in named)
    assert share("how to start PowerShell again on Windows") < share("PowerShell")
