"""Draws the figures and the report of a written run, or of the runs of several seeds, again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairport.files import add_to_list, exchange, partial_folder, put_back, unwritable
from fairport.storage import repeats, run
from fairport.storage.parts import FIGURES, REPORT, SUMMARY


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


def _drawing(folder: Path) -> Callable[[Path], None]:
    """A function that draws what the folder holds into another folder. Raises RunFolderError."""
    if not folder.exists():
        put_back(folder)
    if not repeats.are_in(folder):
        result = run.load_run(folder)
        return lambda drawing: run.draw(result, drawing)
    summary = run.read_json(folder, SUMMARY, {"runs": list, "seeds": list, "verdict": dict})
    return lambda drawing: repeats.draw(summary, folder, drawing)
