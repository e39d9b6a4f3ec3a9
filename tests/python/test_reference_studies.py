"""Comparisons and studies beside a second computation (`reference_studies`)."""

from __future__ import annotations

import random
import re
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
import pytest
import random_traffic
import reference_statistics as reference
import reference_studies as studies
from fairport.metrics.run_numbers import NUMBERS
from fairport.study import point_statistics
from fairport.study.comparison.result import Comparison
from fairport.study.order import Order
from reference_summary import SIZES, Summary

SHARES = ["drr", "red", "dctcp", "pacing", "sfq", "port-fair", "shared-buffer", "bbr", "pie"]
LOADS: dict[str, list[dict[str, Any]]] = {
    "small_fct_p99_s": [{"kind": "poisson", "load": 0.5, "sizes": "2kB..200kB"}],
    "rounds_done": [{"kind": "incast", "from": "h4..h12", "to": "h0", "block": "20kB"}],
    "response_p99_s": [
        {"kind": "request-response", "servers": "h4..h9", "clients": "h0", "response": "20kB"}
    ],
    "loss_share": [{"kind": "udp", "from": "h4..h9", "to": "h0", "rate": "200Mbps"}],
}
LOADS["several"] = [*LOADS["small_fct_p99_s"], *LOADS["rounds_done"], *LOADS["response_p99_s"]]


def again(found: Comparison) -> studies.Comparison:
    """The same runs, one by one."""
    return studies.Comparison(
        {
            one.name: [fp.run(one.scenario, seed=seed) for seed in found.seeds]
            for one in found.candidates
            if one.refusal is None
        }
    )


def same_table(found: Comparison, ours: studies.Comparison) -> None:
    for row in found.table.to_dicts():
        if row["not_applicable"] is not None:
            continue
        for key in ours.rows["none"][0]:
            spread = ours.spread(row["fix"], key) or (None, None, None)
            theirs = [row[f"{key}_{part}"] for part in ("median", "q1", "q3")]
            assert not list(reference.differences(list(spread), theirs, f"{row['fix']}.{key}"))


@pytest.mark.parametrize("repeat", [3, 6])
def test_a_comparison_by_shares(repeat: int) -> None:
    scenario = fp.scenario("outcast-1-to-12").patch({"duration": "60ms"})
    found = fp.compare(scenario, SHARES, repeat=repeat)
    ours = again(found)
    assert (ours.lone, ours.peers) == (found.groups.lone, found.groups.peers) == ("2-hop", "6-hop")
    same_table(found, ours)
    same_ranking(found, ours)
    draw = random.Random(repeat)
    for _ in range(100):
        runs = drawn(draw, found.runs)
        for (fix,), of_fix in runs.sort("seed").partition_by("fix", as_dict=True).items():
            ours.rows[fix] = of_fix.to_dicts()
        same_ranking(replace(found, runs=runs), ours)


def same_ranking(found: Comparison, ours: studies.Comparison) -> None:
    needs = {one.name: len(one.needs) for one in found.candidates}
    assert [one.fix for one in found.ranking] == ours.by_share(needs)
    assert {one.fix: one.effect for one in found.ranking} == {
        fix: ours.word(fix) for fix in ours.rows if fix != "none"
    }


def drawn(draw: random.Random, runs: pl.DataFrame) -> pl.DataFrame:
    """The same runs with other numbers, many of them at the borders of the words."""
    shares: list[list[float | None]] = [[0.3, 0.5, 0.8, 1.0, 1.25, 3.0], [0.79, 0.8, 1.25, 1.26]]
    shares += [[0.0, 0.2, 0.4], [0.5, 0.5, 0.6], [1.0], [2.0, 2.2, 0.4, None]]
    rows = runs.to_dicts()
    for fix in runs["fix"].unique(maintain_order=True):
        of_fix = draw.choice(shares), draw.choice([[0.98], [0.97, 0.961], [0.9, 0.8]])
        for row in rows:
            if row["fix"] == fix:
                row["throughput_ratio"], row["jain_index"] = map(draw.choice, of_fix)
                row["goodput_bps_total"] = draw.choice([9e8, 8.9e8, 8.5e8])
        next(row for row in rows if row["fix"] == fix)["throughput_ratio"] = 0.7
    return pl.DataFrame(rows, runs.schema)


@pytest.mark.parametrize(("metric", "repeat"), [("several", 2), *((name, 4) for name in LOADS)])
def test_a_comparison_by_gains(metric: str, repeat: int) -> None:
    scenario = {
        "name": "loads",
        "duration": "10ms",
        "topology": {"kind": "fat-tree", "k": 4},
        "queue": {"limit": "16KiB"},
        "tcp": {"rto_min": "2ms"},
        "traffic": LOADS[metric],
    }
    found = fp.compare(scenario, ["drr", "dctcp", "red", "pacing", "fq-codel"], repeat=repeat)
    ours = again(found)
    same_table(found, ours)
    chosen = list(LOADS) if metric == "several" else [metric]
    needs = {one.name: len(one.needs) for one in found.candidates}
    ranked = ours.by_gain(dict(enumerate(chosen[: len(LOADS[metric])])), needs)
    assert [one.fix for one in found.ranking] == [fix for fix, _, _ in ranked]
    for one, (_, direction, factor) in zip(found.ranking, ranked, strict=True):
        words = {1: "better by a factor of ", -1: "worse by a factor of ", 0: "no clear difference"}
        assert one.effect.startswith(words[direction])
        if said := re.search(r"[\d.]+$", one.effect.replace(",", "")):
            assert float(said[0]) == pytest.approx(factor**direction, rel=0.05)


def numbers(result: fp.Result) -> dict[str, Any]:
    """A run's row of a study, by docs/guide/studies.md."""
    whole = Summary(result.scenario, result.tables)
    found = whole.summary()
    rows = result.drops.to_dicts()
    by_flow = [len(run) for run in reference.drop_runs(rows, "flow")]
    dark = [len(run) for run in reference.blackouts(rows)]
    tcp = {flow["flow"] for flow in whole.tcp}
    samples = sorted((r["rtt_s"], r["samples"]) for r in whole.rtt if r["flow"] in tcp)
    ours: dict[str, Any] = {
        "outcast": found["verdict"]["outcast"],
        "throughput_ratio": found["verdict"]["ratio"],
        "jain_index": found["jain_index"],
        "goodput_bps_total": found["goodput_bps_total"],
        "utilisation": found["utilisation"],
        "timeouts": sum(flow["timeouts"] for flow in whole.flows),
        "timeout_period_s": sum(flow["timeout_period_s"] for flow in whole.flows),
        "drops": len(rows),
        "marks": len(whole.marks),
        "drop_runs_ge2": sum(length >= 2 for length in by_flow),
        "longest_drop_run": max(by_flow, default=0),
        "blackouts": len(dark),
        "longest_blackout": max(dark, default=0),
        "rtt_mean_s": reference.weighted_mean(samples),
        "rtt_p99_s": reference.weighted_quantile(samples, 0.99),
        "queue_mean_bytes": found["bottleneck"]["queue_mean_bytes"],
        "queue_max_bytes": found["bottleneck"]["queue_max_bytes"],
    }
    first = [flow["goodput_bps"] for flow in whole.tcp if flow["traffic"] == 0]
    if len(first) < len(whole.tcp) and found["goodput_bps_total"]:
        ours["first_traffic_share"] = sum(first) / found["goodput_bps_total"]
    classes, lone = found["classes"], whole.lone_class()
    most = max((one["flows"] for one in classes.values()), default=0)
    for name, one in classes.items():
        if one["flows"] == most:
            for part in ("mean", "min", "max"):
                ours[f"peers_goodput_bps_{part}"] = one[f"goodput_bps_{part}"]
        if name == lone:
            for key in ("goodput_bps_mean", "timeouts", "timeout_period_s"):
                ours[f"lone_{key}"] = one[key]
    bounds: dict[str, bool] = {}
    for entry in reversed(found["traffic"]):
        ours |= of_load(entry)
        bounds |= bounds_of(entry)
    if bounds:
        ours["lower_bounds"] = sum(bounds.values())
    return dict.fromkeys(NUMBERS) | ours


def bounds_of(entry: dict[str, Any]) -> dict[str, bool]:
    """Which quantiles of one traffic are lower bounds, by the keys of their group and name."""
    groups = {
        "fct": (entry.get("fct_s"), ("median", "p99")),
        **{size: (entry.get(f"{size}_fct_s"), ("median", "p99")) for size, *_ in SIZES},
        "slowdown": (entry.get("slowdown"), ("median", "p99")),
        "round": (entry.get("rounds", {}).get("time_s"), ("median", "p99")),
        "response": (entry.get("requests", {}).get("time_s"), ("median", "p99")),
        "delay": (entry.get("delay_s"), ("p99",)),
    }
    return {
        f"{group} {name}": name in of.get("bounds", [])
        for group, (of, names) in groups.items()
        if of
        for name in names
    }


def of_load(entry: dict[str, Any]) -> dict[str, Any]:
    """The numbers of one traffic; those of the first that has them count."""
    found: dict[str, Any] = {}
    times = {
        "round_time": entry.get("rounds", {}).get("time_s"),
        "response": entry.get("requests", {}).get("time_s"),
        "fct": entry.get("fct_s"),
    }
    for name, of in times.items():
        if of:
            found |= {f"{name}_median_s": of["median"], f"{name}_p99_s": of["p99"]}
    if "rounds" in entry:
        found["rounds_done"] = entry["rounds"]["done"]
        found["round_goodput_bps"] = entry["rounds"].get("goodput_bps")
    if entry["transfers"]:
        found |= {key: entry[key] for key in ("transfers", "unfinished")}
    for size, *_ in SIZES:
        of = entry.get(f"{size}_fct_s", {})
        found |= {f"{size}_fct_{key}_s": of[key] for key in ("median", "p99") if key in of}
    if "slowdown" in entry:
        found |= {f"slowdown_{key}": entry["slowdown"][key] for key in ("median", "p99")}
    if entry.get("loss_share") is not None:
        found["loss_share"] = entry["loss_share"]
    if "delay_s" in entry:
        found |= {f"delay_{key}_s": entry["delay_s"][key] for key in ("mean", "p99")}
    return found


def same_row(row: dict[str, Any], result: fp.Result) -> None:
    found = list(reference.differences(numbers(result), {name: row[name] for name in NUMBERS}))
    assert not found, "\n".join(found)


def test_the_rows_and_intervals_of_a_sweep(tmp_path: Path) -> None:
    base = fp.scenario("two-switch").patch({"duration": "40ms"})
    axes = {"topology.peers": [1, 2, 9], "queue.limit": ["8KiB", "64KiB"]}
    study = fp.sweep(base, axes, seeds=7, folder=tmp_path / "study")
    runs = study.to_polars()
    assert runs.height == 42
    for row in runs.to_dicts():
        point = {axis: row[axis] for axis in axes}
        same_row(row, fp.run(base.patch(point), seed=row["seed"]))
    for one in point_statistics.per_point(runs, list(axes), "jain_index").to_dicts():
        values = runs.filter(**{axis: one[axis] for axis in axes})["jain_index"].to_list()
        assert one["median"] == statistics.median(values)
        assert (one["low"], one["high"]) == studies.sign_test(values)
    asked = study.sql('select "topology.peers" p, median(jain_index) m from runs group by 1')
    for peers, middle in asked.rows():
        values = runs.filter(pl.col("topology.peers") == peers)["jain_index"].to_list()
        assert middle == statistics.median(values)


@pytest.mark.parametrize("seed", range(80, 95))
def test_the_row_of_a_random_run(seed: int, tmp_path: Path) -> None:
    scenario = random_traffic.scenario(seed)
    study = fp.sweep(scenario, {"link.mtu": ["1500B"]}, seeds=[seed], folder=tmp_path / "study")
    same_row(study.to_polars().row(0, named=True), fp.run(scenario, seed=seed))


def test_the_interval_of_a_median() -> None:
    """Of twenty seeds it is from the sixth value to the fifteenth, of six the range."""
    draw = random.Random(1)
    for count in range(1, 120):
        values = [draw.choice([draw.random(), 0.5]) for _ in range(count)]
        assert point_statistics.median_interval(np.array(values)) == studies.sign_test(values)
    assert studies.sign_test(range(1, 21)) == (6, 15)
    assert studies.sign_test(range(1, 7)) == (1, 6)


def test_the_order_of_a_claim() -> None:
    draw = random.Random(2)
    held = Counter[int]()
    for _ in range(3000):
        seeds, slope = draw.choice([1, 2, 3, 5, 10]), draw.choice([-1.0, 0.0, 0.5, 1.0])
        variants: list[list[float | None]] = [
            [draw.choice([slope * at + draw.choice([0, 0.5, 1, 2]), None]) for _ in range(seeds)]
            if draw.random() < 0.1
            else [slope * at + draw.choice([0, 0.5, 1, 2]) for _ in range(seeds)]
            for at in range(draw.choice([2, 3, 4]))
        ]
        order = Order.of(variants)
        ours = [studies.is_in_order(variants, sign) for sign in (1, -1)]
        assert [order.rises, order.falls] == ours, variants
        held.update(sign for sign, one in zip((1, -1), ours, strict=True) if one)
    assert held[1] > 100
    assert held[-1] > 100
