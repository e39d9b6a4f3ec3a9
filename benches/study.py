"""A study of many runs (two-switch, 12 peers, 1 s each): throughput, overhead, size, query.

`--runs 2000` is a quick look at the study of 10,000. One core and all of them take turns, so that
both see the same machine; one core has everything: the process that hands out runs and writes the
study, and its worker. What a run takes there beyond the time that its worker spent in the engine is
the overhead. In each turn the engine alone is measured on the same cores: its gain from more cores
is the most that a study can gain on this machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import fairport as fp
import polars as pl
from fairport import _core, backends
from fairport.study.results import Study
from fairport.study.runs.one_run import LeanRun
from fairport.study.runs.store import Store
from fairport.study.sweep import sweep

POINTS = 50
# with fewer runs, the work that a sweep does once takes longer than the runs
_LEAST_RUNS = 10 * POINTS
_ENGINE_RUNS = 100
_QUERY = 'select "topology.peers", "host.delay", median(throughput_ratio) from runs group by 1, 2'


def main(arguments: Sequence[str]) -> None:
    """Runs it and prints a line per question."""
    parser = argparse.ArgumentParser(prog="python -m benches study", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    # this process measures one part: its arguments are the part's folder, seeds and cores
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part is None:
        _report(options.runs)
        return
    what, first, seeds, jobs = options.part
    if what == "engine":
        print(_engine(range(int(first), int(first) + int(seeds))))
    else:
        print(_study(Path(what), range(int(first), int(first) + int(seeds)), int(jobs)))


def _report(runs: int) -> None:
    cores = _cores()
    turns = max(1, min(5, runs // (2 * _LEAST_RUNS)))
    seeds = max(1, runs // (POINTS * 2 * turns))
    took: dict[str, list[float]] = {"engine": [], "one": [], "engines": [], "all": []}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for turn in range(turns):
            first = 1 + 2 * turn * seeds
            took["engine"] += _engines(cores[:1], first)
            took["one"].append(_part(str(folder), first, seeds, cores[:1]))
            took["engines"] += _engines(cores, first)
            took["all"].append(_part(str(folder), first + seeds, seeds, cores))
        study = Study(folder / "study")
        size = sum(_size(folder / kept) for kept in ("study", "store"))
        queries = [_query(study) for _ in range(6)]
        points = study.sql(_QUERY).height
        in_engine = _in_engine(Store(folder / "store"), turns, seeds)
        rows = study.to_polars().height
    engine, one, engines, every = (statistics.median(of) * 1e3 for of in took.values())
    several, took_ms = len(cores), statistics.fmean(took["one"]) * 1e3
    print(
        f"{rows} runs at {points} points; {turns} turns on one core and on {several}\n"
        f"one core: {one:.1f} ms per run, {in_engine:.1f} ms of it in the engine:"
        f" overhead {took_ms - in_engine:.1f} ms; the engine alone {engine:.1f} ms\n"
        f"{several} cores: {every:.1f} ms per run, {one / every:.2f} times the throughput;"
        f" {several} engines alone {several * engine / engines:.2f} times\n"
        f"the study and the store: {size / 1e6:.1f} MB;"
        f" for 10,000 runs {size / rows * 10_000 / 1e6:.1f} MB\n"
        f"a query of medians by one axis: {statistics.median(queries[1:]):.3f} s,"
        f" the first, which loads DuckDB, {queries[0]:.3f} s"
    )


def _in_engine(store: Store, turns: int, seeds: int) -> float:
    """Milliseconds per run in the engine, by the workers' clocks, of the runs on one core."""
    first = [1 + 2 * turn * seeds for turn in range(turns)]
    on_one = [seed for begin in first for seed in range(begin, begin + seeds)]
    rows = store.numbers().filter(pl.col("seed").is_in(on_one))
    assert rows.height == len(on_one) * POINTS
    return float(rows["wall_s"].to_numpy().mean()) * 1e3


def _query(study: Study) -> float:
    begin = time.perf_counter()
    study.sql(_QUERY)
    return time.perf_counter() - begin


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _cores() -> list[int]:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _part(what: str, first: int, seeds: int, cores: Sequence[int]) -> float:
    """Seconds per run of a part on these cores."""
    with _started(what, first, seeds, cores) as part:
        return float(part.communicate()[0])


def _engines(cores: Sequence[int], first: int) -> list[float]:
    """Seconds per run of as many engines as cores, at the same time."""
    parts = [_started("engine", first, _ENGINE_RUNS, cores) for _ in cores]
    return [float(part.communicate()[0]) for part in parts]


def _started(what: str, first: int, seeds: int, cores: Sequence[int]) -> subprocess.Popen[str]:
    part = ["--part", what, str(first), str(seeds), str(len(cores))]
    # taskset: workers and threads of libraries inherit the cores, from the first on
    pinned = ["taskset", "-c", ",".join(map(str, cores))] if sys.platform == "linux" else []
    return subprocess.Popen(
        [*pinned, sys.executable, "-m", "benches", "study", *part],
        stdout=subprocess.PIPE,
        text=True,
    )


def _study(folder: Path, seeds: Sequence[int], jobs: int) -> float:
    """Seconds per run, with everything from the call to the study on disk."""
    _swept(folder / f"warm-{seeds[0]}", range(2), 4, jobs)  # starts the workers
    begin = time.perf_counter()
    _swept(folder, seeds, POINTS, jobs)
    return (time.perf_counter() - begin) / (POINTS * len(seeds))


def _swept(folder: Path, seeds: Sequence[int], points: int, jobs: int) -> None:
    sweep(
        fp.scenario("two-switch").patch({"duration": "1s"}),
        # `host.delay` changes the job but not the cost of its run
        {
            "topology.peers": [12],
            "host.delay": [f"{30_000 + number}ns" for number in range(points)],
        },
        seeds=seeds,
        folder=folder / "study",
        store=Store(folder / "store"),
        jobs=jobs,
    )


def _engine(seeds: Sequence[int]) -> float:
    """Seconds per run of the engine alone: it plans and runs, and its tables are not used."""
    base = fp.scenario("two-switch").patch({"duration": "1s"})
    run = LeanRun.of(backends.get().prepare(base, 1))
    assert run is not None
    begin = time.perf_counter()
    for seed in seeds:
        _core.Simulation(f'{{"seed": {seed}, {run.job[1:]}').run(None)
    return (time.perf_counter() - begin) / len(seeds)
