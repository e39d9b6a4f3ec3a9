"""What all results folders have: the same names of files, JSON documents, tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from fairport.study.runs.dataset import parquet

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
REPORT = "report.html"
TABLES = "tables"
FIGURES = "figures"


def write_json(path: Path, document: Any) -> None:
    """Writes a JSON document for people and programs to read."""
    path.write_text(
        json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, *, csv: bool) -> None:
    """Writes tables into a new folder as Parquet, and as CSV, too, in which lists become text."""
    folder.mkdir()
    for name, table in tables.items():
        (folder / f"{name}.parquet").write_bytes(parquet(table))
        if csv:
            words = table.with_columns(cs.by_dtype(pl.List(pl.String)).list.join(" "))
            (folder / f"{name}.csv").write_text(words.write_csv(), encoding="utf-8")


def files_below(folder: Path) -> Iterable[str]:
    """Names of all visible files in the folder, relative to it."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return (path.as_posix() for path in files if not path.name.startswith("."))
