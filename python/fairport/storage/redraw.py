"""Draws figures and reports again: of a run, of several seeds, of a comparison, of a validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairport.errors import InputError, RunFolderError
from fairport.files import add_to_list, exchange, partial_folder, put_back, unwritable
from fairport.storage import documents, repeats, run
from fairport.storage.parts import FIGURES, MANIFEST, REPORT, SUMMARY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_REPEATS_KEYS = {"runs": list, "seeds": list, "verdict": dict}


@dataclass(frozen=True)
class _Drawing:
    """How a folder's result is drawn."""

    kind: str
    """The kind of figure that is drawn if none is named."""
    figure: Callable[[str], Figure]
    """Draws the figure of a kind."""
    all_into: Callable[[Path], None]
    """Draws all figures and the report into a folder."""


def redraw(folder: Path) -> Path:
    """Draws the figures and the report of a folder again; returns the report's path.

    Raises RunFolderError if the folder holds no result, OutputError if it cannot be written.
    """
    drawing = _drawing(folder)
    try:
        with partial_folder(folder / FIGURES) as new:
            drawing.all_into(new)
            drawn = {REPORT, *(f"{FIGURES}/{path.name}" for path in (new / FIGURES).iterdir())}
            if not exchange(new / FIGURES, folder / FIGURES):
                if (folder / FIGURES).exists():
                    (folder / FIGURES).rename(new / "old")
                (new / FIGURES).rename(folder / FIGURES)
            (new / REPORT).replace(folder / REPORT)
        add_to_list(folder, drawn)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder / REPORT


def has_result(folder: Path) -> bool:
    """Whether a folder is that of a result, and not that of a study."""
    return (folder / MANIFEST).exists() or repeats.are_in(folder)


def picture(folder: Path, kind: str) -> tuple[str, Figure]:
    """One figure of a folder, and its kind. Only a run has several kinds.

    Raises RunFolderError and InputError.
    """
    drawing = _drawing(folder)
    kind = kind or drawing.kind
    return kind, drawing.figure(kind)


def _drawing(folder: Path) -> _Drawing:
    """How the result in a folder is drawn. Raises RunFolderError."""
    if not folder.exists():
        put_back(folder)
    if repeats.are_in(folder):
        return _of_seeds(folder)
    match documents.kind_of(folder):
        case "comparison":
            return _of_comparison(folder)
        case "validation":
            return _of_validation(folder)
        case "reproduction":
            raise RunFolderError(
                "is a reproduction, which is not drawn again",
                file=str(folder),
                remedy=f"its figures are in {folder / FIGURES}",
            )
    return _of_run(folder)


def _of_run(folder: Path) -> _Drawing:
    from fairport import figures

    result = run.load_run(folder)
    return _Drawing(
        figures.KINDS[0],
        lambda kind: figures.draw(result, kind),
        lambda into: run.draw(result, into),
    )


def _of_seeds(folder: Path) -> _Drawing:
    from fairport.figures import seeds

    summary = documents.read_json(folder, SUMMARY, _REPEATS_KEYS)
    first = min(folder.glob(f"seed-*/{MANIFEST}")).parent
    return _one_figure(
        "these are several seeds",
        repeats.FIGURE,
        lambda: seeds.draw(summary),
        lambda into: repeats.draw(summary, folder, into),
        remedy=f"name the folder of one of them, such as {first}",
    )


def _of_comparison(folder: Path) -> _Drawing:
    from fairport.figures import compare, compared
    from fairport.storage import comparison

    found = comparison.load(folder)
    return _one_figure(
        "this is a comparison",
        comparison.FIGURE,
        lambda: compare.draw(compared.chart(found)),
        lambda into: comparison.draw(found, into),
    )


def _of_validation(folder: Path) -> _Drawing:
    from fairport.figures import validate
    from fairport.storage import validation

    found = validation.load(folder)
    return _one_figure(
        "this is a validation",
        validation.FIGURE,
        lambda: validate.draw(found),
        lambda into: validation.draw(found, into),
    )


def _one_figure(
    what: str,
    name: str,
    draw: Callable[[], Figure],
    all_into: Callable[[Path], None],
    *,
    remedy: str = "leave it out",
) -> _Drawing:
    """How a result is drawn that has one figure only."""

    def figure(kind: str) -> Figure:
        if kind == name:
            return draw()
        raise InputError(
            f"is a figure of one run, and {what}", field="--kind", value=kind, remedy=remedy
        )

    return _Drawing(name, figure, all_into)
