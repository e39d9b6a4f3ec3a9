"""What a command prints on stdout: JSON, texts, tables."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table
    from rich.text import Text


def print_text(text: str) -> None:
    """Prints a text unchanged."""
    sys.stdout.write(text)


def print_json(document: Any) -> None:
    """Prints JSON, for programs."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def in_json(value: Any) -> Any:
    """The value for JSON: NaN becomes null."""
    if isinstance(value, dict):
        return {str(key): in_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [in_json(one) for one in value]
    if isinstance(value, Decimal):
        value = int(value) if value == int(value) else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """The value for CSV: lists, which CSV does not have, become JSON."""
    import polars as pl

    return frame.with_columns(
        pl.Series(
            column.name,
            [None if one is None else json.dumps(in_json(one)) for one in column.to_list()],
        )
        for column in frame.iter_columns()
        if column.dtype.is_nested()
    )


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints a listing as a table with one column per key; the first holds names."""
    table = new_table()
    for number, key in enumerate(rows[0]):
        # not shortened in a narrow terminal, where a name could not be copied
        table.add_column(key, no_wrap=number == 0)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    out().print(table)


def styled(*parts: str | tuple[str, str]) -> Text:
    """A line of text; a part may be a pair of a text and its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def new_table() -> Table:
    """A table in the style of all commands."""
    from rich.table import Table

    # Without lines between columns, so that the table of a run fits into 80 columns.
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")


def table_of_numbers(names: str, numbers: Iterable[str]) -> Table:
    """A table with the headings of its names, on the left, and of its columns of numbers."""
    table = new_table()
    table.add_column(names)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table
