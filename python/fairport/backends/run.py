"""Runs scenarios on any backend, and makes a Result of what it recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport import backends
from fairport.backends import cores, memory
from fairport.backends.jobs import job_of
from fairport.backends.progress import Progress, Report, Tally
from fairport.backends.protocol import Backend, Observation, Prepared
from fairport.errors import BackendError, InputError, did_you_mean, require_class, require_positive
from fairport.ordered_threads import Stop, Submit, in_order
from fairport.result import Result
from fairport.scenario import Scenario, load

if TYPE_CHECKING:
    from fairport.scenario.user_code import Factory


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seed: int | None = None,
    *,
    backend: str = backends.DEFAULT,
    disciplines: Mapping[str, Factory] | None = None,
    congestion_controls: Mapping[str, Factory] | None = None,
    observation: Observation | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario once.

        result = fp.run("outcast", seed=1)
        print(result.flows.select("src", "hops", "goodput_bps"))

    `scenario` is a built-in scenario's name, a file's path, a dict or a Scenario; `seed` replaces
    its seed. `backend` is "simulation" or "linux". A long simulation of a busy network uses up to
    `threads` cores, by default all of the machine's. The result is the same. `observation` keeps
    single packets, as captures or in the table `packets`. `disciplines` and `congestion_controls`
    are your own classes, by their names in the scenario (docs/extending.md). `progress` is called
    with an `fp.Done`, several times per second.

    Raises InputError for an unknown backend and for a class that the scenario does not name,
    ScenarioError for a scenario that cannot be run, ResourceError when the run needs more memory
    than the machine has left, and BackendError when the backend fails. If a class of yours raises
    an exception, CustomError is raised with the exception as its cause.
    """
    scenario = load(scenario).with_user_code(
        disciplines=disciplines, congestion_controls=congestion_controls
    )
    if disciplines or congestion_controls:
        _refuse_unused(scenario, disciplines or {}, congestion_controls or {})
    if threads is None:
        threads = cores.cores()
    require_positive(threads, "threads")
    chosen = backends.get(backend)
    prepared = _prepared(chosen, scenario, scenario.seed if seed is None else seed, observation)
    needed = prepared.estimate.memory_bytes
    memory.require(needed, scenario)
    threads = cores.that_fit(threads, needed)
    return _run(chosen, prepared, Tally(1, progress), 0, threads)


def run_many(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seeds: Iterable[int],
    *,
    backend: str = backends.DEFAULT,
    jobs: int = 1,
    retries: int = 0,
    observation: Observation | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Runs a scenario with each of the seeds, `jobs` at a time; in real time one at a time.

        for result in fp.run_many("two-switch", range(1, 4)):
            print(result.seed, result.summary["verdict"]["ratio"])

    A simulation uses up to `threads` cores; `progress` is that of `run`. Yields the results in the
    order of the seeds. A run that is not valid (`summary["valid"]`) is yielded, too, and then
    repeated with its seed, up to `retries` times over all seeds. Raises as `run` does, before the
    first run. Close the generator to stop the runs that are under way.
    """
    scenario = load(scenario)
    chosen = backends.get(backend)
    if not isinstance(seeds, Iterable):
        raise InputError(
            "is not a list of seeds",
            field="seeds",
            value=seeds,
            remedy="give range(1, 4) for three runs, or [1] for one",
        )
    seeds = list(seeds)
    if not seeds:
        raise InputError("is empty", field="seeds", remedy="give a seed, such as [1]")
    for seed in seeds:
        scenario.with_seed(seed)
    require_positive(jobs, "jobs")
    require_positive(threads, "threads")
    jobs = 1 if chosen.is_real_time else min(jobs, len(seeds))
    first = _prepared(chosen, scenario, seeds[0], observation)
    needed = first.estimate.memory_bytes * jobs
    memory.require(needed, scenario)
    threads = cores.that_fit(threads, needed)
    rest = (_prepared(chosen, scenario, seed, observation) for seed in seeds[1:])
    prepared, tally = chain([first], rest), Tally(len(seeds), progress)
    if jobs == 1:
        return _in_turn(chosen, prepared, retries, observation, threads, tally)
    return _in_threads(chosen, prepared, jobs, threads, tally)


def run_prepared(
    backend: Backend, prepared: Prepared, report: Report | None, threads: int = 1
) -> Result:
    """Runs a prepared run on up to `threads` cores, without a check of memory."""
    _refuse_a_fork()
    recorded = prepared.run(report, threads=threads)
    # The modules that compute the numbers take a while to import, and the run does not need them.
    from fairport.backends import made

    return made.result(backend, prepared, recorded)


_process: dict[str, int] = {}
"""The process of the first run, under `first`."""


def _refuse_a_fork() -> None:
    """Raises BackendError in a process that was forked after a run.

    There polars would wait without end for its threads, which only the first process has.
    """
    if _process.setdefault("first", os.getpid()) != os.getpid():
        raise BackendError(
            "cannot run in a process that was forked after a run",
            remedy='start it with `multiprocessing.get_context("spawn")`, or use'
            " `fp.run_many(.., jobs=2)`",
        )


def _refuse_unused(
    scenario: Scenario,
    disciplines: Mapping[str, Factory],
    congestion_controls: Mapping[str, Factory],
) -> None:
    """Raises InputError for a class that the scenario does not name: it would never be called."""
    named = job_of(scenario).user_code
    queue = "queue.name"
    of_queue = [named.pop(queue)] if queue in named else []
    for argument, given, names, change in (
        ("disciplines", disciplines, of_queue, '"queue.kind": "custom", "queue.name": "{}"'),
        (
            "congestion_controls",
            congestion_controls,
            sorted({*named.values()}),
            '"tcp.congestion_control": "custom:{}"',
        ),
    ):
        for name in given:
            if name not in names:
                raise InputError(
                    f"is not in the scenario, which names {', '.join(names) or 'none of your own'}",
                    field=argument,
                    value=name,
                    remedy=did_you_mean(name, names)
                    if names
                    else f"name it: `scenario.patch({{{change.format(name)}}})`",
                )


def _prepared(
    backend: Backend, scenario: Scenario, seed: int, observation: Observation | None
) -> Prepared:
    prepared = backend.prepare(scenario, seed)
    example = '`fp.Observation(packets=["bottleneck"])`'
    require_class(observation, Observation, "observation", example)
    if observation is None:
        return prepared
    observation.require_folder()
    return prepared.observing(observation)


def _in_turn(
    backend: Backend,
    prepared: Iterable[Prepared],
    retries: int,
    observation: Observation | None,
    threads: int,
    tally: Tally,
) -> Generator[Result, None, None]:
    for number, one in enumerate(prepared):
        result = _run(backend, one, tally, number, threads)
        yield result
        while not result.summary["valid"] and retries > 0:
            retries -= 1
            again = _prepared(backend, one.scenario, one.scenario.seed, observation)
            tally.add(number, 0.0, 0)
            result = _run(backend, again, tally, number, threads)
            yield result


def _in_threads(
    backend: Backend,
    prepared: Iterable[Prepared],
    jobs: int,
    threads: int,
    tally: Tally,
) -> Generator[Result, None, None]:
    stop = Stop()

    def run_one(number: int, one: Prepared) -> Result:
        with stop.interruptible(bool(one.scenario.user_code)):
            return _run(backend, one, tally, number, threads, stop.check)

    def begin(numbered: tuple[int, Prepared], submit: Submit[Result]) -> Future[Result]:
        return submit(lambda: run_one(*numbered))

    return in_order(enumerate(prepared), begin, threads=jobs, ahead=jobs, stop=stop)


def _run(
    backend: Backend,
    prepared: Prepared,
    tally: Tally,
    number: int,
    threads: int,
    check: Callable[[], None] = lambda: None,
) -> Result:
    """Makes the run with this number, and counts it."""
    report = tally.of_run(number, prepared.scenario.duration.seconds, check)
    result = run_prepared(backend, prepared, report, threads)
    tally.add(number, 1.0, result.summary["packet_hops"])
    return result
