"""A run over time: what a step sums up, and the value of an empty step."""

from __future__ import annotations

import polars as pl
import pytest
from fairport.metrics.trends import trends

FLOWS = pl.DataFrame(
    {
        "flow": [0, 1, 2],
        "traffic": [0, 0, 1],
        "start_s": [0.5, 10.5, 0.0],
        "fct_s": [2.0, 4.0, None],
    },
    schema_overrides={"flow": pl.UInt32, "traffic": pl.UInt32},
)
SERIES = pl.DataFrame(
    # flow 0 and 1 at the same time are one traffic's goodput
    {
        "time_s": [1.0, 2.0, 2.0, 2.0],
        "flow": [0, 0, 1, 2],
        "goodput_bps": [8.0, 4.0, 6.0, 1.0],
    },
    schema_overrides={"flow": pl.UInt32},
)
QUEUE = pl.DataFrame(
    {
        "time_s": [0.2, 0.4, 1.5, 0.2, 200.0],
        "port": ["p", "p", "p", "q", "p"],
        "bytes": [10, 20, 5, 99, 7],
    }
)
DROPS = pl.DataFrame({"time_s": [99.0, 99.5, 99.9, 3.0], "port": ["p", "p", "p", "q"]})
MARKS = pl.DataFrame({"time_s": [99.2, 98.0], "port": ["p", "q"]})
TABLES = {"flows": FLOWS, "series": SERIES, "queue": QUEUE, "drops": DROPS, "marks": MARKS}


def rows(simulated_s: float, interval_s: float) -> dict[tuple[str, int | None], dict[float, float]]:
    found: dict[tuple[str, int | None], dict[float, float]] = {}
    for trend, traffic, time_s, value in trends(TABLES, "p", simulated_s, interval_s).rows():
        found.setdefault((trend, traffic), {})[time_s] = value
    return found


def test_a_run_has_two_hundred_steps_and_every_step_its_drops_and_marks() -> None:
    found = rows(200.0, 1.0)
    signals = found["signals_per_s", None]
    assert len(signals) == 200
    assert signals[99.5] == 4.0
    assert (
        sum(signals.values()) == 4.0
    )  # drops and marks of another port do not count for the bottleneck


def test_goodput_is_that_of_a_traffics_flows_together_in_the_step_that_it_was_measured_in() -> None:
    found = rows(200.0, 1.0)
    first, second = ({t: v for t, v in found["goodput_bps", i].items() if v} for i in (0, 1))
    assert first == {0.5: 8.0, 1.5: 10.0}
    assert second == {1.5: 1.0}
    assert len(found["goodput_bps", 1]) == 200  # traffic that sends nothing has a goodput of 0


def test_queues_are_means_up_to_the_end_and_transfers_count_where_they_began() -> None:
    found = rows(200.0, 1.0)
    assert found["queue_bytes", None] == {0.5: 15.0, 1.5: 5.0}
    assert found["fct_s", 0] == {0.5: 2.0, 10.5: 4.0}
    assert ("fct_s", 1) not in found


def test_a_step_is_never_shorter_than_the_interval_of_the_series() -> None:
    found = rows(100.0, 2.0)  # and not 0.5 s
    assert len(found["signals_per_s", None]) == 50
    assert found["signals_per_s", None][99.0] == pytest.approx(2.0)


def test_a_constant_rate_is_constant_whatever_the_number_of_intervals() -> None:
    # 300 intervals do not fit into 200 steps: a step of one and a half would have one sample or two
    steady = pl.DataFrame(
        {"time_s": [0.01 * (at + 1) for at in range(300)], "flow": 0, "goodput_bps": 5.0},
        schema_overrides={"flow": pl.UInt32},
    )
    found = trends(TABLES | {"series": steady}, "p", 3.0, 0.01).filter(trend="goodput_bps")
    assert found.height == 150
    assert set(found["value"]) == {5.0}
    assert found["time_s"][1] == pytest.approx(0.03)


def test_the_last_step_may_be_shorter() -> None:
    # steps of 1 s, the last of 0.75 s, in which three packets are dropped and one is marked
    found = rows(99.75, 1.0)["signals_per_s", None]
    assert len(found) == 100
    assert found[99.375] == pytest.approx(4 / 0.75)


def test_a_rounding_makes_no_longer_steps() -> None:
    # seven intervals per step; 4.2 / (200 * 0.003) is a little more than 7 in floating point
    assert len(rows(4.2, 0.003)["signals_per_s", None]) == 200
