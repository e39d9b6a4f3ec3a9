"""Medians with confidence intervals, and points that have two states."""

from __future__ import annotations

from pathlib import Path

import fairport as fp
import numpy as np
import polars as pl
import pytest
from conftest import Command
from fairport.errors import InputError
from fairport.scenario import load
from fairport.study.making import Listeners, Status
from fairport.study.point_statistics import median_interval, per_point, states
from fairport.study.precision import Precision, more_seeds, too_wide
from fairport.study.sweep import sweep

GENERATOR = np.random.default_rng(5)


def runs(**values: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"point": point, "seed": seed, "ratio": value}
            for point, of in values.items()
            for seed, value in enumerate(of, 1)
        ],
        schema={"point": pl.String, "seed": pl.Int64, "ratio": pl.Float64},
    )


def test_median_and_range_are_those_of_the_seeds() -> None:
    (row,) = per_point(runs(a=[4.0, 1.0, 2.0, 3.0, None]), ["point"], "ratio").to_dicts()
    assert (row["runs"], row["median"], row["low"], row["high"]) == (4, 2.5, 1.0, 4.0)


def test_one_value_and_equal_values_are_their_own_interval() -> None:
    rows = per_point(runs(a=[0.5], b=[0.7] * 9), ["point"], "ratio").to_dicts()
    assert [(row["low"], row["high"]) for row in rows] == [(0.5, 0.5), (0.7, 0.7)]
    assert not any(row["is_bimodal"] for row in rows)


@pytest.mark.parametrize(
    ("count", "ranks"),
    # from tables of the sign test, 95 % two-sided; of fewer than six values their range
    [
        *((5, (1, 5)), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (15, (4, 12))),
        *((20, (6, 15)), (40, (14, 27))),
    ],
)
def test_the_interval_of_a_median_is_that_of_the_sign_test(
    count: int, ranks: tuple[int, int]
) -> None:
    assert median_interval(range(count, 0, -1)) == ranks


@pytest.mark.parametrize("count", [6, 7, 8, 15, 25])
def test_the_interval_holds_the_true_median_at_least_nineteen_times_in_twenty(count: int) -> None:
    # skewed, as the ratios of a starved flow are; no number of seeds may be an exception
    samples = np.exp(GENERATOR.normal(0.0, 1.0, (2000, count)))
    intervals = np.array([median_interval(sample) for sample in samples])
    held = (intervals[:, 0] <= 1.0) & (intervals[:, 1] >= 1.0)
    assert held.mean() >= 0.94


def test_two_states_are_found_with_their_means() -> None:
    values = np.array([0.2] * 6 + [0.22] * 6 + [1.0] * 4 + [1.02] * 4)
    found = states(GENERATOR.permutation(values))
    assert found == pytest.approx((0.21, 1.01))


@pytest.mark.parametrize("draw", [GENERATOR.normal, GENERATOR.uniform])
def test_one_state_is_seldom_taken_for_two(draw: object) -> None:
    samples = draw(10.0, 11.0, (500, 20))  # type: ignore[operator]
    assert sum(states(sample) is not None for sample in samples) <= 40


def test_states_are_five_standard_deviations_apart() -> None:
    # each half has a standard deviation of 0.1 about its mean
    half = np.array([-0.1, 0.1] * 8) * np.sqrt(15 / 16)
    for apart, found in ((0.499, None), (0.501, (1.0, 1.501))):
        assert states(np.concatenate([1.0 + half, 1.0 + apart + half])) == (
            found and pytest.approx(found)
        )


def test_two_states_that_are_nearly_the_same_are_one() -> None:
    assert states(np.array([0.980] * 10 + [0.985] * 10)) is None
    # they differ by more than a fifth of the larger one
    assert states(np.array([8.0] * 5 + [10.0] * 5)) is None
    assert states(np.array([7.9] * 5 + [10.0] * 5)) == pytest.approx((7.9, 10.0))


def test_means_of_exactly_five_standard_deviations_are_one_state() -> None:
    # the squares of both groups add up to 4, of five values: a standard deviation of 1
    lower = np.array([9.0, 9.0, 10.0, 11.0, 11.0])
    assert states(np.concatenate([lower, lower + 5.0])) is None
    assert states(np.concatenate([lower, lower + 5.1])) == pytest.approx((10.0, 15.1))


def test_states_need_eight_seeds() -> None:
    assert states(np.array([0.2] * 4 + [1.0] * 3)) is None
    assert states(np.array([0.2] * 4 + [1.0] * 4)) == pytest.approx((0.2, 1.0))


@pytest.mark.parametrize(
    ("lower", "upper", "are_two"),
    # a state has three seeds at least, and a tenth of all
    [(18, 2, False), (17, 3, True), (37, 3, False), (36, 4, True), (4, 36, True), (3, 37, False)],
)
def test_a_state_has_three_seeds_and_a_tenth_of_all(lower: int, upper: int, are_two: bool) -> None:
    found = states(np.array([0.2] * lower + [1.0] * upper))
    assert found == ((pytest.approx((0.2, 1.0))) if are_two else None)


def test_outliers_are_no_state() -> None:
    assert states(np.array([0.2, 0.21, 0.22, 0.2, 0.19, 0.2, 0.21, 0.2, 0.2, 5.0])) is None


def test_seeds_are_added_where_the_interval_is_wide() -> None:
    of = runs(narrow=[1.0, 1.01, 0.99, 1.0, 1.0, 1.0], wide=[0.1, 1.0, 3.0, 0.5])
    more = more_seeds(of, ["point"], Precision("ratio", 0.1))
    assert more == [({"point": "wide"}, 5), ({"point": "wide"}, 6)]
    assert more_seeds(of, ["point"], Precision("ratio", 0.1, most_seeds=5)) == more[:1]
    assert more_seeds(of, ["point"], Precision("ratio", 0.1, most_seeds=4)) == []


def test_half_of_the_interval_is_compared_with_the_share_of_the_median() -> None:
    of = runs(a=[1.84] * 3 + [2.16] * 3)
    (row,) = per_point(of, ["point"], "ratio").to_dicts()
    assert (row["low"], row["median"], row["high"]) == pytest.approx((1.84, 2.0, 2.16))
    assert more_seeds(of, ["point"], Precision("ratio", 0.09)) == []
    # half as many as before, rounded up
    more = more_seeds(of, ["point"], Precision("ratio", 0.07))
    assert [seed for _, seed in more] == [7, 8, 9]
    odd = runs(a=[0.1, 1.0, 3.0, 0.5, 9.0, 2.0, 0.3])
    more = more_seeds(odd, ["point"], Precision("ratio", 0.07))
    assert [seed for _, seed in more] == [8, 9, 10, 11]


def test_a_point_whose_runs_all_have_zero_is_precise() -> None:
    assert more_seeds(runs(a=[0.0] * 6), ["point"], Precision("ratio", 0.1)) == []


def test_of_fewer_than_six_seeds_there_is_no_95_percent_interval() -> None:
    # the range of n values misses the median with a chance of 2 / 2**n: 6 % of 5, 3 % of 6
    of = runs(two=[1.0, 1.0], five=[1.0] * 5, six=[1.0] * 6)
    more = more_seeds(of, ["point"], Precision("ratio", 0.1))
    assert [(at["point"], seed) for at, seed in more] == [
        *(("two", seed) for seed in (3, 4, 5, 6)),
        ("five", 6),
    ]


def test_a_sweep_goes_on_until_it_is_precise(tmp_path: object) -> None:
    base = load("two-switch").patch({"duration": "20ms"})
    seen: list[Status] = []
    study = sweep(
        base,
        {"queue.limit": ["8KiB", "64KiB"]},
        seeds=4,
        folder=f"{tmp_path}/study",
        until_precise=Precision("jain_index", 0.25, most_seeds=64),
        listeners=Listeners(status=seen.append),
    )
    found = per_point(study.to_polars(), ["queue.limit"], "jain_index")
    for row in found.iter_rows(named=True):
        assert (row["high"] - row["low"]) / 2 <= 0.25 * row["median"]
    assert found["runs"].sum() == seen[-1].done > 8


def test_a_sweep_says_that_the_most_seeds_were_too_few(tmp_path: Path) -> None:
    base = load("two-switch").patch({"duration": "20ms"})
    axes = {"queue.limit": ["8KiB", "64KiB"]}
    precise = Precision("throughput_ratio", 0.001, most_seeds=7)
    with pytest.warns(UserWarning, match="2 of 2 points have the most seeds, 7, .* 0.1 %"):
        sweep(base, axes, seeds=6, folder=tmp_path / "study", until_precise=precise)
    few = runs(two=[1.0, 1.0], six=[1.0] * 6)
    assert [row["point"] for row in too_wide(few, ["point"], Precision("ratio", 0.1))] == ["two"]


def test_a_number_that_no_run_has_is_never_precise(tmp_path: Path) -> None:
    scenario = fp.scenario("two-switch").patch(
        {"duration": "5ms", "traffic": [{"kind": "bulk", "from": "h2..h3", "to": "h0"}]}
    )
    with pytest.raises(InputError, match="a number that no run has"):
        sweep(
            scenario,
            {"queue.limit": ["16KiB"]},
            keep=["throughput_ratio", "jain_index"],
            seeds=2,
            folder=tmp_path / "study",
            until_precise=Precision("throughput_ratio", 0.1),
            jobs=1,
        )


def test_the_most_seeds_are_of_a_precise_sweep(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('scenario = "two-switch"\n[axes]\n"queue.limit" = ["16KiB"]\n')
    done = fairport("sweep", str(file), "--most-seeds", "8", "--estimate")
    assert done.status == 2
    assert "--most-seeds: 8 has no effect without --until-precise" in done.err


@pytest.mark.parametrize("share", [0, 10, -0.1, float("nan")])
def test_a_precision_is_a_share_and_no_percentage(share: float) -> None:
    with pytest.raises(InputError, match="is not a share between 0 and 1"):
        Precision("jain_index", share)
