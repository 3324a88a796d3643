"""Measures, checked by hand on small rankings."""

import pytest

from quorra.evals import scores


def test_a_ranking_is_scored_as_by_hand():
    found = scores.score(["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1})
    ideal = 1 + 1 / 1.584962500721156 + 0.5
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["mrr"] == 0.5
    assert found["ndcg@10"] == pytest.approx((1 / 1.584962500721156 + 1 / 2.321928094887362) / ideal)


def test_gain_is_linear_in_the_grade():
    high_first = scores.score(["a", "b"], {"a": 2, "b": 1})
    low_first = scores.score(["b", "a"], {"a": 2, "b": 1})
    assert high_first["ndcg@10"] == 1.0
    assert low_first["ndcg@10"] == pytest.approx((1 + 2 * 0.6309297535714575) / (2 + 0.6309297535714575))


def test_mrr_has_no_cut():
    assert scores.score([str(n) for n in range(99)] + ["a"], {"a": 1})["mrr"] == 0.01


def test_nothing_found_scores_nothing():
    assert set(scores.score([], {"a": 1}).values()) == {0.0}
