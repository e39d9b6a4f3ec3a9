"""The folder of several seeds: a folder per run, and one report and one set of figures for all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairport.metrics.repeats import typical_run
from fairport.storage.parts import FIGURES, MANIFEST
from fairport.storage.run import load_run

FIGURE = "seeds"
# With more seeds the report would be too large for a browser to open quickly.
MOST_SEEDS = 10


def are_in(folder: Path) -> bool:
    """Whether a folder is that of several seeds: it has no run itself."""
    return not (folder / MANIFEST).exists() and any(folder.glob(f"seed-*/{MANIFEST}"))


def draw(summary: Mapping[str, Any], runs: Path, folder: Path) -> None:
    """Draws the figures and the report of all seeds, whose runs are in `runs`, into `folder`.

    Besides the summary over all seeds, the report has one of them in full: the one nearest to the
    median, or another that the reader chooses.
    """
    from fairport import figures
    from fairport.figures import seeds
    from fairport.figures.drawing.saving import saver
    from fairport.report import page

    typical = typical_run(summary["runs"])["seeds"][0]
    valid = [run["seeds"][0] for run in summary["runs"]]
    chosen = [typical, *(seed for seed in valid if seed != typical)][:MOST_SEEDS]
    result, *others = (load_run(runs / f"seed-{seed}") for seed in chosen)
    (folder / FIGURES).mkdir(exist_ok=True)
    with saver() as pictures:
        pictures.save(seeds.draw(summary), folder / FIGURES / FIGURE)
        figures.draw_all(result, folder / FIGURES, pictures)
        pictures.finish_svgs()
        page.write(result, folder, over=summary, others=others)
