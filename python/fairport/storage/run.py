"""A run as a folder: manifest, summary, Parquet tables, figures, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from fairport.errors import RunFolderError
from fairport.files import atomic_folder, put_back
from fairport.result import Result
from fairport.scenario import parse
from fairport.storage import digests, inputs
from fairport.storage.parts import (
    FIGURES,
    MANIFEST,
    SUMMARY,
    TABLES,
    files_below,
    write_json,
    write_tables,
)

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
    summary: dict[str, Any] = {
        **result.summary,
        "files": sorted([*files_below(folder), MANIFEST, SUMMARY]),
    }
    found = digests.digests(result.manifest, summary, folder / TABLES)
    write_json(folder / MANIFEST, {**result.manifest, digests.KEY: found})
    write_json(folder / SUMMARY, summary)
    return summary


def draw(result: Result, folder: Path) -> None:
    """Draws a run's figures and its report into its folder."""
    from fairport import figures
    from fairport.figures.saving import saver
    from fairport.report import page

    (folder / FIGURES).mkdir(exist_ok=True)
    with saver() as pictures:
        figures.draw_all(result, folder / FIGURES, pictures)
        pictures.finish_svgs()
        page.write(result, folder)


def load_run(folder: str | Path) -> Result:
    """A run from its folder. Raises RunFolderError."""
    folder = Path(folder)
    if not folder.exists():
        put_back(folder)
    manifest = read_json(folder, MANIFEST, _MANIFEST_KEYS)
    summary = read_json(folder, SUMMARY, _SUMMARY_KEYS)
    _require_unchanged(folder, manifest, summary)
    return Result(
        scenario=inputs.in_place(parse(manifest["scenario"], file=str(folder / MANIFEST)), folder),
        seed=manifest["seed"],
        tables=_read_tables(folder),
        summary=cast("Summary", summary),
        manifest=manifest,
    )


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Writes a summary of several runs; in a single run's folder, it replaces that run's."""
    if (folder / MANIFEST).exists():
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        written = digests.digests(manifest, summary, folder / TABLES)
        write_json(folder / MANIFEST, {**manifest, digests.KEY: written})
    write_json(folder / SUMMARY, summary)


def _read_tables(folder: Path) -> dict[str, Any]:
    from fairport import tables

    try:
        return {
            # not read as a pattern, because a folder may be named `a[b]`
            name: _completed(name, pl.read_parquet(folder / TABLES / f"{name}.parquet", glob=False))
            for name in tables.SCHEMA
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RunFolderError(
            f"holds no readable tables: {error}",
            file=str(folder),
            remedy="run the scenario again",
        ) from None


def _completed(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """The table with the columns that its version of Fairport did not write.

    Earlier versions took every packet for one of the flow's data, so truth values are false: the
    folder's numbers stay what they were. All others are null.
    """
    from fairport import tables

    missing = [
        pl.lit(False if dtype == pl.Boolean else None, dtype).alias(column)
        for column, dtype in tables.empty(name).schema.items()
        if column not in table.columns
    ]
    return table.with_columns(missing)


def _require_unchanged(folder: Path, manifest: dict[str, Any], summary: dict[str, Any]) -> None:
    """Checks that all files read later are as Fairport wrote them; there is no other check."""
    try:
        name = digests.changed(manifest, summary, folder / TABLES)
    except OSError as error:
        raise RunFolderError(
            f"cannot be read: {error.strerror}",
            file=error.filename or str(folder),
            remedy="check that you may read it, or run the scenario again",
        ) from None
    if name is not None:
        raise RunFolderError(
            f"is damaged: {name} is not as Fairport wrote it",
            file=str(folder),
            remedy="run the scenario again",
        )


def read_json(folder: Path, name: str, keys: Mapping[str, type]) -> dict[str, Any]:
    """Reads the JSON file `name` of a run's folder; checks its keys and the types of their values.

    Raises RunFolderError.
    """
    try:
        document = json.loads((folder / name).read_text(encoding="utf-8"))
    except OSError:
        raise _no_run(folder, f"{name} is missing") from None
    except (ValueError, RecursionError):
        # not UTF-8, not JSON, a number of 5,000 digits, 1,000 brackets
        document = None
    if not isinstance(document, dict):
        raise _no_run(folder, f"{name} cannot be read")
    if name == MANIFEST and not document.keys().isdisjoint(("seeds", "experiments")):
        raise _no_run(folder, f"{name} is of a comparison, a validation or a reproduction")
    for key, kind in keys.items():
        if key not in document or not isinstance(document[key], kind):
            raise RunFolderError(
                "is not what a run of this version writes there",
                file=str(folder / name),
                field=key,
                remedy="it is damaged, or of another version: run the scenario again",
            )
    return document


def _no_run(folder: Path, problem: str) -> RunFolderError:
    from fairport.study.results import DEFINITION

    runs = sorted(folder.glob(f"*/{MANIFEST}"))
    remedy = "give a folder that `fairport run` wrote"
    if runs:
        remedy = f"it holds several: give one, such as {runs[0].parent}"
    elif (folder / DEFINITION).is_file():
        remedy = "it is a study: `fairport sweep FILE --out OTHER` makes its runs again"
    return RunFolderError(f"is not a run: {problem}", file=str(folder), remedy=remedy)
