"""The comparison's metric follows from the workload, and the ranking names the metric."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport.errors import InputError
from fairport.scenario import Scenario, load
from fairport.study.comparison.compare import compare
from fairport.study.comparison.gain import log_gain
from fairport.study.comparison.parts import ComparedPart
from fairport.study.comparison.rank_by_gain import ByGain, gain
from fairport.study.comparison.result import Comparison
from fairport.study.runs.store import Store

INCAST = ComparedPart((0,), "incast", "rounds_done", ("rounds_done",))
TRANSFERS = ComparedPart((1,), "poisson", "small_fct_p99_s", ("small_fct_p99_s",))


@pytest.fixture(scope="module")
def mixed() -> Scenario:
    return load("leaf-spine-incast").patch(
        {
            "duration": "8ms",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
            "traffic.0.from": "h4..h7",
            "traffic.0.block": "64KB",
            "queue.limit": "100KB",
        }
    )


@pytest.fixture(scope="module")
def compared(mixed: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    store = Store(tmp_path_factory.mktemp("store"))
    return compare(mixed, ["codel", "dctcp"], repeat=4, store=store)


def test_each_load_is_ranked_by_what_suits_it(compared: Comparison) -> None:
    assert [part.metric for part in compared.parts] == ["rounds_done", "small_fct_p99_s"]
    assert compared.groups.lone == ""
    document = compared.document()
    assert document["metric"] == "rounds_done, small_fct_p99_s"
    assert [one["index"] for one in document["traffic"]] == [0, 1]
    for fix in document["fixes"]:
        ranked = {(one["index"], one["metric"]) for one in fix["traffic"]}
        assert {(0, "rounds_done"), (1, "small_fct_p99_s")} <= ranked
        assert all(set(one) == {"index", "metric", "median", "iqr"} for one in fix["traffic"])
    assert "Ranked by rounds done of traffic 0 (incast) and small FCT p99" in compared.conclusion
    assert "outcast" not in compared.conclusion


def test_an_incast_of_given_rounds_is_ranked_by_their_time(tmp_path: Path) -> None:
    incast = {"kind": "incast", "from": "h1..h7", "to": "h0", "block": "20kB", "rounds": 2}
    star = {"name": "star", "duration": "20ms", "topology": {"kind": "star", "hosts": 8}}
    scenario = load(star | {"traffic": [incast]})
    (part,) = compare(scenario, ["codel"], repeat=1, store=Store(tmp_path)).parts
    assert (part.kind, part.metric) == ("incast", "round_time_p99_s")
    assert "rounds_done" in part.shown


def test_large_rates_are_in_gigabits_with_their_differences(compared: Comparison) -> None:
    column = next(one for one in compared.columns if one.key == "goodput_bps_total")
    median = compared.table.filter(fix="none")["goodput_bps_total_median"][0]
    assert median > 2e9
    assert column.quantity.unit == "Gbit/s"
    assert column.quantity.shown(median, "over_seeds") == f"{median / 1e9:,.2f}"


def test_the_medians_are_those_of_the_runs(compared: Comparison) -> None:
    done = compared.runs.filter(fix="codel")["traffic_0_rounds_done"]
    row = compared.table.filter(fix="codel").row(0, named=True)
    assert row["traffic_0_rounds_done_median"] == done.median()


def test_a_comparison_of_few_seeds_says_so(compared: Comparison) -> None:
    # of two seeds a fix without an effect helps both, or harms both, every other time
    assert "differently" not in compared.conclusion
    for seeds, said in ((3, "These are 3 seeds; others may"), (1, "This is one seed; another may")):
        few = replace(compared, seeds=range(1, seeds + 1))
        assert f" {said} rank the fixes differently" in few.conclusion


def test_a_metric_of_ones_own(mixed: Scenario, tmp_path) -> None:
    store = Store(tmp_path)
    by_time = compare(mixed, ["codel"], repeat=1, metric="fct_median_s", store=store)
    # both parts are transfers, so both have completion times
    assert [part.metric for part in by_time.parts] == ["fct_median_s", "fct_median_s"]
    by_rounds = compare(mixed, ["codel"], repeat=1, metric="rounds_done", store=store)
    assert [part.metric for part in by_rounds.ranked_parts] == ["rounds_done"]
    of_the_run = compare(mixed, ["codel"], repeat=1, metric="rtt_p99_s", store=store)
    assert of_the_run.ranked_by == "Ranked by RTT p99 of the run."
    with pytest.raises(InputError, match="is not a metric of any"):
        compare(mixed, ["codel"], repeat=1, metric="loss_share", store=store)
    with pytest.raises(InputError, match="is not a metric") as error:
        compare(mixed, ["codel"], repeat=1, metric="rounds", store=store)
    assert error.value.remedy == "did you mean `rounds_done`?"


def test_more_rounds_and_shorter_times_are_gains() -> None:
    assert log_gain("rounds_done", 3, 6) == pytest.approx(math.log(2))
    assert log_gain("small_fct_p99_s", 4e-3, 1e-3) == pytest.approx(math.log(4))
    assert log_gain("small_fct_p99_s", 1e-3, 4e-3) == pytest.approx(-math.log(4))
    # a ratio of 2 is as far from an equal share as one of 1/2
    assert log_gain("throughput_ratio", 0.5, 2.0) == pytest.approx(0)
    assert log_gain("throughput_ratio", 0.25, 2.0) == pytest.approx(math.log(2))


def test_no_round_at_all_counts_as_half_a_round() -> None:
    assert log_gain("rounds_done", 2, 0) == pytest.approx(-math.log(4))
    assert log_gain("rounds_done", 0, 0) == 0


def test_what_never_finished_is_worse_than_anything() -> None:
    assert log_gain("fct_p99_s", 1.0, None) == -math.inf
    assert log_gain("fct_p99_s", None, None) == 0


def test_several_loads_have_the_geometric_mean_of_their_gains() -> None:
    runs = pl.DataFrame(
        {
            "fix": ["none", "none", "fix", "fix"],
            "seed": [1, 2, 1, 2],
            "traffic_0_rounds_done": [2.0, 4.0, 8.0, 16.0],
            "traffic_1_small_fct_p99_s": [1e-3, 2e-3, 1e-3, 2e-3],
        }
    )
    found = gain("fix", runs, [INCAST, TRANSFERS])
    assert found.factor == pytest.approx(2)  # the root of 4 times 1
    assert [one.median for one in found.parts] == pytest.approx([math.log(4), 0])


def rounds_done(**of_fix: list[float | None]) -> pl.DataFrame:
    """A comparison's runs: the rounds done with each seed."""
    rows = [
        {"fix": fix, "seed": seed, "traffic_0_rounds_done": value}
        for fix, values in of_fix.items()
        for seed, value in enumerate(values, 1)
    ]
    return pl.DataFrame(rows, schema_overrides={"traffic_0_rounds_done": pl.Float64})


def row_of(
    fix: str, goodput_bps: float = 1e9, needs: tuple[str, ...] = ("switch",)
) -> dict[str, Any]:
    parts = {"median": 6.0, "q1": 5.0, "q3": 7.0}
    of_load = {f"traffic_0_rounds_done_{part}": value for part, value in parts.items()}
    return {"fix": fix, "needs": needs, "goodput_bps_total_median": goodput_bps} | of_load


@pytest.mark.parametrize(
    ("with_fix", "word"),
    [
        ([400.0] * 4, "better by a factor of 4"),
        ([25.0] * 4, "worse by a factor of 4"),
        ([40.0] * 4, "worse by a factor of 2.5"),
        ([950.0] * 4, "better by a factor of 9.5"),
        ([1050.0] * 4, "better by a factor of 10"),
        ([1500.0] * 4, "better by a factor of 15"),
        ([9e5] * 4, "better by a factor of 9,000"),
        ([999_960.0] * 4, "better by a factor of 10,000"),
        ([1_000_050.0] * 4, "better by a factor of more than 10,000"),
        ([2e6] * 4, "better by a factor of more than 10,000"),
        ([101.0] * 4, "no clear difference"),
        ([103.0] * 4, "better by a factor of 1.03"),
        ([97.5] * 4, "worse by a factor of 1.03"),
        ([99.0] * 4, "no clear difference"),
        # better with half of the seeds, and worse with the other half
        ([50.0, 60.0, 300.0, 400.0], "no clear difference"),
    ],
)
def test_a_gain_in_words(with_fix: list[float | None], word: str) -> None:
    runs = rounds_done(none=[100.0] * 4, fix=with_fix)
    (only,) = ByGain([row_of("fix")], row_of("none"), runs, [INCAST]).ranked
    assert only.effect == word


def test_fixes_come_in_the_order_of_their_gains_and_then_of_what_they_need() -> None:
    runs = rounds_done(none=[100.0] * 4, a=[90.0] * 4, b=[300.0] * 4, c=[200.0] * 4, d=[300.0] * 4)
    rows = [row_of("a"), row_of("b", needs=("switch", "host")), row_of("c"), row_of("d")]
    ranking = ByGain(rows, row_of("none"), runs, [INCAST])
    assert [(one.rank, one.fix) for one in ranking.ranked] == [
        (1, "d"),
        (2, "b"),
        (3, "c"),
        (4, "a"),
    ]
    assert ranking.conclusion == (
        "Best: d (better by a factor of 3), then b (better by a factor of 3), then c (better by a"
        " factor of 2); worse than no fix: a. Ranked by rounds done of traffic 0 (incast)."
    )
    assert replace(ranking, rows=rows[:1]).conclusion.startswith(
        "No fix is clearly better than no fix at all; worse than no fix: a."
    )
    both = replace(ranking, rows=[], parts=[INCAST, TRANSFERS]).conclusion
    assert both.endswith("of traffic 1 (poisson), by the geometric mean of the gains.")


def test_a_fix_without_effect_is_before_those_that_make_it_worse_and_after_the_others() -> None:
    runs = rounds_done(none=[100.0] * 4, worse=[90.0] * 4, same=[100.0] * 4, better=[110.0] * 4)
    rows = [row_of(name) for name in ("worse", "same", "better")]
    found = ByGain(rows, row_of("none"), runs, [INCAST]).ranked
    assert [one.fix for one in found] == ["better", "same", "worse"]


def test_a_fix_that_helps_with_some_seeds_only_is_between_those_that_help_and_those_that_harm() -> (
    None
):
    runs = rounds_done(
        none=[100.0] * 4,
        worse=[90.0] * 4,
        mixed_down=[20.0, 60.0, 80.0, 300.0],
        mixed_up=[20.0, 40.0, 300.0, 400.0],
        better=[105.0] * 4,
    )
    # by their medians alone: mixed_up, better, worse, mixed_down
    rows = [row_of(name) for name in ("worse", "mixed_down", "mixed_up", "better")]
    found = ByGain(rows, row_of("none"), runs, [INCAST]).ranked
    assert [(one.fix, one.effect.split()[0]) for one in found] == [
        ("better", "better"),
        ("mixed_up", "no"),
        ("mixed_down", "no"),
        ("worse", "worse"),
    ]


def test_a_sentence_says_what_became_of_the_load_of_the_goodput_and_what_it_needs() -> None:
    runs = rounds_done(none=[100.0] * 4, fix=[200.0] * 4)
    none = row_of("none") | {"traffic_0_rounds_done_median": 3.0}

    def sentence(goodput_bps: float) -> str:
        return ByGain([row_of("fix", goodput_bps)], none, runs, [INCAST]).ranked[0].sentence

    shown = "traffic 0 (incast): rounds done 3 to 6 (5 to 7)"
    assert sentence(1e9) == f"{shown}. Needs: switch."
    assert sentence(1.009e9) == f"{shown}. Needs: switch."
    assert sentence(0.5e9) == f"{shown}; total goodput 50 % lower. Needs: switch."


def test_a_load_that_nothing_ranks_has_no_part() -> None:
    bulk = ComparedPart((2,), "bulk", None, ())
    runs = rounds_done(none=[100.0], fix=[200.0])
    assert gain("fix", runs, [bulk, INCAST]).factor == pytest.approx(2)
    (only,) = ByGain([row_of("fix")], row_of("none"), runs, [bulk, INCAST]).ranked
    assert "traffic 0 (incast)" in only.sentence
    assert "traffic 2" not in only.sentence


def test_a_factor_is_below_one_where_it_gets_worse_and_finite_where_nothing_finished() -> None:
    assert gain("fix", rounds_done(none=[100.0], fix=[25.0]), [INCAST]).factor == pytest.approx(
        1 / 4
    )
    runs = pl.DataFrame(
        {"fix": ["none", "fix"], "seed": [1, 1], "traffic_1_small_fct_p99_s": [1.0, None]}
    )
    assert 0 < gain("fix", runs, [TRANSFERS]).factor < 1e-300
    # the inverse of the largest factor that a double holds
    back = runs.with_columns(fix=pl.Series(["fix", "none"]))
    assert gain("fix", back, [TRANSFERS]).factor == pytest.approx(sys.float_info.max)


def test_a_load_that_never_finishes_and_one_that_only_then_does_cancel_out() -> None:
    runs = pl.DataFrame(
        {
            "fix": ["none", "fix"],
            "seed": [1, 1],
            "traffic_0_fct_p99_s": [None, 1.0],
            "traffic_1_small_fct_p99_s": [1.0, None],
        }
    )
    first = ComparedPart((0,), "poisson", "fct_p99_s", ("fct_p99_s",))
    found = gain("fix", runs, [first, TRANSFERS])
    assert (found.direction, found.factor) == (0, 1.0)


def test_transfers_that_all_began_before_the_measurement_decide_nothing(tmp_path: Path) -> None:
    long_lived = {"kind": "bulk", "from": "h2..h4", "to": "h0"}
    transfer = {"kind": "bulk", "from": "h1", "to": "h0", "size": "100kB"}
    measure = {"duration": "20ms", "measure": {"from": "5ms"}}
    scenario = load("two-switch").patch(measure | {"traffic": [long_lived, transfer]})
    found = compare(scenario, ["red"], repeat=1, store=Store(tmp_path))
    assert [part.metric for part in found.parts] == ["jain_index", None]
    alone = scenario.patch({"traffic": [transfer]})
    with pytest.raises(InputError, match="no transfer began within the measurement"):
        compare(alone, ["red"], repeat=1, store=Store(tmp_path))


def test_what_changes_nothing_has_the_factor_one() -> None:
    assert gain("fix", rounds_done(none=[100.0], fix=[100.0]), [INCAST]).factor == 1


def test_a_seed_that_one_of_two_lacks_is_no_gain() -> None:
    with pytest.raises(ValueError, match="zip"):
        gain("fix", rounds_done(none=[100.0, 100.0], fix=[100.0]), [INCAST])


def test_the_ratio_beside_other_traffic_is_that_of_a_run(tmp_path) -> None:
    # the transfers have hop counts, too, but their goodputs are not compared
    poisson = {"kind": "poisson", "load": 0.1, "sizes": "20kB"}
    sized = {"kind": "bulk", "from": "h5", "to": "h9", "size": "100kB"}
    bulk = {"kind": "bulk", "from": "all", "to": "h0"}
    scenario = load("outcast").patch({"duration": "50ms", "traffic": [bulk, poisson, sized]})
    found = compare(scenario, ["drr"], repeat=1, store=Store(tmp_path))
    alone = fp.run(scenario).summary
    as_it_is = found.runs.filter(fix="none").row(0, named=True)
    assert as_it_is["throughput_ratio"] == pytest.approx(alone["verdict"]["ratio"])
    jain = pytest.approx(alone["jain_index"])
    assert as_it_is["jain_index"] == jain == alone["traffic"][0]["jain_index"]
    assert (len(found.groups.lone_flows), len(found.groups.peer_flows)) == (1, 12)


def test_titles_of_panels_do_not_run_into_each_other(mixed: Scenario, tmp_path) -> None:
    request = {"kind": "request-response", "servers": "h1", "clients": "h2", "response": "5kB"}
    both = mixed.patch({"traffic": [*mixed.document()["traffic"], request]})
    picture = fp.plot(compare(both, ["codel"], repeat=1, store=Store(tmp_path)))
    titles = [panel._left_title.get_window_extent() for panel in picture.axes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(titles, 2))
    assert not any("equal share" in text.get_text() for text in picture.texts)


def test_a_metric_that_does_not_exist_is_refused_before_any_run(mixed: Scenario, tmp_path) -> None:
    store = Store(tmp_path)
    with pytest.raises(InputError, match="is not a metric"):
        compare(mixed, ["codel"], repeat=1, metric="fct_p98_s", store=store)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
