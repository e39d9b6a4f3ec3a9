"""Running scenarios on any backend: what it recorded becomes a Result."""

from __future__ import annotations

import os
import platform
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from typing import Any

from fairport import _core, backends, known_spread, loads, metrics
from fairport.backends import memory
from fairport.backends.protocol import Backend, Observation, Prepared, Progress, Recorded
from fairport.ordered_threads import Stop, Submit, in_order
from fairport.result import Result, run_id
from fairport.scenario import Scenario, load
from fairport.scenario.tcp import DEFAULT_STACK
from fairport.scenario.traffic import Traffic
from fairport.scenario.traffic.incast import Incast
from fairport.scenario.user_code import Factory


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seed: int | None = None,
    *,
    backend: str = backends.DEFAULT,
    disciplines: Mapping[str, Factory] | None = None,
    congestion_controls: Mapping[str, Factory] | None = None,
    observation: Observation | None = None,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario once. `seed` replaces the scenario's seed.

    `observation` keeps single packets, as captures or in the table `packets`.

    `disciplines` and `congestion_controls` are classes of your own, by the names that the scenario
    calls them (docs/extending.md). Where one raises an exception, CustomError is raised with the
    exception as its cause.

    Raises InputError for an unknown backend, ScenarioError for a scenario that cannot be run,
    ResourceError when the run needs more memory than the machine has left.
    """
    scenario = load(scenario).with_user_code(
        disciplines=disciplines, congestion_controls=congestion_controls
    )
    chosen = backends.get(backend)
    prepared = _prepared(chosen, scenario, scenario.seed if seed is None else seed, observation)
    memory.require(prepared.estimate.memory_bytes, scenario.file)
    return run_prepared(chosen, prepared, progress)


def run_many(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seeds: Sequence[int],
    *,
    backend: str = backends.DEFAULT,
    jobs: int = 1,
    retries: int = 0,
    observation: Observation | None = None,
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Runs a scenario with each of the seeds, `jobs` at a time; in real time one at a time.

    Yields the results in the order of the seeds. A run that is not valid (`summary["valid"]`) is
    yielded, too, and then made again with its seed, up to `retries` times over all seeds. Raises as
    `run` does, before the first run. Close the generator to stop the runs that are under way.
    """
    scenario = load(scenario)
    chosen = backends.get(backend)
    jobs = 1 if chosen.is_real_time else min(jobs, len(seeds))
    first = _prepared(chosen, scenario, seeds[0], observation)
    memory.require(first.estimate.memory_bytes * jobs, scenario.file)
    rest = (_prepared(chosen, scenario, seed, observation) for seed in seeds[1:])
    prepared = chain([first], rest)
    if jobs == 1:
        return _in_turn(chosen, prepared, retries, observation, progress)
    return _in_threads(chosen, prepared, jobs, progress)


def run_prepared(backend: Backend, prepared: Prepared, progress: Progress | None) -> Result:
    """Runs what the backend prepared, without a check of memory."""
    return _result(backend, prepared, prepared.run(progress))


def _prepared(
    backend: Backend, scenario: Scenario, seed: int, observation: Observation | None
) -> Prepared:
    prepared = backend.prepare(scenario, seed)
    return prepared if observation is None else prepared.observing(observation)


def _in_turn(
    backend: Backend,
    prepared: Iterable[Prepared],
    retries: int,
    observation: Observation | None,
    progress: Progress | None,
) -> Generator[Result, None, None]:
    for one in prepared:
        result = run_prepared(backend, one, progress)
        yield result
        while not result.summary["valid"] and retries > 0:
            retries -= 1
            again = _prepared(backend, one.scenario, one.scenario.seed, observation)
            result = run_prepared(backend, again, progress)
            yield result


def _in_threads(
    backend: Backend,
    prepared: Iterable[Prepared],
    jobs: int,
    progress: Progress | None,
) -> Generator[Result, None, None]:
    stop = Stop()

    def report(seed: int, simulated_s: float, packet_hops: int) -> None:
        stop.check()
        if progress is not None:
            progress(seed, simulated_s, packet_hops)

    def begin(one: Prepared, submit: Submit[Result]) -> Future[Result]:
        return submit(lambda: run_prepared(backend, one, report))

    return in_order(prepared, begin, threads=jobs, ahead=jobs, stop=stop)


def _result(backend: Backend, prepared: Prepared, recorded: Recorded) -> Result:
    version, scenario = _core.__version__, prepared.scenario
    summary = metrics.summary(
        recorded.tables,
        scenario=scenario.name,
        seed=scenario.seed,
        version=version,
        fingerprint=recorded.fingerprint,
        simulated_s=recorded.simulated_s,
        wall_s=recorded.wall_s,
        packet_hops=recorded.packet_hops,
        measure_from_s=recorded.measure_from_s,
        measure_to_s=recorded.measure_to_s,
        backend=backend.name,
        valid=recorded.valid,
    )
    summary |= _of_its_loads(scenario, recorded)
    if summary["verdict"]["sentence"] == metrics.NO_VERDICT:
        summary["verdict"]["sentence"] = loads.sentence(summary["traffic"]) or metrics.NO_VERDICT
    summary["spread"] = ""
    if summary["verdict"]["ratio"] is not None:
        summary["spread"] = known_spread.sentence(prepared.key)
    summary["caveats"] = loads.caveats(summary)
    if recorded.health:
        # a backend in real time says how well it kept its times, and whether that was enough
        summary |= {"health": dict(recorded.health), "faults": list(recorded.faults)}
    manifest = {
        "schema_version": metrics.SCHEMA_VERSION,
        "program": "fairport",
        "version": version,
        "backend": backend.name,
        "run_id": run_id(scenario),
        "seed": scenario.seed,
        # by which the store of runs finds it
        "key": prepared.key if prepared.is_kept else None,
        "fingerprint": recorded.fingerprint,
        "started": recorded.started.isoformat(timespec="seconds"),
        "wall_s": recorded.wall_s,
        "simulated_s": recorded.simulated_s,
        "packet_hops": recorded.packet_hops,
        "events": recorded.events,
        "decisions_left_out": recorded.decisions_left_out,
        "valid": recorded.valid,
        "faults": list(recorded.faults),
        "health": dict(recorded.health),
        "measure": {"from_s": recorded.measure_from_s, "to_s": recorded.measure_to_s},
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
    if scenario.user_code:
        manifest["user_code"] = scenario.user_code.described()
    return Result(
        scenario=scenario,
        seed=scenario.seed,
        tables=recorded.tables,
        summary=summary,
        manifest=manifest,
    )


def _of_its_loads(scenario: Scenario, recorded: Recorded) -> dict[str, Any]:
    """The part of the summary that follows the scenario's [[traffic]]."""
    span = loads.Span(recorded.measure_from_s, recorded.measure_to_s, recorded.simulated_s)
    tables = recorded.tables
    share = loads.host_queue_drop_share(tables["flows"], tables["ports"])
    return {
        "host_queue_drop_share": share,
        "rto_min_s": _rto_min_s(scenario),
        "decisions_left_out": recorded.decisions_left_out,
        "traffic": loads.summary(tables, [_load(one) for one in scenario.traffic], span),
    }


def _load(traffic: Traffic) -> loads.Load:
    """What the summary has to know of a [[traffic]]."""
    if not isinstance(traffic, Incast):
        return loads.Load(traffic.kind)
    return loads.Load(
        traffic.kind,
        rounds=traffic.rounds,
        start_s=traffic.start.seconds,
        stop_s=None if traffic.stop is None else traffic.stop.seconds,
        pause_s=traffic.pause.seconds,
    )


def _rto_min_s(scenario: Scenario) -> float:
    """The largest minimum RTO that the scenario gives to any sender."""
    preset = _core.preset(scenario.tcp.stack or DEFAULT_STACK)
    known = [float(preset["rto_min_ps"]) / 1e12]
    if scenario.tcp.rto_min is not None:
        known = [scenario.tcp.rto_min.seconds]
    special = [*scenario.host_tcp, *(one.tcp for one in scenario.traffic if one.tcp)]
    known += [one.rto_min.seconds for one in special if one.rto_min is not None]
    return max(known)
