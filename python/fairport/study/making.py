"""Makes the runs of a study: those that neither the study nor this machine's store has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import polars as pl

from fairport.errors import require_function
from fairport.study.plan import Plan, PointAndSeed
from fairport.study.results import BESIDES, Study
from fairport.study.runs.execution import Ended, Executor, Task
from fairport.study.runs.store import Store

# runs that are made first, for the estimate
_PROBES = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of what a sweep will need, from a few of its runs."""

    points: int
    """Combinations of the axes' values."""
    runs: int
    """Runs still to be made."""
    reused: int
    """Runs that the study already has."""
    wall_s: float | None
    """None if nothing is left to run, or none of the first runs had to be made."""
    size_bytes: int
    """Size of the study's rows."""
    jobs: int
    """Runs that are made at a time."""


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a sweep."""

    done: int
    """Runs made now, failed ones included."""
    failed: int
    """Runs made now that failed."""
    reused: int
    """Runs that the study or the store had."""
    of: int
    """Runs in all."""
    running: int
    """Runs under way."""


@dataclass(frozen=True)
class Listeners:
    """Callbacks that are called while a sweep runs: `fp.Listeners(status=print)`."""

    estimate: Callable[[Estimate], None] = lambda _: None
    status: Callable[[Status], None] = lambda _: None

    def __post_init__(self) -> None:
        require_function(self.estimate, "estimate")
        require_function(self.status, "status")


class Making:
    """Makes missing runs, keeps their rows in the study and in the store, reports the progress.

    It is a context: at its end all rows are written, whatever ends it.
    """

    def __init__(
        self,
        study: Study,
        plan: Plan,
        store: Store,
        executor: Executor,
        listeners: Listeners | None,
    ) -> None:
        self._study, self._plan, self._store = study, plan, store
        self._executor, self._listeners = executor, listeners or Listeners()
        had = study.runs.read()
        # a failed run is tried again: perhaps a worker was killed, or the machine was too slow
        made = had.filter(pl.col("error").is_null()) if had.height else had
        self._in_study = set(made["run_id"]) if made.height else set[str]()
        kept = [] if plan.in_process else store.numbers().to_dicts()
        self._in_store = {(row["key"], row["seed"]): row for row in kept}
        self._status = Status(done=0, failed=0, reused=0, of=0, running=0)
        self._lock = Lock()
        """For `_status`: threads that take tasks count those that the store has."""

    def __enter__(self) -> Making:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._study.runs.flush()
            self._study.runs.compact()
        finally:
            self._store.flush()

    def run(self, wanted: Sequence[PointAndSeed]) -> None:
        """Makes the runs that are missing."""
        self._make(self._missing(wanted))

    def run_and_estimate(self, wanted: Sequence[PointAndSeed]) -> None:
        """Makes the runs that are missing: a few first, to estimate how long the others take."""
        new = self._missing(wanted)
        probes = [new[at * (len(new) - 1) // (_PROBES - 1)] for at in range(_PROBES)] if new else []
        probes = list(dict.fromkeys(probes))
        begin = time.monotonic()
        per_run_s = _per_run_s(self._make(probes), time.monotonic() - begin)
        rest = [one for one in new if one not in probes]
        jobs = max(self._executor.jobs, 1)
        # a row of a compressed file has about 6 bytes per number: these do not compress well
        self._listeners.estimate(
            Estimate(
                points=len(self._plan.points),
                runs=len(new),
                reused=len(wanted) - len(new),
                wall_s=None if per_run_s is None else per_run_s * len(rest) / jobs,
                size_bytes=(60 + 6 * len(self._study.definition.keep)) * len(wanted),
                jobs=jobs,
            )
        )
        self._make(rest)

    def rows(self, wanted: Sequence[PointAndSeed]) -> list[dict[str, Any]]:
        """The study's rows of these runs, in this order; a failed run has no numbers."""
        run_ids = [self._plan.run_id(*one) for one in wanted]
        self._study.runs.flush()
        rows = self._study.runs.read().filter(pl.col("run_id").is_in(run_ids))
        found = {row["run_id"]: row for row in rows.iter_rows(named=True)}
        return [found[one] for one in run_ids]

    @property
    def status(self) -> Status:
        """The progress so far."""
        return self._status

    def so_far(self) -> pl.DataFrame:
        """The study's runs, including those just made."""
        self._study.runs.flush()
        return self._study.to_polars()

    def _missing(self, wanted: Sequence[PointAndSeed]) -> list[PointAndSeed]:
        """The runs that the study does not have; the others count as reused."""
        new = [one for one in wanted if self._plan.run_id(*one) not in self._in_study]
        self._count(of=len(wanted), reused=len(wanted) - len(new))
        return new

    def _make(self, new: Sequence[PointAndSeed]) -> list[Ended]:
        """Makes these runs, except those that the store has. Returns the first that ended."""
        first: list[Ended] = []
        self._listeners.status(self._status)
        with closing(self._executor.ended(self._tasks(new))) as ended:
            for one in ended:
                if one is not None:
                    self._keep(one.task, one.row or {}, one.error)
                    if one.row is not None and not self._plan.in_process:
                        self._store.add_numbers(one.row)
                    self._count(done=1, failed=one.row is None)
                    if len(first) < _PROBES:
                        first.append(one)
                with self._lock:
                    self._status = replace(self._status, running=self._executor.jobs)
                self._listeners.status(self._status)
        self._listeners.status(self._status)  # the last runs may have been in the store
        return first

    def _tasks(self, new: Sequence[PointAndSeed]) -> Iterator[Task]:
        """The runs that the store does not have. Those that it has become rows at once."""
        for task in self._plan.tasks(new):
            found = self._in_store.get((self._plan.keys.get(task.point, ""), task.seed))
            if found is None:
                yield task
            else:
                self._keep(task, found)
                self._count(reused=1)

    def _keep(self, task: Task, row: Mapping[str, Any], error: str = "") -> None:
        """Adds a run to the study; `row` has its numbers, by their names."""
        point, run_id = self._plan.points[task.point], self._plan.run_id(task.point, task.seed)
        definition = self._study.definition
        self._study.runs.add(
            {
                **point.values,
                "seed": task.seed,
                "run_id": run_id,
                "backend": definition.backend,
                "fingerprint": row.get("fingerprint"),
                **{name: row.get(name) for name in (*definition.keep, *BESIDES)},
                "key": self._plan.keys.get(task.point),
                "error": error or None,
            }
        )
        self._in_study.add(run_id)

    def _count(self, **more: int) -> None:
        """Adds to the counts of the progress."""
        with self._lock:
            sums = {name: getattr(self._status, name) + number for name, number in more.items()}
            self._status = replace(self._status, **sums)


def _per_run_s(probes: Sequence[Ended], elapsed_s: float) -> float | None:
    """Time of the runs alone, if known: the first runs also wait for the start of their workers."""
    walls = [one.row["wall_s"] for one in probes if one.row]
    if not probes:
        return None
    return sum(walls) / len(walls) if walls else elapsed_s / len(probes)
