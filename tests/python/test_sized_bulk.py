"""Bulk flows of a given size are transfers, also in measurements, comparisons and sweeps."""

from __future__ import annotations

import re
from pathlib import Path

import fairport as fp
from conftest import Command
from fairport.metrics.completion import Span, transfers
from fairport.scenario import Scenario, load
from fairport.study.comparison.compare import compare
from fairport.study.runs.store import Store

SMALL = {"kind": "bulk", "from": "h1..h3", "to": "h0", "size": "20kB", "flows": 2}
LARGE = {"kind": "bulk", "from": "h4", "to": "h0", "size": "1MB"}
ENDLESS = {"kind": "bulk", "from": "h5..h6", "to": "h0"}


def scenario(*traffic: dict[str, object]) -> Scenario:
    return load("outcast").patch({"duration": "50ms", "traffic": list(traffic)})


def test_the_measurement_begins_with_the_run() -> None:
    # all begin before the last is established; completion times before that would not count
    result = fp.run(scenario(SMALL, LARGE))
    assert result.summary["measure"]["from_s"] == 0
    fct = result.summary["fct"]
    assert fct is not None
    assert fct["all"]["flows"] == 7
    assert [one["transfers"] for one in result.summary["traffic"]] == [6, 1]
    beside = fp.run(scenario(SMALL, ENDLESS)).summary["measure"]
    assert beside["from_s"] > 0
    given = fp.run(scenario(SMALL).patch({"measure.from": "2ms"})).summary["measure"]
    assert given["from_s"] == 0.002


def test_a_late_one_does_not_delay_the_measurement_of_endless_ones() -> None:
    late = fp.run(scenario(SMALL | {"start": "20ms"}, ENDLESS)).summary["measure"]
    assert 0 < late["from_s"] < 0.02


def test_a_run_says_that_none_of_them_counts() -> None:
    # they begin at once, and the endless ones, which decide when the measurement begins, later
    early = scenario(SMALL | {"start_jitter": "0s"}, ENDLESS | {"start": "1ms"})
    found = fp.run(early).summary
    small = found["traffic"][0]
    assert (small["transfers"], small["before_measurement"]) == (0, 6)
    [said] = [text for text in found["caveats"] if "do not count" in text]
    assert "6 of traffic 0 (bulk)" in said
    whole = fp.run(early.patch({"measure.from": "0s"})).summary
    assert (whole["traffic"][0]["transfers"], whole["traffic"][0]["before_measurement"]) == (6, 0)
    assert not any("do not count" in text for text in whole["caveats"])


def test_one_that_is_stopped_is_not_complete_and_as_old_as_it_was_then() -> None:
    stopped = scenario(SMALL, LARGE | {"size": "1GB", "stop": "20ms"}).patch({"duration": "100ms"})
    result = fp.run(stopped)
    [found] = transfers(result.flows, Span.of(result.summary)).filter(src="h4").rows(named=True)
    assert found["end_s"] < 0.08
    assert (found["fct_s"], found["is_over"]) == (None, False)
    assert found["lasted_s"] == found["end_s"] - found["start_s"]
    assert result.summary["traffic"][1]["unfinished"] == 1
    [said] = [text for text in result.summary["caveats"] if "Not all transfers" in text]
    assert "1 of 1 of traffic 1 (bulk) were not." in said


def test_they_get_no_verdict_on_their_shares() -> None:
    # also if none of them begins within the measurement
    for start in ("0s", "20ms"):
        verdict = fp.run(scenario(SMALL, LARGE).patch({"measure.from": start})).summary["verdict"]
        assert (verdict["outcast"], verdict["ratio"]) == (None, None)
        assert "lone class" not in verdict["sentence"]


def test_each_load_has_a_table_of_its_own(fairport: Command, tmp_path: Path) -> None:
    file = tmp_path / "sized.toml"
    everything = {"measure.from": "0s"}  # the transfers begin before endless flows are established
    file.write_text(scenario(SMALL, LARGE, ENDLESS).patch(everything).to_toml())
    done = fairport("compare", str(file), "--fix", "drr", "--repeat", "1", "--no-output")
    assert done.status == 0, done.err
    tables = re.findall(r"^(traffic \d \(bulk\)|the whole run)", done.out, re.MULTILINE)
    assert tables == ["traffic 0 (bulk)", "traffic 1 (bulk)", "the whole run"]


def test_without_long_lived_flows_no_shares_are_shown(tmp_path: Path) -> None:
    found = compare(scenario(SMALL), ["drr"], repeat=1, store=Store(tmp_path))
    shown = {column.key for column in found.columns}
    assert "traffic_0_small_fct_p99_s" in shown
    assert not shown & {"jain_index", "throughput_ratio"}


def test_a_sweep_has_their_completion_times(tmp_path: Path) -> None:
    keep = ["fct_p99_s", "transfers"]
    study = fp.sweep(scenario(SMALL), {"queue.limit": ["16KiB"]}, keep=keep, folder=tmp_path / "s")
    row = study.to_polars().row(0, named=True)
    assert row["transfers"] == 6
    assert row["fct_p99_s"] > 0
