"""The pool: runs any list of (scenario, seed) in parallel; each run is made once and then kept.

Many runs are made in worker processes, a few in threads of this process, which start at once. The
result of a run is its record, some kilobytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from threading import Semaphore
from typing import NamedTuple

from fairport import backends
from fairport.backends import cores, memory
from fairport.backends.progress import Progress, Tally
from fairport.backends.protocol import Backend
from fairport.errors import require_positive
from fairport.ordered_threads import Stop, Submit, in_order
from fairport.record import Record
from fairport.scenario import Scenario
from fairport.study.runs import workers
from fairport.study.runs.one_run import recorded
from fairport.study.runs.store import Store

Task = tuple[Scenario, int]
"""A scenario and the seed that replaces its own."""

# For each run under way, this many finished records may wait for an earlier one. A record has about
# 20 kB, and a run of many seconds must not keep the other processors waiting.
_AHEAD = 64

# from this many runs per worker on, starting processes pays
_WORTH_A_PROCESS = 6


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
    if jobs is not None:
        require_positive(jobs, "jobs")
    jobs = 1 if chosen.is_real_time else min(jobs or cores.cores(), max(len(tasks), 1))
    jobs = memory.that_fit(jobs, needed_bytes)
    reused = 0
    if store is not None:
        reused = sum(one.is_kept and store.has(one.run, one.seed) for one in keys)
    tally = Tally(len(keys) - reused, progress, reused)
    return _Pool(chosen, tasks, keys, jobs, store, tally).records()


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
            if estimate.memory_bytes > needed_bytes:
                memory.require(estimate.memory_bytes, scenario)
                needed_bytes = estimate.memory_bytes
            known[id(scenario)] = Key(prepared.key, seed, prepared.is_kept)
        keys.append(known[id(scenario)]._replace(seed=seed))
    return keys, needed_bytes


class _Pool:
    """Makes the records of tasks, in threads that run them or wait for worker processes."""

    def __init__(
        self,
        backend: Backend,
        tasks: Sequence[Task],
        keys: Sequence[Key],
        jobs: int,
        store: Store | None,
        tally: Tally,
    ) -> None:
        self._backend, self._tasks, self._keys = backend, tasks, keys
        self._store, self._tally, self._stop = store, tally, Stop()
        self._in_processes = _is_for_processes(backend, tasks, jobs)
        # one thread more than workers: it keeps a record while the worker makes the next one
        self._threads, self._free_workers = jobs + self._in_processes, Semaphore(jobs)
        self._ahead = _AHEAD * jobs
        self._begun: deque[tuple[Key, Future[Record]]] = deque(maxlen=self._ahead)

    def records(self) -> Generator[Record, None, None]:
        """The record of each task, in order."""
        records = in_order(
            range(len(self._tasks)),
            self._begin,
            threads=self._threads,
            ahead=self._ahead,
            stop=self._stop,
        )
        try:
            with closing(records):
                for (scenario, _), record in zip(self._tasks, records, strict=True):
                    yield record.named(scenario.name)
        finally:
            if self._store is not None and self._tally.begun:
                self._store.flush()

    def _begin(self, index: int, submit: Submit[Record]) -> Future[Record]:
        """The record of an equal task, one that the store has, or that of a run."""
        key = self._keys[index]
        for other, future in self._begun:
            if other == key:
                return future
        known = None
        if self._store is not None and key.is_kept:
            known = self._store.get(key.run, key.seed)
        if known is None:
            future = submit(lambda: self._made(index))
        else:
            future = Future[Record]()
            future.set_result(known)
        self._begun.append((key, future))
        return future

    def _made(self, index: int) -> Record:
        """Makes the run of a task, and puts it into the store."""
        (scenario, seed), key = self._tasks[index], self._keys[index]
        report = self._tally.of_run(index, scenario.duration.seconds, self._stop.check)
        run = (self._backend.name, scenario, seed)
        if self._in_processes:
            with self._free_workers:
                self._stop.check()
                record, row = workers.shared().call(recorded, *run, report=report)
        else:
            with self._stop.interruptible(bool(scenario.user_code)):
                record, row = recorded(report, *run)
        if self._store is not None and key.is_kept:
            self._store.put(key.run, key.seed, record)
            self._store.add_numbers(row)
        self._tally.add(index, 1.0, record.summary["packet_hops"])
        return record


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
