"""The folder of several seeds: one folder per run, and one report and one set of figures of all."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairport.storage.run import FIGURES, load_run

FIGURE = "seeds"


def draw(summary: Mapping[str, Any], folder: Path) -> None:
    """Draws the figures and the report of all seeds into their folder.

    Besides what all seeds have in common, the report has one of them in full: the one nearest to
    the median.
    """
    from fairport import figures, report
    from fairport.figures import seeds, style

    result = load_run(folder / f"seed-{typical_seed(summary)}")
    (folder / FIGURES).mkdir(exist_ok=True)
    picture = seeds.draw(summary)
    for ending in ("png", "svg"):
        style.save(picture, folder / FIGURES / f"{FIGURE}.{ending}")
    figures.draw_all(result, folder / FIGURES)
    report.write(result, folder, over=summary)


def typical_seed(summary: Mapping[str, Any]) -> int:
    """The seed whose run is nearest to the median: of the ratio, or else of the total goodput."""
    runs = summary["runs"]
    values = [run["verdict"]["ratio"] for run in runs]
    if None in values:
        values = [run["goodput_bps_total"] for run in runs]
    middle = statistics.median_low(values)
    seed: int = runs[values.index(middle)]["seeds"][0]
    return seed
