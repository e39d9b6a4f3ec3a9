"""Numbers over seeds: quartiles, and whether an order of variants exceeds the seeds' spread."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fairport.metrics.spread import Spread, iqr
from fairport.study.order import Order


def test_quartiles_of_one_to_five_are_two_three_four() -> None:
    assert Spread.of([5, 3, 1, 4, 2, None]) == Spread(3, 2, 4)
    nothing = Spread.of([None])
    assert nothing == Spread(None, None, None)
    assert nothing.count == 0


def test_three_seeds_have_a_range_and_four_have_quartiles() -> None:
    three, four = Spread.of([1, 2, 3]), Spread.of([1, 2, 3, 4])
    assert three == Spread(2, 1, 3)
    assert four == Spread(2.5, 1.75, 3.25)
    row = {"x_median": four.median, "x_q1": four.q1, "x_q3": four.q3}
    assert [iqr(row, "x", runs) for runs in (3, 4, 5)] == [None, 1.5, 1.5]


def test_an_order_is_decided_seed_by_seed() -> None:
    # seeds differ far more than variants, but each seed rises by one
    order = Order.of([[10, 20, 30], [11, 21, 31]])
    assert order.whole == Spread(1, 1, 1)
    assert order.rises
    assert not order.falls


def test_a_middle_half_that_begins_at_zero_is_not_beyond_it() -> None:
    # a variant that changes nothing with some seeds
    for sign in (1, -1):
        spread = Spread.of([0.0, 0.0, sign * 1.0, sign * 2.0, sign * 3.0])
        assert 0 in (spread.q1, spread.q3)
        assert not spread.is_above_zero
        assert not spread.is_below_zero


def test_a_step_back_within_the_spread_leaves_the_order() -> None:
    # from the second to the third variant half of the seeds fall
    order = Order.of([[0, 0, 0, 0], [5, 5, 5, 5], [4, 4, 6, 6]])
    assert order.steps[1] == Spread(0, -1, 1)
    assert order.rises


def test_a_small_step_back_of_every_seed_breaks_it() -> None:
    order = Order.of([[0, 0, 0, 0], [5, 5, 5, 5], [4.9, 4.9, 4.9, 4.8]])
    assert not order.rises
    assert order.steps_down == [1]


def test_a_step_back_by_more_than_the_whole_change_breaks_it_though_the_seeds_are_few() -> None:
    # the lone flow's share at 1 : 2, 1 : 6 and 1 : 12, with two seeds that differ much
    variants = [[1.5, 1.5], [0.9, 15.0], [0.5, 0.5]]
    order = Order.of(variants)
    assert not order.steps[0].is_above_zero
    assert order.steps_up == [0]
    assert not order.falls
    assert not Order.of(variants[::-1]).rises


def test_ends_within_the_spread_are_no_order_though_their_medians_are() -> None:
    order = Order.of([[1, 1, 1, 1, 1], [2, 2, 2, 0, 0]])
    assert order.whole.median == 1
    assert not order.rises


def test_medians_that_go_the_other_way_are_no_order_though_most_seeds_do() -> None:
    # four seeds of five fall a little, and the fifth, once the lowest, is the highest in the end
    order = Order.of([[5, 6, 7, 8, 0], [4.9, 5.9, 6.9, 7.9, 100]])
    assert order.whole.is_below_zero
    assert order.medians_apart == pytest.approx(0.9)
    assert not order.falls
    assert not order.rises


def test_falling_is_rising_the_other_way_round() -> None:
    variants = [[3.0, 4.0, 5.0], [2.0, 4.0, 1.0], [1.0, 0.0, 1.0]]
    assert Order.of(variants).falls
    assert Order.of(variants[::-1]).rises
    assert not Order.of(variants).rises


def test_seeds_without_a_number_do_not_count_and_none_at_all_is_no_order() -> None:
    assert Order.of([[1, 1, None], [2, 2, 0]]).rises
    assert not Order.of([[None, 1], [2, None]]).rises


@pytest.mark.parametrize(("seeds", "by_chance"), [(5, 6 / 32), (10, 56 / 1024)])
def test_between_variants_that_do_not_differ_it_holds_as_seldom_as_is_said(
    seeds: int, by_chance: float
) -> None:
    # differences of one size, with either sign equally likely: counted over all combinations
    signs = list(itertools.product([-1.0, 1.0], repeat=seeds))
    held = sum(Order.of([[0.0] * seeds, one]).rises for one in signs)
    assert held / len(signs) == by_chance


@pytest.mark.parametrize(("seeds", "once_in"), [(5, 5.5), (10, 14.4)])
def test_how_often_an_order_holds_by_chance(seeds: int, once_in: float) -> None:
    draws = np.random.default_rng(1).normal(size=(4000, 2, seeds))
    by_chance = sum(Order.of(variants.tolist()).rises for variants in draws)
    assert by_chance / len(draws) == pytest.approx(1 / once_in, rel=0.15)
