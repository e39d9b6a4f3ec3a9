"""What a reader must know before the numbers of a comparison, as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairport.metrics import caveats
from fairport.metrics.repeats import summarise
from fairport.quantities import QUANTITIES
from fairport.record import Record
from fairport.study.comparison.parts import ComparedPart
from fairport.study.fixes import BASELINE


class Noticed:
    """Collects from each run what its summary warns of, and which of its numbers are bounds."""

    def __init__(self, repeat: int) -> None:
        """`repeat` is the number of runs of each fix."""
        self._repeat = repeat
        self._as_it_is: list[dict[str, Any]] = []
        self._caveats: Counter[tuple[str, str]] = Counter()
        self._bounds: Counter[tuple[str, str]] = Counter()

    def add(self, fix: str, record: Record, parts: Sequence[ComparedPart]) -> None:
        """Adds a run with a fix, or of the scenario as it is."""
        if fix == BASELINE:
            self._as_it_is.append(record.summary)
        self._caveats.update((caveat, fix) for caveat in caveats.by_name(record.summary))
        self._bounds.update((part.metric or "", fix) for part in parts if part.is_bound(record))

    def of_all_runs(self) -> list[str]:
        """The caveats of the scenario as it is, and which fixes have runs with others."""
        whole = summarise(self._as_it_is)
        said = caveats.by_name(whole)
        return [
            *whole["caveats"],
            *(
                f"Some runs have the caveat {caveat}: {caveats.MEANINGS[caveat]}. These are"
                f" {fixes}."
                for caveat, fixes in self._fixes(self._caveats).items()
                if caveat not in said
            ),
        ]

    def lower_bounds(self) -> list[str]:
        """Of which fixes the number that ranks them is a lower bound in some runs."""
        return [
            f"In some runs the {QUANTITIES[metric].title} is a lower bound, because too many were"
            f" not over by the end: {fixes}."
            for metric, fixes in self._fixes(self._bounds).items()
        ]

    def _fixes(self, runs: Mapping[tuple[str, str], int]) -> dict[str, str]:
        """By what was counted: the fixes, each with its number of runs, in words."""
        found: dict[str, list[str]] = {}
        for (what, fix), count in runs.items():
            found.setdefault(what, []).append(f"{fix} {count} of {self._repeat}")
        return {what: ", ".join(each) for what, each in found.items()}


def without_number(runs: pl.DataFrame, parts: Sequence[ComparedPart]) -> list[str]:
    """Which fixes have some runs without a number that ranks them, as sentences."""
    found = []
    for part in parts:
        if part.metric is None:
            continue
        missing = pl.col(part.key(part.metric)).null_count()
        counts = runs.group_by("fix", maintain_order=True).agg(missing=missing, runs=pl.len())
        some = counts.filter(pl.col("missing").is_between(1, pl.col("runs") - 1))
        if not some.is_empty():
            each = ", ".join(f"{fix} {count} of {of}" for fix, count, of in some.iter_rows())
            what = QUANTITIES[part.metric].title
            found.append(f"Some runs have no {what}, and no median counts them: {each}.")
    return found
