"""The comparison's metric follows the workload, and the ranking says what it goes by."""

from __future__ import annotations

import math

import polars as pl
import pytest
from fairport.errors import InputError
from fairport.scenario import Scenario, load
from fairport.study.compare import compare
from fairport.study.comparison import Comparison
from fairport.study.gains import gain
from fairport.study.metric import METRICS, ComparedLoad
from fairport.study.store import Store

INCAST = ComparedLoad((0,), "incast", "rounds_done", ("rounds_done",))
TRANSFERS = ComparedLoad((1,), "poisson", "small_fct_p99_s", ("small_fct_p99_s",))


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
    assert [load.metric for load in compared.loads] == ["rounds_done", "small_fct_p99_s"]
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


def test_the_medians_are_those_of_the_runs(compared: Comparison) -> None:
    done = compared.runs.filter(fix="codel")["traffic_0_rounds_done"]
    row = compared.table.filter(fix="codel").row(0, named=True)
    assert row["traffic_0_rounds_done_median"] == done.median()


def test_a_metric_of_ones_own(mixed: Scenario, tmp_path) -> None:
    store = Store(tmp_path)
    by_time = compare(mixed, ["codel"], repeat=1, metric="fct_median_s", store=store)
    # both loads are of transfers, so both have completion times
    assert [load.metric for load in by_time.loads] == ["fct_median_s", "fct_median_s"]
    by_rounds = compare(mixed, ["codel"], repeat=1, metric="rounds_done", store=store)
    assert [load.metric for load in by_rounds.ranked_loads] == ["rounds_done"]
    of_the_run = compare(mixed, ["codel"], repeat=1, metric="rtt_p99_s", store=store)
    assert of_the_run.ranked_by == "Ranked by RTT p99 of the run."
    with pytest.raises(InputError, match="is not a metric of any"):
        compare(mixed, ["codel"], repeat=1, metric="loss_share", store=store)
    with pytest.raises(InputError, match="is not a metric") as error:
        compare(mixed, ["codel"], repeat=1, metric="rounds", store=store)
    assert error.value.remedy == "did you mean `rounds_done`?"


def test_more_rounds_and_shorter_times_are_gains() -> None:
    rounds, times, ratio = (
        METRICS[name] for name in ("rounds_done", "small_fct_p99_s", "throughput_ratio")
    )
    assert rounds.gain(3, 6) == pytest.approx(math.log(2))
    assert times.gain(4e-3, 1e-3) == pytest.approx(math.log(4))
    assert times.gain(1e-3, 4e-3) == pytest.approx(-math.log(4))
    # a ratio of 2 is as far from an equal share as one of 1/2
    assert ratio.gain(0.5, 2.0) == pytest.approx(0)
    assert ratio.gain(0.25, 2.0) == pytest.approx(math.log(2))


def test_no_round_at_all_counts_as_half_a_round() -> None:
    assert METRICS["rounds_done"].gain(2, 0) == pytest.approx(-math.log(4))
    assert METRICS["rounds_done"].gain(0, 0) == 0


def test_what_never_finished_is_worse_than_anything() -> None:
    assert METRICS["fct_p99_s"].gain(1.0, None) == -math.inf
    assert METRICS["fct_p99_s"].gain(None, None) == 0


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
    assert [one.median for one in found.loads] == pytest.approx([math.log(4), 0])
