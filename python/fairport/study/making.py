"""Makes the runs of a study: points become tasks, tasks become rows of the study and the store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import polars as pl

from fairport import backends
from fairport.backends import cores, memory
from fairport.backends.protocol import Prepared
from fairport.errors import InputError, require_positive
from fairport.scenario import Scenario
from fairport.study.execution import Ended, Executor, Run, Task
from fairport.study.fixes import FixError
from fairport.study.one_run import LeanRun
from fairport.study.points import FIX, StudyPoint
from fairport.study.results import BESIDES, Study
from fairport.study.store import Store

_PROBES = 3
# points that are tried with a value before it is refused
_TRIED = 50


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of what a sweep will need, from a few of its runs."""

    points: int
    runs: int
    """Runs still to be made."""
    reused: int
    """Runs that the study already has."""
    wall_s: float | None
    """None if nothing is left to run, or none of the first runs had to be made."""
    size_bytes: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a sweep."""

    done: int
    """Runs made now, failed ones included."""
    failed: int
    reused: int
    """Runs that the study or the store had."""
    of: int
    """Runs in all."""
    running: int


@dataclass(frozen=True)
class Listeners:
    """Callbacks that are called while a sweep runs."""

    estimate: Callable[[Estimate], None] = lambda _: None
    status: Callable[[Status], None] = lambda _: None


class Runs:
    """The points of a study, in a form that can be run."""

    def __init__(
        self, base: Scenario, every: Sequence[StudyPoint], backend: str, file: str, table: str
    ) -> None:
        """`table` is the table of the file that defines the points, for messages."""
        self.base, self.every = base, list(every)
        self._file, self._table = file, table
        self._backend = backends.get(backend)
        self.in_process = backend != backends.DEFAULT or bool(base.user_code)
        self._needed_bytes = 1
        self._checked: dict[int, Run] = {}
        self.keys: dict[int, str] = {}
        """What decides the runs of a point (`Prepared.key`), of the points prepared so far."""
        self.ids = [one.id for one in every]

    def add(self, point: StudyPoint) -> int:
        """Adds a point; returns its number."""
        self.every.append(point)
        self.ids.append(point.id)
        return len(self.every) - 1

    def run_id(self, number: int, seed: int) -> str:
        """The study's name for the run of a point with a seed."""
        return f"{self.ids[number]}-{seed}"

    def check(self) -> None:
        """Prepares some points that together have every value.

        Two values may be impossible together: those runs fail. Raises InputError for a value with
        which no point is possible.
        """
        points: dict[tuple[str, str], list[int]] = {}
        for number, point in enumerate(self.every):
            for value in _values(point):
                points.setdefault(value, []).append(number)
        seen: set[tuple[str, str]] = set()
        for value, having in points.items():
            if value in seen:
                continue
            refused: InputError | None = None
            for number in having[:: -(-len(having) // _TRIED)]:
                point = self.every[number]
                try:
                    prepared, self._checked[number] = self._planned(number)
                except InputError as error:
                    refused = refused or self._placed(error, point)
                    continue
                needed = prepared.estimate.memory_bytes
                if needed > self._needed_bytes:
                    memory.require(needed, prepared.scenario, point.name)
                    self._needed_bytes = needed
                seen |= {*_values(point)}
                break
            else:
                assert refused is not None, "every value has a point"
                raise refused from None

    def _placed(self, error: InputError, point: StudyPoint) -> InputError:
        """The error of a scenario, attributed to the axis from which it comes."""
        about = FIX if isinstance(error, FixError) else error.field
        axis = next((axis for axis in point.at.at if _is_about(about, axis)), "")
        where = f'{self._table}."{axis}"' if axis else f"at {point.name}: {error.field}"
        problem = error.problem
        if axis and error.field != axis and not error.has_value:
            problem = f"`{error.field}` {problem}"
        given: dict[str, Any] = {"value": error.value} if error.has_value else {}
        return InputError(problem, file=self._file, field=where, remedy=error.remedy, **given)

    def jobs(self, wanted: int | None) -> int:
        """Runs at a time: as many as requested and as memory allows; one in real time."""
        if wanted is not None:
            require_positive(wanted, "jobs")
        if self._backend.is_real_time:
            return 1
        return memory.that_fit(wanted or cores.cores(), self._needed_bytes)

    def task(self, number: int, seed: int, known: Last) -> Task:
        """The run of a point with a seed; `known` is the point that was prepared last."""
        if known.run is None or known.number != number:
            known.number, known.run = number, self._prepared(number)
        return Task(number, seed, known.run)

    def _prepared(self, number: int) -> Run:
        # a checked point is not prepared a second time
        checked = self._checked.pop(number, None)
        if checked is not None:
            return checked
        try:
            return self._planned(number)[1]
        except InputError as error:
            return error

    def _planned(self, number: int) -> tuple[Prepared, Run]:
        """A point's run, prepared and as workers get it. Raises InputError."""
        scenario = self.every[number].applied(self.base)
        prepared = self._backend.prepare(scenario, scenario.seed)
        self.keys[number] = prepared.key
        run = LeanRun.of(prepared) or (self._backend.name, scenario)
        return prepared, run

    def at_points(self, more: Iterable[tuple[Mapping[str, Any], int]]) -> list[tuple[int, int]]:
        """Pairs of point and seed by the values of the axes, with points as numbers."""
        numbers = {_identity(one.values): number for number, one in enumerate(self.every)}
        found = ((numbers.get(_identity(values)), seed) for values, seed in more)
        return [(number, seed) for number, seed in found if number is not None]


@dataclass
class Last:
    """The point that was prepared last: its seeds follow each other."""

    number: int = -1
    run: Run | None = None


class Making:
    """Runs tasks, keeps their rows in the study and in the store, and reports the progress."""

    def __init__(
        self,
        study: Study,
        runs: Runs,
        store: Store,
        keep: Sequence[str],
        listeners: Listeners,
    ) -> None:
        self._study, self._runs, self._store, self._keep = study, runs, store, keep
        self._listeners = listeners
        had = study.runs.read()
        # a failed run is tried again: perhaps a worker was killed, or the machine was too slow
        made = had.filter(pl.col("error").is_null()) if had.height else had
        self._known = set(made["run_id"]) if made.height else set[str]()
        self._in_store = _by_key(store.numbers()) if not runs.in_process else {}
        self._status = Status(done=0, failed=0, reused=0, of=0, running=0)
        self._lock = Lock()

    def __enter__(self) -> Making:
        return self

    def __exit__(self, *_: object) -> None:
        """Writes the existing rows, whatever ends the sweep."""
        try:
            self._study.runs.flush()
            self._study.runs.compact()
        finally:
            self._store.flush()

    def run(self, wanted: Sequence[tuple[int, int]], executor: Executor) -> None:
        """Makes the missing runs of the study: a few first, to estimate how long it will take."""
        new = self._new(wanted)
        probes = [new[at * (len(new) - 1) // (_PROBES - 1)] for at in range(_PROBES)] if new else []
        probes = list(dict.fromkeys(probes))
        begin = time.monotonic()
        rows = self._made(probes, executor)
        per_run_s = _per_run_s(rows, time.monotonic() - begin)
        rest = [one for one in new if one not in probes]
        jobs = max(executor.jobs, 1)
        self._listeners.estimate(
            Estimate(
                points=len(self._runs.every),
                runs=len(new),
                reused=len(wanted) - len(new),
                wall_s=None if per_run_s is None else per_run_s * len(rest) / jobs,
                size_bytes=_row_bytes(self._keep) * len(wanted),
                jobs=jobs,
            )
        )
        self._made(rest, executor)

    def so_far(self) -> pl.DataFrame:
        """The study's runs, including those just made."""
        self._study.runs.flush()
        return self._study.to_polars()

    def rows(self, run_ids: Sequence[str]) -> list[dict[str, Any]]:
        """The study's rows of these runs, in this order; a failed run has no numbers."""
        self._study.runs.flush()
        rows = self._study.runs.read().filter(pl.col("run_id").is_in(list(run_ids)))
        found = {row["run_id"]: row for row in rows.iter_rows(named=True)}
        return [found[one] for one in run_ids]

    def run_at_once(self, wanted: Sequence[tuple[int, int]], executor: Executor) -> None:
        """Makes the missing runs without an estimate."""
        self._made(self._new(wanted), executor)

    def _new(self, wanted: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        new = [one for one in wanted if self._runs.run_id(*one) not in self._known]
        self._status = replace(
            self._status,
            of=self._status.done + self._status.reused + len(wanted),
            reused=self._status.reused + len(wanted) - len(new),
        )
        return new

    def _made(self, wanted: Sequence[tuple[int, int]], executor: Executor) -> list[Ended]:
        few: list[Ended] = []
        self._listeners.status(self._status)
        with closing(executor.ended(self._tasks(wanted))) as ended:
            for one in ended:
                with self._lock:
                    self._status = replace(self._status, running=executor.jobs)
                if one is None:
                    self._listeners.status(self._status)
                    continue
                self._add(one)
                if len(few) < _PROBES:
                    few.append(one)
        self._listeners.status(self._status)  # the last runs may have been in the store
        return few

    def _tasks(self, wanted: Sequence[tuple[int, int]]) -> Iterator[Task]:
        """The runs that the store does not have; those that it has are added at once."""
        last = Last()
        for number, seed in wanted:
            task = self._runs.task(number, seed, last)
            found = None
            if isinstance(task.run, LeanRun):
                found = self._in_store.get((task.run.key, seed))
            if found is None:
                yield task
            else:
                self._count(reused=1)
                self._study.runs.add(self._row(task, found, ""))

    def _add(self, one: Ended) -> None:
        self._study.runs.add(self._row(one.task, one.row or {}, one.error))
        if one.row is not None and isinstance(one.task.run, LeanRun):
            self._store.add_numbers(one.row)
        self._count(done=1, failed=one.row is None)
        self._listeners.status(self._status)

    def _count(self, **more: int) -> None:
        """Adds to the progress; threads that take tasks count those that the store has."""
        with self._lock:
            sums = {name: getattr(self._status, name) + number for name, number in more.items()}
            self._status = replace(self._status, **sums)

    def _row(self, task: Task, row: Mapping[str, Any], error: str) -> dict[str, Any]:
        """A row of the study."""
        self._known.add(self._runs.run_id(task.point, task.seed))
        point = self._runs.every[task.point]
        return {
            **point.values,
            "seed": task.seed,
            "run_id": self._runs.run_id(task.point, task.seed),
            "backend": self._study.definition.backend,
            "fingerprint": row.get("fingerprint"),
            **{name: row.get(name) for name in self._keep},
            **{name: row.get(name) for name in BESIDES},
            "key": self._runs.keys.get(task.point),
            "error": error or None,
        }


def _values(point: StudyPoint) -> list[tuple[str, str]]:
    return [(axis, str(value)) for axis, value in point.values.items()]


def _by_key(rows: pl.DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["key"], row["seed"]): row for row in rows.iter_rows(named=True)}


def _per_run_s(probes: Sequence[Ended], elapsed_s: float) -> float | None:
    """Time of the runs alone, if known: the first runs also wait for the start of their workers."""
    walls = [one.row["wall_s"] for one in probes if one.row]
    if not probes:
        return None
    return sum(walls) / len(walls) if walls else elapsed_s / len(probes)


def _row_bytes(keep: Sequence[str]) -> int:
    """Approximate bytes of a row in a compressed file; numbers of runs do not compress well."""
    return 60 + 6 * len(keep)


def _is_about(field: str, axis: str) -> bool:
    """Whether an error at the field comes from a value that the axis sets."""
    return field == axis or field.startswith(f"{axis}.") or axis.startswith(f"{field}.")


def _identity(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), sort_keys=True, default=str)
