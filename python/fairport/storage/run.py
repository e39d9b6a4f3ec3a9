"""A run as a folder: manifest, summary, Parquet tables, figures, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from fairport.errors import require_path
from fairport.files import atomic_folder
from fairport.result import Result
from fairport.scenario import parse
from fairport.storage import documents, inputs
from fairport.storage.parts import FIGURES, MANIFEST, SUMMARY, TABLES, write_json, write_tables
from fairport.tables import SCHEMA, Tables, empty

if TYPE_CHECKING:
    from fairport.summary import Summary

# The keys that these files must have when a run is read, and the types of their values.
_MANIFEST_KEYS = {
    **dict.fromkeys(("scenario", "run_id", "fingerprint", "version", "backend"), str),
    "seed": int,
}
_SUMMARY_KEYS = {
    **dict.fromkeys(("measure", "classes", "verdict"), dict),
    **dict.fromkeys(
        ("bottleneck", "fct", "goodput_bps_total", "jain_index", "utilisation"), object
    ),
}


def save(
    result: Result, folder: Path, *, force: bool = False, figures: bool = True, csv: bool = False
) -> Path:
    """Writes a run's folder, completely or not at all, and returns its path. Raises OutputError."""
    with atomic_folder(folder, force=force) as partial:
        write(result, partial, figures=figures, csv=csv)
    return folder


def write(result: Result, folder: Path, *, figures: bool, csv: bool) -> dict[str, Any]:
    """Fills a folder with a run; returns its summary, whose `files` lists what was written."""
    with ThreadPoolExecutor(1) as beside:
        written = beside.submit(write_tables, result.tables, folder / TABLES, csv=csv)
        if figures:
            draw(result, folder)
        written.result()
    inputs.write(result.scenario, folder)
    return documents.write(folder, result.manifest, result.summary)


def draw(result: Result, folder: Path) -> None:
    """Draws a run's figures and its report into its folder."""
    from fairport import figures
    from fairport.figures.drawing.saving import saver
    from fairport.report import page

    (folder / FIGURES).mkdir(exist_ok=True)
    with saver() as pictures:
        figures.draw_all(result, folder / FIGURES, pictures)
        pictures.finish_svgs()
        page.write(result, folder)


def load_run(folder: str | Path) -> Result:
    """A run from its folder, which `save` or `fairport run` wrote. Raises RunFolderError."""
    require_path(folder, "folder")
    folder = Path(folder)
    manifest, summary = documents.read(folder, "run", _MANIFEST_KEYS, _SUMMARY_KEYS)
    return Result(
        scenario=inputs.in_place(parse(manifest["scenario"], file=str(folder / MANIFEST)), folder),
        seed=manifest["seed"],
        tables=_completed(documents.tables(folder, SCHEMA)),
        summary=cast("Summary", summary),
        manifest=manifest,
    )


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Writes a summary of several runs; in a single run's folder, it replaces that run's."""
    if (folder / MANIFEST).exists():
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        documents.replace(folder, manifest, summary)
    else:
        write_json(folder / SUMMARY, summary)


def _completed(tables: Mapping[str, pl.DataFrame]) -> Tables:
    """The tables with the columns that their version of Fairport did not write.

    Earlier versions took every packet for one of the flow's data, so truth values are false: the
    folder's numbers stay what they were. All others are null.
    """
    return {
        name: table.with_columns(
            pl.lit(False if dtype == pl.Boolean else None, dtype).alias(column)
            for column, dtype in empty(name).schema.items()
            if column not in table.columns
        )
        for name, table in tables.items()
    }
