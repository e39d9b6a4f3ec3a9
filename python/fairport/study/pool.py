"""The pool: runs any list of (scenario, seed) in parallel; each run is made once and then kept.

Many runs are made in worker processes, a few in threads of this process, which start at once. The
result of a run is its record, some kilobytes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from threading import Lock, Semaphore
from typing import NamedTuple

from fairport import backends
from fairport.backends import memory
from fairport.backends.protocol import Backend
from fairport.ordered_threads import Stop, Submit, in_order
from fairport.record import Record
from fairport.scenario import Scenario
from fairport.study import workers
from fairport.study.one_run import recorded
from fairport.study.store import Store
from fairport.study.worker import Report

Task = tuple[Scenario, int]
"""A scenario and the seed that replaces its own."""

# For each run under way, this many finished records may wait for an earlier one. A record has about
# 20 kB, and a run of many seconds must not keep the other processors waiting.
_AHEAD = 64

# from this many runs per worker on, starting processes pays
_WORTH_A_PROCESS = 6


@dataclass(frozen=True, slots=True)
class Done:
    """The progress of the pool."""

    runs: float
    """Runs done; a run under way counts with the simulated share of its time."""
    of: int
    """Runs in all, except those that the store had."""
    reused: int
    """Runs that the store had."""
    packet_hops: int
    """Packet-hops so far."""


Progress = Callable[[Done], None]
"""Called from any thread, one at a time."""


def run_all(
    tasks: Sequence[Task],
    *,
    backend: str = backends.DEFAULT,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Generator[Record, None, None]:
    """Runs all tasks, `jobs` at a time (None: one per processor); yields their records in order.

    A backend in real time runs one at a time, because its runs would take the processor from each
    other. Runs in `store` are not repeated, and new ones are put there at once (None: nothing is
    kept). If memory does not allow `jobs` runs at a time, fewer run. Every scenario is checked
    before the first run: raises ScenarioError and ResourceError. Close the generator to stop the
    runs under way; finished runs stay in the store.
    """
    chosen = backends.get(backend)
    keys, needed_bytes = _check(chosen, tasks)
    jobs = 1 if chosen.is_real_time else min(jobs or os.cpu_count() or 1, max(len(tasks), 1))
    available = memory.available_bytes()
    if available is not None:
        jobs = max(1, min(jobs, available // needed_bytes))
    return _run_in_threads(chosen, tasks, keys, jobs, store, _Tally(keys, store, progress))


class Key(NamedTuple):
    """What decides a run's result, apart from the version of the program."""

    run: str
    """`Prepared.key`."""
    seed: int
    is_kept: bool
    """`Prepared.is_kept`: whether the store may keep the record."""


def _check(backend: Backend, tasks: Sequence[Task]) -> tuple[list[Key], int]:
    """The key of each task, and the memory of the largest run, in bytes."""
    known: dict[int, Key] = {}
    needed_bytes = 1
    keys = []
    for scenario, seed in tasks:
        # a scenario with several seeds is one object
        if id(scenario) not in known:
            prepared = backend.prepare(scenario, seed)
            estimate = prepared.estimate
            memory.require(estimate.memory_bytes, scenario.file)
            needed_bytes = max(needed_bytes, estimate.memory_bytes)
            known[id(scenario)] = Key(prepared.key, seed, prepared.is_kept)
        keys.append(known[id(scenario)]._replace(seed=seed))
    return keys, needed_bytes


def _run_in_threads(
    backend: Backend,
    tasks: Sequence[Task],
    keys: Sequence[Key],
    jobs: int,
    store: Store | None,
    tally: _Tally,
) -> Generator[Record, None, None]:
    ahead = _AHEAD * jobs
    begun: deque[tuple[Key, Future[Record]]] = deque(maxlen=ahead)

    in_processes = _is_for_processes(backend, tasks, jobs)
    # one thread more than workers: it keeps a record while the worker makes the next one
    threads, free_workers = jobs + in_processes, Semaphore(jobs)

    def record_of(index: int) -> Record:
        (scenario, seed), key = tasks[index], keys[index]
        report = tally.report(index, scenario)
        run = (backend.name, scenario, seed)
        if in_processes:
            with free_workers:
                tally.stop.check()
                record, row = workers.shared().call(recorded, *run, report=report)
        else:
            record, row = recorded(report, *run)
        if store is not None and key.is_kept:
            store.put(key.run, key.seed, record)
            store.add_numbers(row)
        tally.add(index, 1.0, record.summary["packet_hops"])
        return record

    def begin(index: int, submit: Submit[Record]) -> Future[Record]:
        key = keys[index]
        for other, future in begun:
            if other == key:
                return future
        known = None
        if store is not None and key.is_kept:
            known = store.get(key.run, key.seed)
        future = Future[Record]() if known is not None else submit(lambda: record_of(index))
        if known is not None:
            future.set_result(known)
        begun.append((key, future))
        return future

    records = in_order(range(len(tasks)), begin, threads=threads, ahead=ahead, stop=tally.stop)
    try:
        with closing(records):
            for (scenario, _), record in zip(tasks, records, strict=True):
                yield record.named(scenario.name)
    finally:
        if store is not None and tally.runs:
            store.flush()


def _is_for_processes(backend: Backend, tasks: Sequence[Task], jobs: int) -> bool:
    """Whether the runs go to worker processes.

    They do not if they are few, in real time, or with the user's own classes, which only this
    process has.
    """
    return (
        backend.name == backends.DEFAULT
        and jobs > 1
        and len(tasks) >= _WORTH_A_PROCESS * jobs
        and not any(scenario.user_code for scenario, _ in tasks)
    )


class _Tally:
    """Adds up the reports of the runs, and stops them."""

    def __init__(self, keys: Sequence[Key], store: Store | None, progress: Progress | None) -> None:
        self._progress = progress
        self._reused = 0
        if store is not None:
            self._reused = sum(key.is_kept and store.has(key.run, key.seed) for key in keys)
        self._runs = len(keys) - self._reused
        self._share: dict[int, float] = {}
        self._hops: dict[int, int] = {}
        self.stop = Stop()
        self._lock = Lock()

    @property
    def runs(self) -> int:
        """How many runs have begun."""
        return len(self._share)

    def report(self, index: int, scenario: Scenario) -> Report:
        """The callback of one run."""

        def report(simulated_s: float, packet_hops: int) -> None:
            self.stop.check()
            self.add(index, simulated_s / scenario.duration.seconds, packet_hops)

        return report

    def add(self, index: int, share: float, packet_hops: int) -> None:
        """Reports how much of this run is done."""
        with self._lock:
            self._share[index], self._hops[index] = share, packet_hops
            if self._progress is not None:
                runs, hops = sum(self._share.values()), sum(self._hops.values())
                # a damaged record was counted as reused
                of = max(self._runs, len(self._share))
                self._progress(Done(runs, of, self._reused, hops))
