"""Summaries of random runs beside a second computation (`reference_summary`)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import fairport as fp
import polars as pl
import pytest
import random_traffic
import reference_statistics as reference
from fairport.backends import made
from fairport.backends.simulation import BACKEND, PreparedSimulation
from fairport.metrics.drop_runs import By, blackouts, drop_runs
from fairport.metrics.repeats import summarise
from reference_statistics import differences
from reference_summary import Summary

GIVEN = {
    *("schema_version", "scenario", "seeds", "backend", "version", "fingerprint", "valid"),
    *("wall_s", "packet_hops", "packet_hops_per_s", "files", "spread", "caveats"),
    *("host_times_rate_bps", "decisions_left_out", "fullest_link"),
}
"""Keys without a number that the tables decide."""


def compare(result: fp.Result) -> None:
    """Every key that the tables decide."""
    theirs: dict[str, Any] = {key: one for key, one in result.summary.items() if key not in GIVEN}
    theirs["verdict"] = {key: one for key, one in theirs["verdict"].items() if key != "sentence"}
    found = list(differences(Summary(result.scenario, result.tables).summary(), theirs))
    assert not found, "\n".join(found)


def prepared(seed: int) -> PreparedSimulation:
    return BACKEND.prepare(fp.scenario(random_traffic.scenario(seed)), seed)


@pytest.mark.parametrize("seed", range(60))
def test_every_number_of_a_random_run(seed: int) -> None:
    result = fp.run(random_traffic.scenario(seed), seed=seed, threads=1)
    compare(result)
    given = result.summary
    assert given["packet_hops_per_s"] == given["packet_hops"] / given["wall_s"]


@dataclass(frozen=True)
class Cut:
    """A simulation that is in two regions from the start."""

    whole: Any

    def run(self, progress: Any, observation: Any, threads: int) -> dict[str, Any]:
        found: dict[str, Any] = self.whole.run(progress, observation, threads, 2)
        return found

    def fullest_link(self) -> None:
        """Given, not decided by the tables."""


@pytest.mark.parametrize("seed", range(200, 206))
def test_every_number_of_a_run_in_two_regions(seed: int) -> None:
    whole = prepared(seed)
    simulation: Any = Cut(whole.simulation)
    cut = replace(whole, simulation=simulation)
    compare(made.result(BACKEND, cut, cut.run(threads=2)))


@pytest.mark.parametrize("seed", range(300, 400))
def test_every_number_of_tables_at_their_borders(seed: int) -> None:
    """Equal, zero, huge and missing values, and times at the borders of the measurement."""
    draw, scenario = random.Random(seed), random_traffic.scenario(seed)
    scenario["measure"] = {"from": draw.choice(["0s", "1ms"]), "to": "4ms"}
    run = BACKEND.prepare(fp.scenario(scenario), seed)
    recorded = run.run()
    borders = Borders(draw, recorded.measure_from_s, recorded.measure_to_s)
    compare(made.result(BACKEND, run, replace(recorded, tables=borders.moved(recorded.tables))))


class Borders:
    """Moves the values of a run's tables to where rules change."""

    def __init__(self, draw: random.Random, from_s: float, to_s: float) -> None:
        self.draw = draw
        self.times = [from_s, to_s, 0.0, (from_s + to_s) / 2, to_s - 1e-12]

    def moved(self, tables: Any) -> dict[str, pl.DataFrame]:
        """All tables, of which some have other values."""
        found = dict(tables)
        choice, hops = self.draw.choice, self.draw.choice([[2], [2, 4], [2, 4, 6], [2, 4, 4, 6, 6]])
        rates = choice([[0.0], [5e6], [1e15, 9e17, 0.0], [1e-9, 5e-10], [0.0, 1e6, 1e6, 3.3e9]])
        found["flows"] = self.changed(
            found["flows"],
            goodput_bps=lambda _: choice(rates),
            hops=lambda _: choice(hops),
            start_s=self.at_border,
            end_s=lambda at: None if at is None else choice([at, *self.times]),
            fct_s=lambda took: None if took is None else choice([took, 1e-3, 1e-3, None]),
        )
        found["ports"] = self.changed(
            found["ports"],
            flows=lambda _: choice([1, 2, 2]),
            busy_share=lambda share: choice([share, 0.5, 0.5]),
        )
        found["requests"] = self.changed(
            found["requests"], start_s=self.at_border, response_s=self.equal
        )
        if found["rounds"]["flow"].is_null().all():  # those of incast, which are not flows too
            found["rounds"] = self.changed(
                found["rounds"], start_s=self.at_border, completion_s=self.equal
            )
        if found["drops"].height:
            found["timeouts"] = self.timeouts(found["drops"], found["timeouts"])
        return found

    def at_border(self, at_s: float) -> float:
        return self.draw.choice([at_s, *self.times])

    def equal(self, took_s: float | None) -> float | None:
        return None if took_s is None else self.draw.choice([took_s, 2e-3, 2e-3])

    def timeouts(self, drops: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
        """Timeouts that wait for segments that were dropped, some at the same instant."""
        rows = []
        for drop in self.draw.choices(drops.to_dicts(), k=30):
            end_s = self.draw.choice([drop["time_s"], drop["time_s"] + 1e-4, *self.times])
            is_backward = self.draw.choice([drop["is_backward"], False, True])
            rows.append({"flow": drop["flow"], "seq": drop["seq"], "is_backward": is_backward})
            rows[-1]["end_s"] = end_s
            rows[-1]["start_s"] = min(end_s, self.at_border(end_s))
        return pl.DataFrame(rows, {name: like.schema[name] for name in like.columns})

    @staticmethod
    def changed(table: pl.DataFrame, **change: Callable[[Any], Any]) -> pl.DataFrame:
        columns = {
            name: pl.Series(name, [one(value) for value in table[name]], table.schema[name])
            for name, one in change.items()
        }
        return table.with_columns(**columns)


@pytest.mark.parametrize("seed", range(60, 80))
def test_drop_runs_and_blackouts(seed: int) -> None:
    drops = fp.run(random_traffic.scenario(seed), seed=seed).drops
    rows = drops.to_dicts()
    dropped = reference.arrivals(rows)
    members: list[tuple[By, list[str]]] = [
        ("flow", ["port", "flow", "is_backward"]),
        ("ingress", ["port", "ingress_port"]),
        ("port", ["port"]),
    ]
    for by, columns in members:
        found = drop_runs(drops, by).select(*columns, "length", "others_accepted")
        assert sorted(found.rows()) == sorted(
            (*(run[0][one] for one in columns), len(run), reference.others_accepted(run, dropped))
            for run in reference.drop_runs(rows, by)
        )
    dark = blackouts(drops).select("port", "ingress_port", "first_s", "length")
    assert sorted(dark.rows()) == sorted(
        (run[0]["port"], run[0]["ingress_port"], min(row["time_s"] for row in run), len(run))
        for run in reference.blackouts(rows)
    )


def test_several_seeds_are_medians_of_each() -> None:
    for number in range(12):
        scenario = random_traffic.scenario(number)
        runs = [dict(fp.run(scenario, seed=seed).summary) for seed in range(1, 6)]
        whole = summarise(runs)
        for key in ("wall_s", "packet_hops"):
            assert whole[key] == sum(run[key] for run in runs)
        assert (whole["runs"], whole["fingerprint"]) == (runs, None)
        documents: list[dict[str, Any]] = [over_runs(runs), whole]
        ours, theirs = (
            {key: one for key, one in document.items() if key not in GIVEN | {"runs"}}
            for document in documents
        )
        ours["verdict"]["sentence"] = theirs["verdict"]["sentence"]
        found = list(differences(ours, theirs))
        assert not found, "\n".join(found)


def is_lower_bound(key: str, runs: list[Any]) -> bool:
    """Whether a run at or below the median, or with the next value above it, could be above it."""
    there = [run for run in runs if isinstance(run.get(key), int | float)]
    exact = sorted(run[key] for run in there if key not in run.get("bounds", []))
    middle = len(there) // 2
    return len(there) > 0 and (
        len(exact) <= middle
        or exact[middle] + exact[(len(there) - 1) // 2] > 2 * median(run[key] for run in there)
    )


def over_runs(values: list[Any]) -> Any:
    """The median, part by part, over the runs that have it; of answers, that of the majority."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if isinstance(first, bool):
        return known.count(True) > len(known) / 2
    if isinstance(first, dict):
        keys = {key: None for one in known for key in one}
        whole = {key: over_runs([one.get(key) for one in known]) for key in keys}
        bounds = [key for key in keys if is_lower_bound(key, known)]
        return {key: of for key, of in whole.items() if key != "bounds"} | (
            {"bounds": bounds} if bounds else {}
        )
    if isinstance(first, list) and isinstance(next(iter(first), None), dict):
        return [over_runs(list(entries)) for entries in zip(*known, strict=True)]
    if isinstance(first, int | float):
        return median(known) if len(set(known)) > 1 else first
    return first if all(value == first for value in values) else None
