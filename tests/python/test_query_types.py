"""`fairport query`: JSON, CSV and the table can show the answer to any SQL."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

SWEEP = """
scenario = "two-switch"
seeds = 2
keep = ["jain_index"]
[set]
duration = "2ms"
[axes]
"queue.limit" = ["16KiB"]
"""


@pytest.fixture
def ask(fairport: Command, tmp_path: Any) -> Any:
    (tmp_path / "one.toml").write_text(SWEEP)
    assert fairport("sweep", "one.toml", "--jobs", "1").status == 0

    def asked(selected: str, *options: str) -> Any:
        return fairport("query", "results/one", f"select {selected}", *options)

    return asked


def test_every_type_of_sql_has_a_form_in_json_in_csv_and_in_the_table(ask: Any) -> None:
    forms: list[tuple[str, Any, str]] = [
        # DuckDB adds integers in 128 bits
        ("(select sum(seed) from runs)", 3, "3"),
        ("(2^100)::hugeint", 2**100, str(2**100)),
        ("1.25", 1.25, "1.25"),
        ("null", None, ""),
        ("[1, 2]", [1, 2], "[1, 2]"),
        ("{'a': [1.5]}", {"a": [1.5]}, '{"a": [1.5]}'),
        ("['nan'::double]", [None], "[null]"),
        ("'inf'::double", None, "inf"),
        ("date '2026-01-02'", "2026-01-02", "2026-01-02"),
        ("[time '10:00:00']", "['10:00:00']", "['10:00:00']"),
        ("interval 2 day", "2 days", "2 days"),
        ("union_value(n := 1)", "1", "1"),
        ("'a'::blob", "a", "a"),
        ("'101'::bit", "101", "101"),
    ]
    listed = ", ".join(f"{form[0]} as x{number}" for number, form in enumerate(forms))
    found = ask(listed, "--json")
    assert found.status == 0, found.err

    def no_number(text: str) -> Any:
        raise AssertionError(f"{text} is no JSON")

    (row,) = json.loads(found.out, parse_constant=no_number)
    (cells,) = csv.DictReader(io.StringIO(ask(listed, "--csv").out))
    for number, (selected, value, cell) in enumerate(forms):
        name = f"x{number}"
        assert row[name] == value, selected
        assert cells[name] == cell or float(cells[name]) == float(cell), selected
    assert ask(listed).status == 0


def test_two_columns_of_one_name_are_refused_with_what_helps(ask: Any) -> None:
    wrong = ask("seed, seed from runs")
    assert wrong.status == 2
    assert '"seed" has two columns of this name' in wrong.err
    assert "select a, b as" in wrong.err


def test_a_list_that_is_lacking_is_an_empty_cell() -> None:
    from fairport.cli.output import in_cells

    cells = in_cells(pl.DataFrame({"x": [[1], None, []]}))
    assert cells["x"].to_list() == ["[1]", None, "[]"]


def test_what_is_no_query_is_refused_before_it_does_anything(
    ask: Any, fairport: Command, tmp_path: Path
) -> None:
    assert ask("1", "--csv").status == 0
    no_queries = (
        "copy runs to 'runs.csv'",
        "set threads = 1",
        "attach 'other.db'",
        "",
        "/* runs */",
    )
    for sql in no_queries:
        found = fairport("query", "results/one", sql)
        assert found.status == 2
        assert "is not a query" in found.err
        assert "begin with `select`" in found.err
    assert not (tmp_path / "runs.csv").exists()
    assert not (tmp_path / "other.db").exists()
    for sql in ("describe runs", "from runs", "pivot runs on seed using count(*)", "table runs"):
        assert fairport("query", "results/one", sql).status == 0


def test_what_is_printed_is_what_was_found(ask: Any) -> None:
    """`[bold]` is no style, and `:x:` no picture."""
    assert ask("'[bold]a[/b] :x:' as text").out.split("\n")[1].rstrip() == "[bold]a[/b] :x:"
