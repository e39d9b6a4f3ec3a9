"""A study: a folder with its definition and its runs, here or anywhere that fsspec reaches.

`study.json` describes the study; `runs/*.parquet` hold one row per run. The view `runs` has a
column for each axis, then `seed`, `run_id`, `backend`, `fingerprint`, the kept numbers, `caveats`,
which is null for a run that failed or that an earlier version made, and `error`, which is null for
a run that did not fail.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from fairport.errors import InputError, OutputError
from fairport.files.place import Folder, place
from fairport.html_table import html_table
from fairport.metrics.run_numbers import NUMBERS, TYPES
from fairport.quantities import counted, of_number
from fairport.scenario.named_files import content_alone
from fairport.scenario.rows import in_base_units
from fairport.study import sql as duck
from fairport.study.comparison.ranking import with_range
from fairport.study.point_statistics import per_point
from fairport.study.runs.dataset import Dataset, parquet
from fairport.toml.parser import loads

FORMAT = 1
# the files of a search beside the study, and those of SQLite
BESIDE = ("search.db", "search.db-journal", "search.db-wal", "search.db-shm")
DEFINITION = "study.json"
RUNS = "runs"
KEY = ("run_id",)
OF_A_RUN = ("seed", "run_id", "backend", "fingerprint")
_TYPES = TYPES | {
    "fingerprint": pl.String,
    "valid": pl.Boolean,
    "caveats": pl.String,
    "packet_hops": pl.UInt64,
    "simulated_s": pl.Float64,
    "wall_s": pl.Float64,
    "key": pl.String,
    "error": pl.String,
}
_PUT_BACK = (
    "put a copy of it back, or give another `folder`; what is in `fairport store` is not made again"
)
BESIDES = ("valid", "caveats", "packet_hops", "simulated_s", "wall_s", "key", "error")
WHY_FAILED = "select error, count(*) from runs where error is not null group by error"
"""SQL that shows why runs of a study failed."""
# the numbers that a study of transfers and the like is about
_TIMES = ("round_time_p99_s", "small_fct_p99_s", "fct_p99_s", "response_p99_s", "loss_share")
# points that a notebook shows
_SHOWN = 20


@dataclass(frozen=True)
class Definition:
    """The definition of a study."""

    name: str
    scenario: str
    """The scenario without the axes, as TOML."""
    axes: dict[str, list[Any]]
    """The values of each axis in their order, as in the columns."""
    labels: dict[str, list[str]]
    """Their names in figures."""
    titles: dict[str, str]
    """Names of the axes in figures, if they differ."""
    keep: list[str]
    """Names of `run_numbers.NUMBERS`."""
    backend: str
    model: str
    """The `model_version` of all its runs."""
    seeds: list[int] = field(default_factory=list)
    user_code: dict[str, Any] = field(default_factory=dict)
    """The user's own classes, as `UserCode.described`."""
    format: int = FORMAT
    program: str = "fairport"

    def is_continued_by(self, other: Definition) -> str:
        """Why the runs of another definition cannot be added; empty if they can."""
        # a file is the same wherever it is now
        if content_alone(loads(self.scenario)) != content_alone(loads(other.scenario)):
            return "its runs have another scenario, or a file that it names has changed"
        if self.backend != other.backend:
            return "its runs have another backend"
        if self.model != other.model:
            return f"its runs are of version {self.model} of the model, and this is {other.model}"
        if list(self.axes) != list(other.axes):
            return f"its axes are {', '.join(self.axes)}"
        if set(other.keep) - set(self.keep):
            return f"its runs keep {', '.join(self.keep)} alone"
        return ""

    def with_values_of(self, other: Definition) -> Definition:
        """This definition, with the values that only the other has added."""
        merged: dict[str, dict[Any, str]] = {}
        for one in (self, other):
            for axis, values in one.axes.items():
                known = merged.setdefault(axis, {})
                for value, label in zip(values, one.labels[axis], strict=True):
                    known.setdefault(value, label)
        for axis, known in merged.items():
            if len(known) > len(self.axes[axis]):
                merged[axis] = _in_order(known)
        return Definition(
            **asdict(self)
            | {"axes": {axis: list(known) for axis, known in merged.items()}}
            | {"labels": {axis: list(known.values()) for axis, known in merged.items()}}
            | {"seeds": sorted({*self.seeds, *other.seeds})}
        )


class Study:
    """The study that a sweep made or makes, opened by its path or URL.

        study = fp.Study("results/two-switch-sweep")
        print(study.sql("select median(jain_index) from runs"))

    Its rows are read anew by each method: a sweep may be adding some.
    """

    def __init__(self, where: str | Path) -> None:
        """Opens a study. Raises InputError if there is none."""
        self.place: Folder = place(where)
        self.runs = Dataset(self.place, RUNS, KEY, _TYPES)
        self.definition = read_definition(self.place)

    def __repr__(self) -> str:
        return f"<fairport.Study {self.definition.name}: {self.place.name}>"

    def _repr_html_(self) -> str:
        """For notebooks: how many runs there are, and medians of the first number by point."""
        runs, number = self.to_polars(), self.first_number()
        failed = runs["error"].count()
        said = f"{counted(runs.height, 'run')} in {self.place.name}"
        said += f", {failed:,} of them failed" if failed else ""
        points = per_point(runs.drop_nulls(list(self.axes)), list(self.axes), number)
        if points.height > _SHOWN:
            said += f"; the first {_SHOWN} of {points.height:,} points"
        return html_table(
            self.definition.name, said, [*map(self._shown, points[:_SHOWN].to_dicts())]
        )

    def _shown(self, point: dict[str, Any]) -> dict[str, str]:
        """A point for people: the median of the first number, and its interval."""
        number = of_number(self.first_number())
        parts = (number.shown(point[part], "over_seeds") for part in ("median", "low", "high"))
        values = {axis: str(point[axis]) for axis in self.axes}
        return values | {number.label: with_range(*parts), "runs": str(point["runs"])}

    def __reduce__(self) -> tuple[type[Study], tuple[str]]:
        """A copy, in another process too, opens the same folder."""
        return Study, (self.place.name,)

    @cached_property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The values of each axis."""
        return self.definition.axes

    def to_polars(self) -> pl.DataFrame:
        """Every run, in order of the axes and seeds: one row each, with `columns`.

        Numbers are in the units that their names end in, or shares; null where a run has none.
        """
        rows = self.runs.read()
        if rows.is_empty():
            return pl.DataFrame(schema=dict.fromkeys(self.columns, pl.Null))
        order = {axis: _rank(axis, values) for axis, values in self.axes.items()}
        rows = rows.sort([*order.values(), pl.col("seed")], nulls_last=True)
        return rows.select(name for name in self.columns if name in rows.columns)

    def first_number(self) -> str:
        """The first number that some run has; where no run has one, the first that is kept.

        Yes or no, such as `outcast`, is no number if there are others. If all numbers are kept and
        no flow is endless, the times of the traffic come first, as in a comparison.
        """
        runs, kept = self.to_polars(), self.definition.keep
        if kept == list(NUMBERS) and not self._has_endless_flows():
            kept = [*_TIMES, *kept]
        there = [name for name in kept if name in runs.columns and runs[name].count()]
        numbers = (name for name in there if runs[name].dtype != pl.Boolean)
        return next(numbers, (there or kept)[0])

    def _has_endless_flows(self) -> bool:
        traffic = loads(self.definition.scenario)["traffic"]
        return any(one.get("kind", "bulk") == "bulk" and "size" not in one for one in traffic)

    def first_error(self) -> str:
        """Why the first of the runs that failed did so, as a clause; empty if none failed."""
        errors = self.to_polars()["error"].drop_nulls()
        return f"; the first one: {errors[0]}" if len(errors) else ""

    @property
    def columns(self) -> list[str]:
        """The columns of the view `runs`: the axes, what is known of each run, and its numbers."""
        kept = self.definition.keep
        return [*self.axes, *OF_A_RUN, *kept, *BESIDES]

    def sql(self, query: str) -> pl.DataFrame:
        """The result of an SQL query on the table `runs`. Raises InputError for a wrong query."""
        names = self.runs.files()
        if not names:
            raise InputError(
                "has no runs", file=self.place.name, remedy="`fairport sweep FILE` makes them"
            )
        orders = {axis: list(map(str, values)) for axis, values in self.axes.items()}
        local = [self.place.local(f"{RUNS}/{name}") for name in names]
        files = [path for path in local if path is not None]
        with tempfile.TemporaryDirectory(prefix="fairport-") as folder:
            if len(files) < len(names) or len(names) > 1:
                # if it is elsewhere, or being written: one copy, with every run once
                files = [Path(folder) / "runs.parquet"]
                files[0].write_bytes(parquet(self.runs.read()))
            else:
                self.runs.check(names[0])
            return duck.query(files, self.columns, orders, query, self.place.name)


def read_definition(there: Folder) -> Definition:
    """The definition of the study at a place. Raises InputError."""
    name = f"{there.name}/{DEFINITION}"
    try:
        document = json.loads(there.read(DEFINITION))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            "is not a study", file=there.name, remedy="`fairport sweep FILE` makes one"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", file=name, remedy=_PUT_BACK) from None
    if not isinstance(document, dict) or document.get("program") != "fairport":
        raise InputError(
            "was not written by Fairport", file=name, remedy="give the folder of a study"
        )
    if document.get("format", 0) > FORMAT:
        raise InputError(
            f"has format {document['format']}, which a newer version of Fairport wrote",
            file=name,
            remedy="use that version, or make the study again in another `folder`",
        )
    try:
        return Definition(**document)
    except TypeError as error:
        raise InputError(f"is damaged: {error}", file=name, remedy=_PUT_BACK) from None


def define(there: Folder, definition: Definition, *, force: bool) -> Study:
    """The study of that definition at a place: a new one, or a continued one.

    Raises OutputError if another study is there, unless it may be replaced.
    """
    is_study = DEFINITION in there.names()
    if not is_study and set(there.names()) - {*BESIDE}:
        raise OutputError(
            "holds files that are not a study",
            file=there.name,
            remedy="give another `folder`",
        )
    if force:
        for name in there.names(RUNS):
            there.remove(f"{RUNS}/{name}")
    elif is_study:
        known = read_definition(there)
        why = known.is_continued_by(definition)
        if why:
            raise OutputError(
                f"holds another study: {why}",
                file=there.name,
                remedy="give another `folder`, or `force=True` to replace it",
            )
        definition = known.with_values_of(definition)
    elif there.names(RUNS):
        # a row does not say which scenario and which version of the model it is of
        raise OutputError(
            f"holds runs, but no {DEFINITION} that says what they are of",
            file=there.name,
            remedy=_PUT_BACK,
        )
    content = json.dumps(asdict(definition), indent=1).encode() + b"\n"
    if DEFINITION not in there.names() or there.read(DEFINITION) != content:
        there.write(DEFINITION, content)
    return Study(there.name)


def _in_order(labels: dict[Any, str]) -> dict[Any, str]:
    """Puts added values between the others, if values have an order."""
    values = list(labels)
    if all(isinstance(value, str) for value in values):
        found = in_base_units(values)
        if found is None:
            return labels
        places = dict(zip(values, found[1], strict=True))
        return {value: labels[value] for value in sorted(values, key=places.__getitem__)}
    if all(isinstance(value, int | float) for value in values):
        return {value: labels[value] for value in sorted(values)}
    return labels


def _rank(axis: str, values: Sequence[Any]) -> pl.Expr:
    """The place of a row's value on its axis."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pl.col(axis).rank("dense")
    ranks = {str(value): number for number, value in enumerate(values)}
    text = pl.col(axis).cast(pl.String)
    return text.replace_strict(ranks, default=None, return_dtype=pl.UInt32)
