"""Draws the figures and the report of a written run, or of the runs of several seeds, again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fairport.errors import InputError
from fairport.files import add_to_list, exchange, partial_folder, put_back, unwritable
from fairport.storage import repeats, run
from fairport.storage.parts import FIGURES, MANIFEST, REPORT, SUMMARY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_REPEATS_KEYS = {"runs": list, "seeds": list, "verdict": dict}


def redraw(folder: Path) -> Path:
    """Draws the figures and the report of a folder again; returns the report's path.

    Raises RunFolderError if the folder is not a run, OutputError if it cannot be written.
    """
    draw = _drawing(folder)
    try:
        with partial_folder(folder / FIGURES) as drawing:
            draw(drawing)
            drawn = {REPORT, *(f"{FIGURES}/{path.name}" for path in (drawing / FIGURES).iterdir())}
            if not exchange(drawing / FIGURES, folder / FIGURES):
                if (folder / FIGURES).exists():
                    (folder / FIGURES).rename(drawing / "old")
                (drawing / FIGURES).rename(folder / FIGURES)
            (drawing / REPORT).replace(folder / REPORT)
        add_to_list(folder, drawn)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder / REPORT


def is_of_runs(folder: Path) -> bool:
    """Whether a folder is that of a run, or of several seeds."""
    return (folder / MANIFEST).exists() or repeats.are_in(folder)


def picture(folder: Path, kind: str) -> tuple[str, Figure]:
    """One figure of a folder, and its kind; of several seeds there is one figure of them all.

    Raises RunFolderError and InputError.
    """
    from fairport import figures
    from fairport.figures import seeds

    if not repeats.are_in(folder):
        kind = kind or figures.KINDS[0]
        return kind, figures.draw(run.load_run(folder), kind)
    if kind not in ("", repeats.FIGURE):
        first = min(folder.glob(f"seed-*/{MANIFEST}")).parent
        raise InputError(
            "is a figure of one run, and these are several seeds",
            field="--kind",
            value=kind,
            remedy=f"name the folder of one of them, such as {first}",
        )
    return repeats.FIGURE, seeds.draw(run.read_json(folder, SUMMARY, _REPEATS_KEYS))


def _drawing(folder: Path) -> Callable[[Path], None]:
    """A function that draws what the folder holds into another folder. Raises RunFolderError."""
    if not folder.exists():
        put_back(folder)
    if not repeats.are_in(folder):
        result = run.load_run(folder)
        return lambda drawing: run.draw(result, drawing)
    summary = run.read_json(folder, SUMMARY, _REPEATS_KEYS)
    return lambda drawing: repeats.draw(summary, folder, drawing)
