"""Quantiles of durations that were cut off: the product-limit estimator of Kaplan and Meier."""

from __future__ import annotations

import polars as pl
import pytest
from fairport.metrics.censored import bounds, distribution, mean, place_of, quantiles
from hypothesis import given
from hypothesis import strategies as st


def of(durations: list[float], over: list[bool], *shares: float) -> list[float]:
    return quantiles(pl.Series(durations, dtype=pl.Float64), pl.Series(over), shares)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60), st.integers(1, 99))
def test_if_all_are_over_it_is_the_nearest_rank(durations: list[float], percent: int) -> None:
    rank = -(-len(durations) * percent // 100)
    expected = sorted(durations)[rank - 1]
    assert of(durations, [True] * len(durations), percent / 100) == [expected]


def test_the_textbook_example() -> None:
    # 6-MP group of Freireich et al. 1963: remission times of 21 patients, 12 of them cut off. The
    # survival function is tabulated everywhere: 0.753 at 10, 0.690 at 13, 0.538 at 22, 0.448 at 23.
    times = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    cut = {3, 5, 7, 8, 11, 12, 13, 16, 17, 18, 19, 20}
    over = [place not in cut for place in range(len(times))]
    found = of([float(time) for time in times], over, 0.24, 0.30, 0.45, 0.5)
    assert found == [10, 13, 22, 23]


def test_what_is_cut_off_never_makes_a_quantile_shorter() -> None:
    over = of([1, 2, 3, 4, 5, 6, 7, 8], [True] * 8, 0.5)
    assert over == [4]
    assert of([1, 2, 3, 4, 5, 6, 7, 8], [True, False, False] + [True] * 5, 0.5) == [6]


def test_a_share_that_is_not_reached_gives_the_longest_watched() -> None:
    assert of([1.0, 5.0, 9.0], [True, False, False], 0.99) == [9.0]


def test_a_quantile_is_a_lower_bound_if_too_few_are_over() -> None:
    shares = {"half": 0.5, "most": 0.9}
    durations = pl.Series([1.0, 2.0, 3.0, 4.0])
    for over, found in (
        ([True, True, False, False], ["most"]),
        ([True, False, False, False], ["half", "most"]),
        # the longest is over: whatever was cut off before it, all is known
        ([True, False, False, True], []),
    ):
        assert bounds(durations, pl.Series(over), shares) == found


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_nothing_has_no_quantiles(share: float) -> None:
    assert of([], [], share) == []


def test_a_distribution_ends_below_one_if_the_longest_is_not_over() -> None:
    over, reached = distribution(pl.Series([1.0, 2.0, 3.0]), pl.Series([True, True, False]))
    assert over.tolist() == [1.0, 2.0]
    assert reached == pytest.approx([1 / 3, 2 / 3])
    assert place_of(2 / 3, reached) == 1
    assert place_of(0.95, reached) is None


@pytest.mark.parametrize("over", [[True, False], [False, True]])
def test_what_ends_when_another_is_cut_off_ended_first(over: list[bool]) -> None:
    # the other was still going at that time, so half of them are over by then
    _, reached = distribution(pl.Series([1.0, 1.0]), pl.Series(over))
    assert reached == pytest.approx([0.5])


def test_a_mean_counts_what_is_not_over() -> None:
    over = pl.Series([True, True, True])
    assert mean(pl.Series([1.0, 2.0, 6.0]), over) == pytest.approx(3.0)
    # two are over after 1 s; the third is under way at the age of 7 s
    assert mean(pl.Series([1.0, 1.0, 7.0]), pl.Series([True, True, False])) == pytest.approx(3.0)
    # one that was cut off at 1 s may have taken as long as either of the longer ones
    cut = pl.Series([False, True, True])
    assert mean(pl.Series([1.0, 2.0, 6.0]), cut) == pytest.approx(4.0)
    assert mean(pl.Series([5.0]), pl.Series([False])) == 5.0
    assert mean(pl.Series([], dtype=pl.Float64), pl.Series([], dtype=pl.Boolean)) is None
