"""SQL over runs and points, with DuckDB.

An axis of texts sorts in its own order: `4KiB` before `16KiB`. An axis of quantities also has a
column of numbers, named by its unit, because comparing texts compares letters: `"queue.limit_bytes"
> 8000`. `low95(x)` and `high95(x)` are the ends of the 95 % interval of a median.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport.errors import InputError, did_you_mean
from fairport.scenario.rows import in_base_units
from fairport.study import point_statistics

if TYPE_CHECKING:
    import duckdb

_INTERVAL = re.compile(r"\b(low|high)95\b", re.IGNORECASE)
# the most values of which an interval is computed; of more it is null
_MOST_SEEDS = 400

Orders = Mapping[str, Sequence[str]]
"""The values of columns of text in their order: `4KiB` comes before `16KiB`."""


def query(
    files: Sequence[Path], columns: Sequence[str], orders: Orders, sql: str, file: str
) -> pl.DataFrame:
    """The result of a query on the view `runs` over Parquet files. Raises InputError."""
    if not isinstance(sql, str):
        remedy = "give one, such as `select count(*) from runs`"
        raise InputError("is not a query in SQL", field="query", value=sql, remedy=remedy)
    with _connection() as connection:
        source = _source(connection, files, file)
        # after a process was killed, a run may be there twice
        distinct = "" if len(files) == 1 else 'distinct on ("run_id")'
        shown = [column for column in columns if column in source.columns]
        ordered = {
            name: known
            for name, known in orders.items()
            if name in shown and source.types[source.columns.index(name)] == "VARCHAR"
        }
        listed = ", ".join(_column(connection, name, ordered) for name in shown)
        source.create_view("stored")
        connection.execute(f"create view runs as select {distinct} {listed} from stored")
        if _INTERVAL.search(sql):
            _add_interval(connection)
        return _answer(connection, sql, file)


def matching(rows: Sequence[Mapping[str, Any]], where: str, file: str) -> list[int]:
    """The numbers of the rows for which a condition in SQL holds. Raises InputError."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None).with_row_index("#")
    orders = {
        column.name: [str(value) for value in column.unique(maintain_order=True)]
        for column in frame.iter_columns()
        if column.dtype == pl.String
    }
    with tempfile.TemporaryDirectory(prefix="fairport-") as folder, _connection() as connection:
        path = Path(folder) / "points.parquet"
        frame.write_parquet(path)
        source = connection.read_parquet(str(path))
        source.create_view("stored")
        listed = ", ".join(_column(connection, name, orders) for name in frame.columns)
        connection.execute(f"create view points as select {listed} from stored")
        sql = f'select "#" from points where {where} order by "#"'
        found: list[int] = _answer(connection, sql, file, "where")["#"].to_list()
        return found


def _add_interval(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds the ends of a median's interval, which figures have, too; null of fewer than six."""
    ranks = [point_statistics.rank(count) or None for count in range(1, _MOST_SEEDS + 1)]
    listed = ", ".join("null" if rank is None else str(rank) for rank in ranks)
    ordered = "list_sort(list(x) filter (x is not null))"
    for name, rank in (("low95", "{rank}"), ("high95", "count(x) + 1 - {rank}")):
        of = rank.format(rank=f"[{listed}][count(x)]")
        connection.execute(f"create macro {name}(x) as {ordered}[{of}]")


def _source(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], file: str
) -> duckdb.DuckDBPyRelation:
    import duckdb

    try:
        return connection.read_parquet([str(path) for path in files], union_by_name=True)
    except duckdb.Error as error:
        raise InputError(
            f"is damaged: {str(error).splitlines()[0]}",
            file=f"{file}: {files[0].name}",
            remedy="remove this file; the same command then repeats the runs that it held",
        ) from None


def _queries() -> set[Any]:
    """The types of statements that have an answer, and change nothing."""
    from duckdb import StatementType

    return {StatementType.SELECT, StatementType.EXPLAIN, StatementType.CALL}


def _answer(
    connection: duckdb.DuckDBPyConnection, sql: str, file: str, field: str = ""
) -> pl.DataFrame:
    import duckdb

    try:
        statements = connection.extract_statements(sql)
        if not statements or statements[-1].type not in _queries():
            raise InputError(
                "is not a query",
                file=file,
                field=field,
                value=sql,
                remedy="begin with `select`; `fairport query --csv > FILE` writes a file",
            )
        relation = connection.sql(sql)
        for number, name in enumerate(relation.columns):
            if name in relation.columns[:number]:
                raise InputError(
                    "has two columns of this name",
                    file=file,
                    field=field,
                    value=name,
                    remedy='give one another name: `select a, b as "other"`',
                )
        return _in_known_types(relation)
    except duckdb.Error as error:
        lines = str(error).splitlines()
        unknown = re.search(r'Referenced column "(.+?)" not found', lines[0])
        views = "select column_name from duckdb_columns() where table_name in ('runs', 'points')"
        columns = [name for (name,) in connection.execute(views).fetchall()]
        raise InputError(
            f"cannot be answered: {lines[0]}",
            file=file,
            field=field,
            remedy=did_you_mean(unknown[1], columns)
            if unknown
            else 'the table is `runs`; a name with a dot goes in quotes: "a.b"',
        ) from None


# a sum of integers has 128 bits
_KNOWN = {
    *("boolean", "float", "double", "decimal", "varchar", "enum"),
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
}
_NESTED = ("list", "array", "struct", "map")


def _in_known_types(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Its rows as numbers, texts, lists and structures; every other type becomes text."""
    names = relation.columns
    others = [not _is_known(kind) for kind in relation.types]
    if any(others):
        listed = (
            f"{_quoted(name)}::varchar as {_quoted(name)}" if is_other else _quoted(name)
            for name, is_other in zip(names, others, strict=True)
        )
        relation = relation.project(", ".join(listed))
    return pl.DataFrame(relation).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _is_known(kind: Any) -> bool:
    if kind.id not in _NESTED:
        return kind.id in _KNOWN
    # an array's type lists its size with the type of its elements
    return all(_is_known(inner) for name, inner in kind.children if name != "size")


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    connection = duckdb.connect()
    try:
        yield connection
    finally:
        connection.close()


def _column(connection: duckdb.DuckDBPyConnection, name: str, orders: Orders) -> str:
    """The column, with the axis's order if it has texts, and its column of numbers."""
    quoted = _quoted(name)
    if name not in orders:
        return quoted
    kind = _quoted(f"order of {name}")
    values = ["'" + value.replace("'", "''") + "'" for value in orders[name]]
    connection.execute(f"create type {kind} as enum ({', '.join(values)})")
    column = f"{quoted}::{kind} as {quoted}"
    found = in_base_units(orders[name])
    if found is None:
        return column
    suffix, numbers = found
    pairs = zip(values, numbers, strict=True)
    cases = " ".join(f"when {value} then {number!r}::double" for value, number in pairs)
    return f"{column}, case {quoted} {cases} end as {_quoted(name + suffix)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
