"""The caveats of the runs of a study: how many runs have each, and where the first is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from fairport.metrics.caveats import MEANINGS
from fairport.quantities import counted
from fairport.study.results import Study


@dataclass(frozen=True, slots=True)
class CaveatOfRuns:
    """A caveat that some runs of a study have."""

    name: str
    """One of `caveats.MEANINGS`."""
    runs: int
    """Runs that have it."""
    of: int
    """Runs of the study whose caveats are known."""
    first: dict[str, Any]
    """The values of the axes of the first of these runs, in order of the axes, and its seed."""

    @property
    def sentence(self) -> str:
        """The caveat in one sentence."""
        # a search also runs the scenario as it is, which has no values of its axes
        at = ((name, value) for name, value in self.first.items() if value is not None)
        where = ", ".join(f"{name}={value}" for name, value in at)
        have = "has" if self.of == 1 else "have"
        return (
            f"{self.runs:,} of {counted(self.of, 'run')} {have} the caveat {self.name}, the first"
            f" at {where}: {MEANINGS[self.name]}."
        )


def caveats_of_runs(study: Study) -> list[CaveatOfRuns]:
    """The caveats that runs of the study have, in the order of `caveats.MEANINGS`."""
    runs = study.to_polars()
    if "caveats" not in runs.columns:
        return []  # of an earlier version
    known = runs.filter(pl.col("caveats").is_not_null())
    names = known["caveats"].cast(pl.String).str.split(", ")
    found = []
    for name in MEANINGS:
        having = known.filter(names.list.contains(name))
        if not having.is_empty():
            first = having.select(*study.axes, "seed").row(0, named=True)
            found.append(CaveatOfRuns(name, having.height, known.height, first))
    return found
