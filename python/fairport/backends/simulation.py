"""The packet-level simulator: a scenario and a seed become a Result."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from fairport import _core
from fairport.backends import memory
from fairport.errors import ScenarioError
from fairport.result import Result
from fairport.scenario import Scenario, load
from fairport.scenario.lower import Job, lower
from fairport.scenario.refusal import refusal

BACKEND = "simulation"

T = TypeVar("T")
_HEARD_WITHIN_S = 0.1

Progress = Callable[[int, float, int], None]
"""Called about every 20 ms of a run with its seed, the simulated seconds and the packet-hops so
far."""


@dataclass
class Prepared:
    """A scenario with its seed, checked and built, ready to be run once."""

    scenario: Scenario
    job: Job
    simulation: _core.Simulation

    @property
    def memory_bytes(self) -> int:
        """What the run is going to need, about."""
        return self.simulation.memory_bytes


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seed: int | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario once. A `seed` takes the place of the scenario's.

    Raises ScenarioError for a scenario that cannot be run, ResourceError for one that the machine
    cannot hold.
    """
    scenario = load(scenario)
    prepared = prepare(scenario, scenario.seed if seed is None else seed)
    memory.require(prepared.memory_bytes, scenario.file)
    return run_prepared(prepared, progress)


def run_many(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Runs a scenario with each of the seeds, `jobs` at a time.

    Yields the results in the order of the seeds. The engine releases the interpreter while it
    runs, so threads serve. Raises as `run` does, before the first run.
    Close the generator to stop the runs that are under way.
    """
    scenario = load(scenario)
    jobs = min(jobs, len(seeds))
    first = prepare(scenario, seeds[0])
    memory.require(first.memory_bytes * jobs, scenario.file)
    if jobs == 1:
        return (run_prepared(prepare(scenario, seed), progress) for seed in seeds)
    return _run_in_threads(scenario, seeds, jobs, progress)


def _run_in_threads(
    scenario: Scenario, seeds: Sequence[int], jobs: int, progress: Progress | None
) -> Generator[Result, None, None]:
    stop = threading.Event()

    def report(seed: int, simulated_s: float, packet_hops: int) -> None:
        # signals reach the main thread alone, so the others are told here
        if stop.is_set():
            raise KeyboardInterrupt
        if progress is not None:
            progress(seed, simulated_s, packet_hops)

    waiting = iter(seeds)
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            for _ in seeds:
                for seed in islice(waiting, jobs - len(running)):
                    running.append(pool.submit(run_prepared, prepare(scenario, seed), report))
                yield result_of(running.popleft())
        finally:
            stop.set()


def result_of(future: Future[T]) -> T:
    """What a thread found, waited for so that Ctrl-C is heard meanwhile.

    A wait without end would not be: the handler that polars installs lets it go on.
    """
    while not future.done():
        wait([future], timeout=_HEARD_WITHIN_S)
    return future.result()


def prepare(scenario: Scenario, seed: int) -> Prepared:
    """Checks a scenario with this seed and builds its network. Raises ScenarioError."""
    if seed != scenario.seed:
        scenario = scenario.patch({"seed": seed})
    job = _lowered(scenario)
    try:
        simulation = _core.Simulation(json.dumps(job.document))
    except _core.JobError as error:
        raise _refused(scenario, job, error) from None
    return Prepared(scenario, job, simulation)


def layout(scenario: Scenario) -> dict[str, Any]:
    """The network and the flows' paths as the engine builds them, without a run.

    Raises ScenarioError for a scenario that cannot be run.
    """
    job = _lowered(scenario)
    try:
        return _core.layout(json.dumps(job.document))
    except _core.JobError as error:
        raise _refused(scenario, job, error) from None


def _lowered(scenario: Scenario) -> Job:
    presets = {name: _core.preset(name) for name in _core.presets()}
    try:
        hosts = _core.topology_hosts(json.dumps(scenario.topology.job()))
    except _core.JobError as error:
        raise _refused(scenario, None, error) from None
    return lower(scenario, hosts, presets)


def _refused(scenario: Scenario, job: Job | None, error: _core.JobError) -> ScenarioError:
    return refusal(scenario, job, error.field, error.value, error.problem, error.remedy)


def run_prepared(prepared: Prepared, progress: Progress | None) -> Result:
    """Runs what `prepare` built, with no question about memory."""

    def report(simulated_s: float, packet_hops: int) -> None:
        if progress is not None:
            progress(prepared.scenario.seed, simulated_s, packet_hops)

    started = datetime.now(timezone.utc)
    begin = time.perf_counter()
    raw = prepared.simulation.run(report)
    return _result(prepared, raw, started, time.perf_counter() - begin)


def _result(prepared: Prepared, raw: dict[str, Any], started: datetime, wall_s: float) -> Result:
    from fairport import metrics, tables

    scenario, job, seed = prepared.scenario, prepared.job, prepared.scenario.seed
    run_id = f"{scenario.name}-seed-{seed}"
    workloads = [traffic.kind for traffic in scenario.traffic]
    frames = tables.from_core(raw, run_id, prepared.simulation.hosts, job.stacks, workloads)
    summary = metrics.summary(
        frames,
        scenario=scenario.name,
        seed=seed,
        version=_core.__version__,
        fingerprint=raw["fingerprint"],
        simulated_s=raw["simulated_s"],
        wall_s=wall_s,
        packet_hops=raw["packet_hops"],
        measure_from_s=raw["measure_from_s"],
        measure_to_s=raw["measure_to_s"],
        backend=BACKEND,
    )
    manifest = {
        "schema_version": metrics.SCHEMA_VERSION,
        "program": "fairport",
        "version": _core.__version__,
        "backend": BACKEND,
        "run_id": run_id,
        "seed": seed,
        "fingerprint": raw["fingerprint"],
        "started": started.isoformat(timespec="seconds"),
        "wall_s": wall_s,
        "simulated_s": raw["simulated_s"],
        "packet_hops": raw["packet_hops"],
        "events": raw["events"],
        "measure": {"from_s": raw["measure_from_s"], "to_s": raw["measure_to_s"]},
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "architecture": platform.machine(),
            "processors": os.cpu_count(),
            "python": platform.python_version(),
        },
        "scenario": scenario.to_toml(),
        "scenario_resolved": scenario.resolved(),
    }
    return Result(scenario=scenario, seed=seed, tables=frames, summary=summary, manifest=manifest)
