"""Studies whose numbers are known, because nothing was run: every point with ten seeds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from fairport.files.place import place
from fairport.study.results import BESIDES, OF_A_RUN, Definition, Study, define
from fairport.study.runs.model_version import model_version

Numbers = dict[str, float]


def made_up(
    folder: Path,
    axes: dict[str, list[Any]],
    titles: dict[str, str],
    numbers: Callable[..., Numbers | None],
) -> Study:
    """`numbers` takes a point's values and the seed; None: the study lacks that run."""
    rows = []
    for *values, seed in product(*axes.values(), range(1, 11)):
        found = numbers(*values, seed)
        if found is not None:
            run_id = "-".join(map(str, [*values, seed]))
            point = dict(zip(axes, values, strict=True))
            rows.append(point | found | {"seed": seed, "run_id": run_id, "error": None})
    definition = Definition(
        name="made-up",
        scenario="",
        axes=axes,
        labels={axis: list(map(str, values)) for axis, values in axes.items()},
        titles=titles,
        keep=[name for name in rows[0] if name not in (*axes, *OF_A_RUN, *BESIDES)],
        backend="simulation",
        model=model_version(),
    )
    study = define(place(folder / "study"), definition, force=False)
    for row in rows:
        study.runs.add(row)
    study.runs.flush()
    return study
