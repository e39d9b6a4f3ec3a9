"""A trace: flows with starts, senders, receivers and sizes, as a file lists them."""

from __future__ import annotations

import csv
import glob
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fairport.scenario.named_files import NamedFile
from fairport.scenario.selectors import meant
from fairport.scenario.traffic.base import Ends, TrafficError, TrafficSection

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("start_s", "src", "dst", "size_bytes")
_PICOSECONDS = 10**12
_LATEST_S = 2**63 / _PICOSECONDS
# measured times are often seconds since 1970
_COUNT_FROM_0 = "count start_s from the beginning of the traffic"


class Trace(TrafficSection):
    """The flows that a file lists."""

    selector_fields: ClassVar[tuple[str, str]] = ("file", "file")

    kind: Literal["trace"]
    """The workload."""
    file: NamedFile
    """CSV or Parquet with the columns start_s (after `start`), src, dst, size_bytes; the table
    `flows` of a run is such a file. Other columns are ignored. A relative path starts from the
    folder of the scenario's own file. When the scenario is read, the path becomes a table of the
    path and the file's digest."""

    def __eq__(self, other: object) -> bool:
        """Whether the fields are equal; the rows, which may have been read, are none."""
        if not isinstance(other, Trace):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Trace.model_fields)

    __hash__ = None  # type: ignore[assignment]

    @property
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive, each in order of first appearance."""
        src, dst = (self._rows[end].unique(maintain_order=True) for end in ("src", "dst"))
        return src.to_list(), dst.to_list()

    def check_hosts(self, hosts: Sequence[str]) -> None:
        """Raises TrafficError if a row names what is no host: it has names, and no selectors."""
        import polars as pl

        for end in ("src", "dst"):
            unknown = ~pl.col(end).is_in(hosts)
            for name in self._listed.filter(unknown)[end].head(1):
                problem = f"names `{name}`, which is not a host of the topology,"
                self._none(self._listed, unknown, problem, meant(name, hosts))

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`TraceJob`)."""
        rows = self._rows
        starts = [round(start * _PICOSECONDS) for start in rows["start_s"]]
        if self.start + starts[0] >= ends.end:
            first = f"{rows['start_s'][0]:g} s"
            problem = f"starts its first flow after {first}, and the run ends at {ends.end}"
            raise self._refused(problem, f"{_COUNT_FROM_0}, or give a longer duration")

        def numbers(column: str, hosts: Any) -> list[int]:
            places = {host: place for place, host in enumerate(hosts)}
            return [places[host] for host in rows[column]]

        return {
            "start_ps": starts,
            "src": numbers("src", ends.senders),
            "dst": numbers("dst", ends.receivers),
            "bytes": rows["size_bytes"].to_list(),
        }

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """The flows in order of their starts. Raises TrafficError."""
        return self._listed.sort("start_s", maintain_order=True)

    @cached_property
    def _listed(self) -> pl.DataFrame:
        """The file's rows. Raises TrafficError."""
        import polars as pl

        rows = self._read()
        for column in _COLUMNS:
            if column not in rows.columns:
                remedy = f"name the columns {', '.join(_COLUMNS)}; it has {', '.join(rows.columns)}"
                if len(rows.columns) == 1:
                    remedy += "; put commas between the columns"
                raise self._refused(f"has no column {column}", remedy)
        rows = rows.select(_COLUMNS)
        self._none(rows, pl.any_horizontal(pl.all().is_null()), "has an empty field")
        rows = self._as(rows, "start_s", pl.Float64, "a number")
        rows = self._as(rows, "size_bytes", pl.Int64, "a whole number")
        for column in ("src", "dst"):
            rows = self._as(rows, column, pl.String, "a text")
        size, start = pl.col("size_bytes"), pl.col("start_s")
        self._none(rows, size <= 0, "has a size of {size_bytes}")
        self._none(rows, start.is_nan() | (start < 0), "has a start of {start_s}")
        self._none(rows, start > _LATEST_S, "has a start of {start_s:g}", _COUNT_FROM_0)
        self._none(rows, pl.col("src") == pl.col("dst"), "sends from {src} to itself")
        if rows.is_empty():
            raise self._refused("holds no flows", "give each flow one row")
        return rows

    def _as(self, rows: pl.DataFrame, column: str, kind: Any, what: str) -> pl.DataFrame:
        """The rows with this column as values of this kind. Raises TrafficError."""
        import polars as pl

        given, cast = pl.col(column), pl.col(column).cast(kind, strict=False)
        wrong = cast.is_null()
        if rows[column].dtype.is_float() and kind == pl.Int64:
            wrong |= cast != given
        self._none(rows, wrong, f"has a {column} of {{{column}}}, which is not {what},")
        return rows.with_columns(cast)

    def _read(self) -> pl.DataFrame:
        import polars as pl

        path = Path(self.file.path)
        try:
            if not path.exists():
                raise self._refused("does not exist", "give the path of a CSV or Parquet file")
            if not self.file.is_as_read:
                raise self._refused(
                    f"has changed: the scenario was read with a file whose SHA-256 is"
                    f" {self.file.sha256}",
                    "put that file back, or set the path again to use this one",
                )
            if path.suffix == ".parquet":
                return _parquet(path)
            return pl.read_csv(path, infer_schema_length=None, glob=False)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            if isinstance(error, pl.exceptions.ComputeError) and (line := _wide_line(path)):
                problem = f"has more fields in line {line} than names in its first line"
                remedy = "write numbers without commas, and texts that have them in quotes"
                raise self._refused(problem, remedy) from None
            reason = (str(error).splitlines() or ["it is damaged"])[0]
            raise self._refused(f"cannot be read: {reason}", "give CSV or Parquet") from None

    def _none(
        self, rows: pl.DataFrame, wrong: pl.Expr, problem: str, remedy: str = "correct it"
    ) -> None:
        """Refuses the first wrong row."""
        found = rows.with_row_index("row").filter(wrong).head(1)
        if not found.is_empty():
            row = found.row(0, named=True)
            # the first line of a CSV file has the columns' names
            is_parquet = Path(self.file.path).suffix == ".parquet"
            where = f"row {row['row'] + 1}" if is_parquet else f"line {row['row'] + 2}"
            raise self._refused(f"{problem.format(**row)} in {where}", remedy)

    def _refused(self, problem: str, remedy: str) -> TrafficError:
        return TrafficError(problem, field="file", value=self.file.path, remedy=remedy)


def _wide_line(path: Path) -> int:
    """The first line of a CSV file with more fields than the first line has; 0 if none has."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file)
        try:
            names = next(rows, [])
            return next((rows.line_num for row in rows if len(row) > len(names)), 0)
        except csv.Error:
            return 0


def _parquet(path: Path) -> pl.DataFrame:
    """The trace's columns, or all columns if one is missing. Raises ValueError.

    DuckDB reads them, because it raises an error where polars panics, and a panic is printed before
    it can be caught.
    """
    import duckdb
    import polars as pl

    with duckdb.connect() as connection:
        try:
            # not read as a pattern, because a folder may be named `a[b]` or `a=b`
            rows = connection.read_parquet(glob.escape(str(path)), hive_partitioning=False)
            known = set(_COLUMNS) <= set(rows.columns)
            return pl.DataFrame(rows.select(*_COLUMNS) if known else rows)
        except duckdb.Error as error:
            raise ValueError(str(error)) from None
