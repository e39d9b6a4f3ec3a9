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
    """As it is."""
    sys.stdout.write(text)


def print_json(document: Any) -> None:
    """For programs."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """A listing as a table, one column a key."""
    table = new_table()
    for key in rows[0]:
        table.add_column(key)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    out().print(table)


def print_comparison(comparison: Mapping[str, Any]) -> None:
    """What a rerun found."""
    word = "the same" if comparison["same"] else "DIFFERENT"
    print_text(
        f"{comparison['run_id']}: {word}: fingerprint {comparison['fingerprint']}"
        f" (version {comparison['version']}), before {comparison['fingerprint_before']}"
        f" (version {comparison['version_before']})\n"
    )


def new_table() -> Table:
    """A table as all commands print them."""
    from rich.table import Table

    # without lines: the table of a run fits 80 columns so
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
