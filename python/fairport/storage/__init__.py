"""Results as folders: runs, comparisons, reproductions. Each is complete or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairport.storage import run
from fairport.storage.run import load_run as load_run

if TYPE_CHECKING:
    from fairport.result import Result
    from fairport.study.comparison import Comparison


def save(
    found: Result | Comparison,
    folder: str | Path,
    *,
    force: bool = False,
    figures: bool = True,
    csv: bool = False,
) -> Path:
    """Writes the folder of a run or a comparison, and returns its path.

    `force` replaces an earlier result there. Raises OutputError.
    """
    from fairport.storage import comparison
    from fairport.study.comparison import Comparison

    folder = Path(folder)
    if isinstance(found, Comparison):
        return comparison.save(found, folder, force=force, figures=figures, csv=csv)
    return run.save(found, folder, force=force, figures=figures, csv=csv)
