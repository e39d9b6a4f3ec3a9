"""Results as folders: runs, comparisons and the like. Each is complete or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairport.errors import InputError
from fairport.result import Result
from fairport.storage import run
from fairport.storage.run import load_run as load_run

if TYPE_CHECKING:
    from fairport.study.comparison.result import Comparison
    from fairport.study.validation import Validation


def save(
    found: Result | Comparison | Validation,
    folder: str | Path,
    *,
    force: bool = False,
    figures: bool = True,
    csv: bool = False,
) -> Path:
    """Writes the folder of a run, a comparison or a validation, and returns its path.

        fp.save(fp.run("two-switch"), "results/two-switch", csv=True, figures=False)

    The tables are Parquet files, with `csv` also CSV. Without `figures` there are neither figures
    nor the report. `force` replaces an earlier result there. Raises OutputError if there is one,
    and if the folder cannot be written.
    """
    if not isinstance(folder, str | Path):
        raise InputError(
            "is not the path of a folder",
            field="folder",
            value=folder,
            remedy="give the result first, then its folder",
        )
    folder = Path(folder)
    if isinstance(found, Result):
        return run.save(found, folder, force=force, figures=figures, csv=csv)
    from fairport.storage import comparison
    from fairport.study.comparison.result import Comparison

    if isinstance(found, Comparison):
        return comparison.save(found, folder, force=force, figures=figures, csv=csv)
    from fairport.storage import validation
    from fairport.study.validation import Validation

    if not isinstance(found, Validation):
        raise InputError(
            "is not a result that can be saved",
            field="found",
            value=found,
            remedy="give one result of `fp.run`, or what `fp.compare` returns",
        )
    return validation.save(found, folder, force=force, figures=figures, csv=csv)
