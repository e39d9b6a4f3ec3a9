"""`sweep`: every point of a family of scenarios with several seeds, as a study.

A run is made once: what the study has, or the store of this machine, is not run again, so the same
call continues what was interrupted and a larger one adds to it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairport import backends
from fairport.backends import memory
from fairport.errors import InputError, did_you_mean
from fairport.files.place import place
from fairport.run_numbers import NUMBERS
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.study.execution import Ended, Executor, Local, Run, Task
from fairport.study.model_version import model_version
from fairport.study.one_run import LeanRun
from fairport.study.points import StudyPoint, count, points, value_of
from fairport.study.precision import Precision, more_seeds
from fairport.study.results import BESIDES, Definition, Study, define
from fairport.study.store import Store
from fairport.study.sweep_file import SweepFile, axes_of, read

MANY_POINTS = 1_000_000
_PROBES = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sweep is going to take, from a few of its runs."""

    points: int
    runs: int
    """Runs still to be made."""
    reused: int
    """Runs that the study has."""
    wall_s: float | None
    """None where nothing is left to run."""
    size_bytes: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Status:
    """How far a sweep is."""

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
    """Who hears what, while a sweep runs."""

    estimate: Callable[[Estimate], None] = lambda _: None
    status: Callable[[Status], None] = lambda _: None


def sweep(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    axes: Mapping[str, Any],
    *,
    seeds: int | Sequence[int] = 20,
    keep: Sequence[str] | None = None,
    zip: Sequence[Sequence[str]] = (),  # noqa: A002
    where: str = "",
    name: str = "",
    folder: str | Path | None = None,
    force: bool = False,
    backend: str = backends.DEFAULT,
    jobs: int | None = None,
    store: Store | None = None,
    until_precise: Precision | None = None,
    executor: Executor | None = None,
    listeners: Listeners | None = None,
) -> Study:
    """Runs a scenario at every combination of the axes' values, each with `seeds` seeds.

    An axis is a dotted path with its values: `{"queue.limit": ["8KiB", "16KiB"]}`, or a table as in
    a sweep file. `where` is a condition in SQL on the axes. `keep` names the numbers to keep (None:
    all, `fairport.run_numbers.NUMBERS`). The study goes to `folder`, a path or a URL
    (None: `results/NAME`); what is there of the same study is continued.

    Raises InputError for bad input, before the first run.
    """
    base = load_scenario(scenario)
    document = {
        "scenario": base.file,
        "name": name or f"{base.name}-sweep",
        "seeds": seeds if isinstance(seeds, int) else list(seeds),
        "keep": None if keep is None else list(keep),
        "axes": axes_of(axes),
        "zip": [list(group) for group in zip],
        "where": where,
    }
    file = read(document, "")
    return run(
        file,
        base,
        place_of_study=folder or Path("results") / file.name,
        force=force,
        backend=backend,
        jobs=jobs,
        store=store,
        until_precise=until_precise,
        executor=executor,
        listeners=listeners,
    )


def run(
    file: SweepFile,
    base: Scenario,
    *,
    place_of_study: str | Path,
    force: bool = False,
    backend: str = backends.DEFAULT,
    jobs: int | None = None,
    store: Store | None = None,
    until_precise: Precision | None = None,
    executor: Executor | None = None,
    listeners: Listeners | None = None,
) -> Study:
    """The same for a sweep file whose scenario is `base`."""
    every = points(file.axes, file.zip, file.where, file.file)
    keep = _kept(file, until_precise)
    runs = _Runs(base, every, backend, file)
    runs.check()
    definition = Definition(
        name=file.name,
        scenario=base.to_toml(),
        axes={axis: [value_of(one) for one in at] for axis, at in file.axes.items()},
        labels={axis: [one.title for one in at] for axis, at in file.axes.items()},
        titles=dict(file.titles),
        keep=keep,
        backend=backend,
        model=model_version(),
        seeds=list(file.seed_numbers),
    )
    study = define(place(place_of_study), definition, force=force)
    jobs = runs.jobs(jobs)
    executor = executor or Local(jobs, in_process=runs.in_process)
    listeners = listeners or Listeners()
    progress = _Progress(study, runs, store or Store(), keep, jobs, listeners)
    with progress:
        wanted = [(number, seed) for number in range(len(every)) for seed in file.seed_numbers]
        progress.run(wanted, executor)
        while until_precise is not None:
            more = more_seeds(study.to_polars(), list(file.axes), until_precise)
            wanted = runs.at_points(more)
            if not wanted:
                break
            progress.run(wanted, executor)
    return study


def check_size(file: SweepFile, *, allowed: bool) -> None:
    """Raises InputError for more than a million points, unless that is allowed."""
    found = count(file.axes, file.zip, file.file)
    if found > MANY_POINTS and not allowed:
        raise InputError(
            f"make {found:,} points, more than {MANY_POINTS:,}".replace(",", " "),
            file=file.file,
            field="axes",
            remedy="give fewer values, `zip` axes that go together, or --yes",
        )


def _kept(file: SweepFile, until_precise: Precision | None) -> list[str]:
    keep = list(NUMBERS) if file.keep is None else list(file.keep)
    if until_precise is not None and until_precise.metric not in keep:
        raise InputError(
            "is not kept",
            file="--until-precise",
            value=until_precise.metric,
            remedy=did_you_mean(until_precise.metric, keep),
        )
    return keep


class _Runs:
    """The points as something that can be run."""

    def __init__(
        self, base: Scenario, every: Sequence[StudyPoint], backend: str, file: SweepFile
    ) -> None:
        self.base, self.every, self.file = base, every, file
        self._backend = backends.get(backend)
        self.in_process = backend != backends.DEFAULT or bool(base.user_code)
        self._needed_bytes = 1
        self.ids = [one.id for one in every]

    def check(self) -> None:
        """Prepares points that between them have every value. Raises InputError."""
        seen: set[tuple[str, str]] = set()
        for point in self.every:
            new = {(axis, at.name) for axis, at in point.at.at.items()} - seen
            if not new:
                continue
            seen |= new
            try:
                scenario = point.applied(self.base)
                estimate = self._backend.prepare(scenario, scenario.seed).estimate
            except InputError as error:
                raise self._placed(error, point) from None
            memory.require(estimate.memory_bytes, point.name)
            self._needed_bytes = max(self._needed_bytes, estimate.memory_bytes)

    def _placed(self, error: InputError, point: StudyPoint) -> InputError:
        """The error of a scenario, at the axis that it comes from."""
        axis = next((axis for axis in point.at.at if _is_about(error.field, axis)), "")
        where = f'axes."{axis}"' if axis else f"at {point.name}: {error.field}"
        problem = error.problem
        if axis and error.field != axis and not error.has_value:
            problem = f"`{error.field}` {problem}"
        given = {"value": error.value} if error.has_value else {}
        return InputError(problem, file=self.file.file, field=where, remedy=error.remedy, **given)

    def jobs(self, wanted: int | None) -> int:
        """How many at a time: as many as asked for and as memory holds; one in real time."""
        if self._backend.name != backends.DEFAULT:
            return 1
        jobs = wanted or os.cpu_count() or 1
        available = memory.available_bytes()
        return jobs if available is None else max(1, min(jobs, available // self._needed_bytes))

    def task(self, number: int, seed: int, known: _Last) -> Task:
        """The run of a point with a seed; `known` is the point that was prepared last."""
        if known.run is None or known.number != number:
            known.number, known.run = number, self._prepared(self.every[number])
        return Task(number, seed, known.run)

    def _prepared(self, point: StudyPoint) -> Run:
        try:
            scenario = point.applied(self.base)
            prepared = self._backend.prepare(scenario, scenario.seed)
        except InputError as error:
            return error
        return LeanRun.of(prepared) or (self._backend.name, scenario)

    def at_points(self, more: Iterable[tuple[Mapping[str, Any], int]]) -> list[tuple[int, int]]:
        """Points by the values of their axes, with seeds, as numbers of points."""
        numbers = {_identity(one.values): number for number, one in enumerate(self.every)}
        found = ((numbers.get(_identity(values)), seed) for values, seed in more)
        return [(number, seed) for number, seed in found if number is not None]


@dataclass
class _Last:
    number: int = -1
    run: Run | None = None


class _Progress:
    """Runs tasks, keeps their rows in the study and in the store, and says how far it is."""

    def __init__(
        self,
        study: Study,
        runs: _Runs,
        store: Store,
        keep: Sequence[str],
        jobs: int,
        listeners: Listeners,
    ) -> None:
        self._study, self._runs, self._store, self._keep = study, runs, store, keep
        self._listeners = listeners
        self._done = study.runs.read().get_column("run_id", default=pl.Series([], dtype=pl.String))
        self._known = {*self._done}
        self._in_store = _by_key(store.numbers()) if not runs.in_process else {}
        self._status = Status(done=0, failed=0, reused=0, of=0, running=jobs)
        self._jobs = jobs

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever ends the sweep, the rows that there are go to their places."""
        self._study.runs.flush()
        self._study.runs.compact()
        self._store.flush()

    def run(self, wanted: Sequence[tuple[int, int]], executor: Executor) -> None:
        """Makes the runs that the study does not have: a few first, from which it says how long."""
        new = [one for one in wanted if self._id(*one) not in self._known]
        self._status = replace(
            self._status,
            of=self._status.done + self._status.reused + len(wanted),
            reused=self._status.reused + len(wanted) - len(new),
        )
        probes = [new[at * (len(new) - 1) // (_PROBES - 1)] for at in range(_PROBES)] if new else []
        probes = list(dict.fromkeys(probes))
        begin = time.monotonic()
        rows = self._made(probes, executor)
        per_run = _per_run_s(rows, time.monotonic() - begin)
        rest = [one for one in new if one not in set(probes)]
        self._listeners.estimate(
            Estimate(
                points=len(self._runs.every),
                runs=len(new),
                reused=len(wanted) - len(new),
                wall_s=per_run * len(rest) / self._jobs if new else None,
                size_bytes=_row_bytes(self._keep) * len(wanted),
                jobs=self._jobs,
            )
        )
        self._made(rest, executor)

    def _made(self, wanted: Sequence[tuple[int, int]], executor: Executor) -> list[Ended]:
        few: list[Ended] = []
        self._listeners.status(self._status)
        with closing(executor.ended(self._tasks(wanted))) as ended:
            for one in ended:
                self._add(one)
                if len(few) < _PROBES:
                    few.append(one)
        return few

    def _tasks(self, wanted: Sequence[tuple[int, int]]) -> Iterator[Task]:
        """Those that the store does not have; what it has is added at once."""
        last = _Last()
        for number, seed in wanted:
            task = self._runs.task(number, seed, last)
            found = None
            if isinstance(task.run, LeanRun):
                found = self._in_store.get((task.run.key, seed))
            if found is None:
                yield task
            else:
                self._status = replace(self._status, reused=self._status.reused + 1)
                self._study.runs.add(self._row(task, found, ""))

    def _add(self, one: Ended) -> None:
        self._study.runs.add(self._row(one.task, one.row or {}, one.error))
        if one.row is not None and isinstance(one.task.run, LeanRun):
            self._store.add_numbers(one.row)
        self._status = replace(
            self._status,
            done=self._status.done + 1,
            failed=self._status.failed + (one.row is None),
        )
        self._listeners.status(self._status)

    def _row(self, task: Task, row: Mapping[str, Any], error: str) -> dict[str, Any]:
        """A row of the study."""
        point = self._runs.every[task.point]
        return {
            **point.values,
            "seed": task.seed,
            "run_id": self._id(task.point, task.seed),
            "backend": self._study.definition.backend,
            "fingerprint": row.get("fingerprint"),
            **{name: row.get(name) for name in self._keep},
            **{name: row.get(name) for name in BESIDES},
            "error": error or None,
        }

    def _id(self, point: int, seed: int) -> str:
        return f"{self._runs.ids[point]}-{seed}"


def _by_key(rows: pl.DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["key"], row["seed"]): row for row in rows.iter_rows(named=True)}


def _per_run_s(probes: Sequence[Ended], elapsed_s: float) -> float:
    """Of the runs alone, where they say so: the first ones wait for the start of their workers."""
    walls = [one.row["wall_s"] for one in probes if one.row]
    return sum(walls) / len(walls) if walls else elapsed_s / max(len(probes), 1)


def _row_bytes(keep: Sequence[str]) -> int:
    """Of a row in a compressed file, about; numbers of runs do not compress well."""
    return 60 + 6 * len(keep)


def _is_about(field: str, axis: str) -> bool:
    """Whether an error at the field comes from what the axis sets."""
    return field == axis or field.startswith(f"{axis}.") or axis.startswith(f"{field}.")


def _identity(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), sort_keys=True, default=str)
