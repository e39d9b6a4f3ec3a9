"""The points of a study with their runs: which points are possible, and what a worker gets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from fairport import backends
from fairport.backends import cores, memory
from fairport.backends.protocol import Prepared
from fairport.errors import InputError, require_positive
from fairport.scenario import Scenario
from fairport.study.fixes import FixError
from fairport.study.points import FIX, StudyPoint
from fairport.study.runs.execution import Run, Task
from fairport.study.runs.one_run import LeanRun

# points that are tried with a value before it is refused
_TRIED = 50

PointAndSeed = tuple[int, int]
"""A run of a study: the number of its point, and its seed."""


class Plan:
    """The points of a study. A point is named by its number in `points`."""

    def __init__(
        self, base: Scenario, points: Sequence[StudyPoint], backend: str, file: str, table: str
    ) -> None:
        """`table` is the table of the file that defines the points, for messages."""
        self.base, self.points = base, list(points)
        self._file, self._table = file, table
        self._folder = Path(file).parent
        self._backend = backends.get(backend)
        self.in_process = backend != backends.DEFAULT or bool(base.user_code)
        self.keys: dict[int, str] = {}
        """What decides the runs of a point (`Prepared.key`), of the points prepared so far."""
        self._checked: dict[int, Run] = {}
        """Runs of checked points, so that these are not prepared again."""
        self._needed_bytes = 1
        """Memory of the largest run that was checked."""

    def add(self, point: StudyPoint) -> int:
        """Adds a point; returns its number."""
        self.points.append(point)
        return len(self.points) - 1

    def run_id(self, number: int, seed: int) -> str:
        """The study's name for the run of a point with a seed."""
        return f"{self.points[number].id}-{seed}"

    def check(self) -> None:
        """Prepares some points that together have every value.

        Two values may be impossible together: those runs fail. Raises InputError for a value with
        which no point is possible, and ResourceError for too little memory.
        """
        points: dict[tuple[str, str], list[int]] = {}
        for number, point in enumerate(self.points):
            for value in _values(point):
                points.setdefault(value, []).append(number)
        seen: set[tuple[str, str]] = set()
        for value, having in points.items():
            if value not in seen:
                possible = self._first_possible(having[:: -(-len(having) // _TRIED)])
                seen |= {*_values(self.points[possible])}

    def _first_possible(self, numbers: Sequence[int]) -> int:
        refused: InputError | None = None
        for number in numbers:
            point = self.points[number]
            try:
                prepared, self._checked[number] = self._prepared(number)
            except InputError as error:
                refused = refused or self._placed(error, point)
                continue
            needed = prepared.estimate.memory_bytes
            if needed > self._needed_bytes:
                memory.require(needed, prepared.scenario, point.name)
                self._needed_bytes = needed
            return number
        assert refused is not None, "every value has a point"
        raise refused from None

    def _placed(self, error: InputError, point: StudyPoint) -> InputError:
        """The error of a scenario, attributed to the axis from which it comes."""
        about = FIX if isinstance(error, FixError) else error.field
        axis = next((axis for axis in point.at.at if _is_about(about, axis)), "")
        where = f'{self._table}."{axis}"' if axis else f"at {point.name}: {error.field}"
        problem = error.problem
        if isinstance(error, FixError) and error.file:
            return error  # it says where in the fix's file
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

    def tasks(self, wanted: Iterable[PointAndSeed]) -> Iterator[Task]:
        """The runs, in this order. Seeds of one point that follow each other share its job."""
        for number, pairs in groupby(wanted, key=itemgetter(0)):
            run = self._run(number)
            for _, seed in pairs:
                yield Task(number, seed, run)

    def _run(self, number: int) -> Run:
        checked = self._checked.pop(number, None)
        if checked is not None:
            return checked
        try:
            return self._prepared(number)[1]
        except InputError as error:
            return error

    def _prepared(self, number: int) -> tuple[Prepared, Run]:
        """A point's run, prepared and as workers get it. Raises InputError."""
        scenario = self.points[number].applied(self.base, self._folder)
        prepared = self._backend.prepare(scenario, scenario.seed)
        self.keys[number] = prepared.key
        return prepared, LeanRun.of(prepared) or (self._backend.name, scenario)

    def at(self, more: Iterable[tuple[Mapping[str, Any], int]]) -> list[PointAndSeed]:
        """Pairs of point and seed, where points are given by the values of the axes."""
        numbers = {_identity(one.values): number for number, one in enumerate(self.points)}
        found = ((numbers.get(_identity(values)), seed) for values, seed in more)
        return [(number, seed) for number, seed in found if number is not None]


def _values(point: StudyPoint) -> list[tuple[str, str]]:
    return [(axis, str(value)) for axis, value in point.values.items()]


def _is_about(field: str, axis: str) -> bool:
    """Whether an error at the field comes from a value that the axis sets."""
    return field == axis or field.startswith(f"{axis}.") or axis.startswith(f"{field}.")


def _identity(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), sort_keys=True, default=str)
