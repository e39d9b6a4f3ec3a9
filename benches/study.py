"""A study of many runs (two-switch, 12 peers, 1 s each): throughput, overhead, size, query.

`--runs 1000` is a quick look at the study of 10,000. The engine alone is measured on the same jobs,
in one process: what a run costs besides is the overhead. Runs on one worker and on all take turns,
so that both see the same machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import fairport as fp
from fairport import _core, backends
from fairport.study.one_run import LeanRun
from fairport.study.results import Study
from fairport.study.store import Store
from fairport.study.sweep import sweep

POINTS = 50
_ROUNDS = 5
_QUERY = 'select "topology.peers", "host.delay", median(throughput_ratio) from runs group by 1, 2'


def main(arguments: Sequence[str]) -> None:
    """Runs it and prints a line per question."""
    parser = argparse.ArgumentParser(prog="python -m benches study", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args(arguments).runs
    processors = os.cpu_count() or 1
    seeds = max(1, runs // (POINTS * 2 * _ROUNDS))
    one: list[float] = []
    several: list[float] = []
    alone: list[float] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _study(folder, range(1_000_000, 1_000_001), processors)  # starts the workers
        for turn in range(_ROUNDS):
            first = 1 + 2 * turn * seeds
            one.append(_study(folder, range(first, first + seeds), 1))
            several.append(_study(folder, range(first + seeds, first + 2 * seeds), processors))
            alone.append(_engine(range(first, first + 20)))
        study = Study(folder / "study")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        begin = time.perf_counter()
        points = study.sql(_QUERY).height
        query_s = time.perf_counter() - begin
        rows = study.to_polars().height
    of_one, of_several, engine = (statistics.median(of) * 1e3 for of in (one, several, alone))
    print(
        f"{rows} runs at {points} points, {processors} processors\n"
        f"one worker: {of_one:.1f} ms per run; {processors}: {of_several:.1f} ms,"
        f" {of_one / of_several:.2f} times the throughput\n"
        f"the engine alone: {engine:.1f} ms per run; beside it {of_one - engine:.1f} ms\n"
        f"the study and the store: {size / 1e6:.1f} MB;"
        f" for 10,000 runs {size / rows * 10_000 / 1e6:.1f} MB\n"
        f"a query of medians by one axis: {query_s:.3f} s"
    )


def _study(folder: Path, seeds: Sequence[int], jobs: int) -> float:
    """Seconds per run, with everything from the call to the study on disk."""
    base = fp.scenario("two-switch").patch({"duration": "1s"})
    begin = time.perf_counter()
    sweep(
        base,
        # one job as far as its cost goes
        {
            "topology.peers": [12],
            "host.delay": [f"{30_000 + number}ns" for number in range(POINTS)],
        },
        seeds=seeds,
        folder=folder / "study",
        store=Store(folder / "store"),
        jobs=jobs,
    )
    return (time.perf_counter() - begin) / (POINTS * len(seeds))


def _engine(seeds: Sequence[int]) -> float:
    """Seconds per run of the engine alone: a plan, a run, nothing made of it."""
    base = fp.scenario("two-switch").patch({"duration": "1s"})
    run = LeanRun.of(backends.get().prepare(base, 1))
    assert run is not None
    begin = time.perf_counter()
    for seed in seeds:
        _core.Simulation(f'{{"seed": {seed}, {run.job[1:]}').run(None)
    return (time.perf_counter() - begin) / len(seeds)
