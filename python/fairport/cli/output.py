"""What a command prints on stdout: JSON, texts, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out

if TYPE_CHECKING:
    from rich.table import Table


def print_text(text: str) -> None:
    """Prints a text unchanged."""
    sys.stdout.write(text)


def print_json(document: Any) -> None:
    """Prints JSON, for programs."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints a listing as a table with one column per key."""
    table = new_table()
    for key in rows[0]:
        table.add_column(key)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    out().print(table)


def print_comparison(comparison: Mapping[str, Any]) -> None:
    """Prints what a rerun found."""
    word = "the same" if comparison["same"] else "DIFFERENT"
    print_text(
        f"{comparison['run_id']}: {word}: fingerprint {comparison['fingerprint']}"
        f" (version {comparison['version']}), before {comparison['fingerprint_before']}"
        f" (version {comparison['version_before']})\n"
    )


def new_table() -> Table:
    """A table in the style of all commands."""
    from rich.table import Table

    # Without lines, so that the table of a run fits 80 columns.
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
