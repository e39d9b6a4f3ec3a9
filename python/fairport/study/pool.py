"""The pool: any list of (scenario, seed), run side by side, each run once and then remembered.

The engine and the tables' library release the interpreter while they work, so threads serve; what
comes back of a run is its record, some kilobytes.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from fairport.backends import memory, simulation
from fairport.scenario import Scenario
from fairport.study.record import Record
from fairport.study.store import Store, job_hash

Task = tuple[Scenario, int]
"""A scenario and the seed that takes the place of its own."""

# so many finished records may wait for an earlier one, for each run under way
_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Done:
    """How far the pool is."""

    runs: float
    """Runs done; one under way counts as the part of its time that is simulated."""
    of: int
    """Runs in all, without those that the store had."""
    reused: int
    """Runs that the store had."""
    packet_hops: int
    """Packet-hops so far."""


Progress = Callable[[Done], None]
"""Called from any thread, one at a time."""


def run_all(
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Generator[Record, None, None]:
    """Runs all tasks, `jobs` at a time (None: one a processor), and yields their records in order.

    What `store` has is not run; what is run is put there at once (None: nothing is kept). Fewer
    than `jobs` run at a time when the machine cannot hold so many. Every scenario is checked before
    the first run: raises ScenarioError and ResourceError. Close the generator to stop the runs
    under way; what is done stays in the store.
    """
    keys, needed_bytes = _check(tasks)
    jobs = min(jobs or os.cpu_count() or 1, max(len(tasks), 1))
    available = memory.available_bytes()
    if available is not None:
        jobs = max(1, min(jobs, available // needed_bytes))
    return _run_in_threads(tasks, keys, jobs, store, _Tally(keys, store, progress))


Key = tuple[str, int]
"""A job's hash and a seed."""


def _check(tasks: Sequence[Task]) -> tuple[list[Key], int]:
    """The key of each task, and what the largest of the runs needs, in bytes."""
    hashes: dict[int, str] = {}
    needed_bytes = 1
    keys = []
    for scenario, seed in tasks:
        # a scenario with several seeds is one object
        if id(scenario) not in hashes:
            prepared = simulation.prepare(scenario, seed)
            memory.require(prepared.memory_bytes, scenario.file)
            needed_bytes = max(needed_bytes, prepared.memory_bytes)
            hashes[id(scenario)] = job_hash(prepared.job.document)
        keys.append((hashes[id(scenario)], seed))
    return keys, needed_bytes


def _run_in_threads(
    tasks: Sequence[Task], keys: Sequence[Key], jobs: int, store: Store | None, tally: _Tally
) -> Generator[Record, None, None]:
    def record_of(index: int) -> Record:
        (scenario, seed), key = tasks[index], keys[index]
        prepared = simulation.prepare(scenario, seed)
        record = Record.of(simulation.run_prepared(prepared, tally.report(index, scenario)))
        if store is not None:
            store.put(*key, record)
        tally.add(index, 1.0, record.summary["packet_hops"])
        return record

    def begin(index: int) -> Future[Record]:
        for other, future in running:
            if keys[other] == keys[index]:
                return future
        known = store.get(*keys[index]) if store is not None else None
        if known is None:
            return threads.submit(record_of, index)
        future = Future()
        future.set_result(known)
        return future

    waiting = iter(range(len(tasks)))
    running: deque[tuple[int, Future[Record]]] = deque()
    with ThreadPoolExecutor(max_workers=jobs) as threads:
        try:
            for scenario, _ in tasks:
                for index in islice(waiting, _AHEAD * jobs - len(running)):
                    running.append((index, begin(index)))
                yield simulation.result_of(running.popleft()[1]).named(scenario.name)
        finally:
            tally.stop()
            threads.shutdown(wait=False, cancel_futures=True)


class _Tally:
    """Adds up what the runs report, and stops them."""

    def __init__(self, keys: Sequence[Key], store: Store | None, progress: Progress | None) -> None:
        self._progress = progress
        self._reused = 0 if store is None else sum(store.has(*key) for key in keys)
        self._runs = len(keys) - self._reused
        self._share: dict[int, float] = {}
        self._hops: dict[int, int] = {}
        self._stop = threading.Event()
        self._lock = threading.Lock()

    def report(self, index: int, scenario: Scenario) -> simulation.Progress:
        """The callback of one run."""

        def report(_: int, simulated_s: float, packet_hops: int) -> None:
            # signals reach the main thread alone, so the others are told here
            if self._stop.is_set():
                raise KeyboardInterrupt
            self.add(index, simulated_s / scenario.duration.seconds, packet_hops)

        return report

    def add(self, index: int, share: float, packet_hops: int) -> None:
        """So much of this run is done."""
        with self._lock:
            self._share[index], self._hops[index] = share, packet_hops
            if self._progress is not None:
                runs, hops = sum(self._share.values()), sum(self._hops.values())
                # a damaged record was counted as reused
                of = max(self._runs, len(self._share))
                self._progress(Done(runs, of, self._reused, hops))

    def stop(self) -> None:
        """The runs under way end at their next report."""
        self._stop.set()
