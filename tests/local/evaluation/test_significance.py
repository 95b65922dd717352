"""Paired tests, against values that are known or can be counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.evaluation.significance import adjust_by_holm, worse_by_mcnemar, worse_by_randomization


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [(0, 0, 1.0), (5, 0, 1 / 32), (0, 5, 1.0), (1, 1, 0.75), (8, 1, 10 / 512), (9, 2, 67 / 2048)],
)
def test_mcnemar_is_the_upper_tail_of_a_fair_coin(worse: int, better: int, p: float) -> None:
    assert worse_by_mcnemar(worse, better) == pytest.approx(p)


def test_randomization_counts_the_signs_that_lose_as_much() -> None:
    assert worse_by_randomization([1.0, 1.0, 1.0]) == pytest.approx(1 / 8)
    assert worse_by_randomization([0.0, 0.0]) == 1.0
    assert worse_by_randomization([3.0, 1.0, -1.0]) == pytest.approx(3 / 8)  # +++, ++- and +-+


@given(st.integers(1, 7), st.integers(0, 5))
def test_both_tests_agree_on_yes_and_no(worse: int, better: int) -> None:
    losses = [1.0] * worse + [-1.0] * better
    assert worse_by_randomization(losses) == pytest.approx(worse_by_mcnemar(worse, better))


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=16))
def test_randomization_is_repeatable_and_a_probability(losses: list[float]) -> None:
    p = worse_by_randomization(losses)
    assert 0 < p <= 1
    assert worse_by_randomization(losses) == p


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    # Holm's example of a step-down procedure: the smallest of three by 3, the next by 2, never falling.
    adjusted = adjust_by_holm({"a": 0.01, "b": 0.04, "c": 0.03})
    assert adjusted == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers(values: dict[str, float]) -> None:
    adjusted = adjust_by_holm(values)
    assert all(value <= adjusted[name] <= 1 for name, value in values.items())
    by_value = sorted(values, key=lambda name: values[name])
    assert [adjusted[name] for name in by_value] == sorted(adjusted.values())
