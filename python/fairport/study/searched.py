"""The result of a search: its points, and how sure it is that the first is the best."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from fairport.html_table import html_table
from fairport.metrics.repeats import first_to_last
from fairport.metrics.spread import FEWEST_FOR_QUARTILES, Spread
from fairport.quantities import of_number
from fairport.study.caveats_of_runs import caveats_of_runs
from fairport.study.comparison.ranking import with_range
from fairport.study.points import in_column
from fairport.study.results import Study

Goal = Literal["tune", "hunt"]

# points that people see
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A point of a search, and how good it is."""

    values: Mapping[str, Any]
    numbers: Mapping[str, float | None]
    """Medians over the seeds."""
    log_gains: Sequence[float | None]
    """Logarithms of the gains over the scenario without the search's values, seed by seed."""

    @property
    def gain(self) -> float:
        """The median gain; 1: no gain."""
        return math.exp(Spread.of(self.log_gains).median or 0.0)

    @property
    def gain_range(self) -> tuple[float, float]:
        """The quartiles of the gain; of fewer than four seeds, the least and the greatest."""
        spread = Spread.of(self.log_gains)
        return math.exp(spread.q1 or 0.0), math.exp(spread.q3 or 0.0)


@dataclass(frozen=True)
class Searched:
    """The result of a search."""

    study: Study
    goal: Goal
    weights: Mapping[str, float]
    before: Mapping[str, float | None]
    """Medians of the scenario without the search's values."""
    found: Sequence[Found]
    """Best first: for `hunt`, worst."""
    trials: int
    """Number of points tried, including those without a result."""

    def __repr__(self) -> str:
        first = self.found[0].values if self.found else {}
        point = ", ".join(f"{path}={value}" for path, value in first.items())
        said = f"{point}. {self.conclusion}" if point else self.conclusion
        return f"<fairport.Searched {self.study.definition.name}: {said}>"

    @property
    def conclusion(self) -> str:
        """How sure it is that the first point is the best, in one or two sentences.

        Another point is no worse if the middle half of the differences, seed by seed, says so
        (`fairport.metrics.spread`).
        """
        if not self.found:
            return f"No point of {self.trials} has a result."
        best = "best" if self.goal == "tune" else "worst"
        seeds = self.study.definition.seeds
        if len(seeds) < FEWEST_FOR_QUARTILES:
            said = f"{len(seeds)} seed{'s are' if len(seeds) > 1 else ' is'} too few to say"
            return f"{said} which point is {best}: give more, such as `seeds = 10`."
        first = self.found[0]
        if not self._is_beyond(first.log_gains, [0.0] * len(seeds)):
            return "There is no clear difference between it and the scenario as it is."
        alike = {
            json.dumps(one.values)
            for one in self.found
            if one.values != first.values and not self._is_beyond(first.log_gains, one.log_gains)
        }
        found = f"It was chosen with seeds {first_to_last(seeds)}, which flatters it"
        others = range(seeds[-1] + 1, seeds[-1] + 11)
        again = f"other seeds, such as {first_to_last(others)}, show its gain."
        if not alike:
            return f"{found}: {again}"
        points = f"{len(alike)} other point{'s' if len(alike) > 1 else ''}"
        return f"There is no clear difference between it and {points}. {found}: {again}"

    def _is_beyond(self, first: Sequence[float | None], other: Sequence[float | None]) -> bool:
        """Whether the first is better, or worse for `hunt`, beyond the spread of the seeds."""
        pairs = zip(first, other, strict=False)
        apart = Spread.of([a - b for a, b in pairs if a is not None and b is not None])
        return apart.is_above_zero if self.goal == "tune" else apart.is_below_zero

    @property
    def rows(self) -> list[dict[str, str]]:
        """For people: the first points with their numbers and gains, then the scenario as it is."""
        labels = {name: of_number(name).label for name in self.weights}

        def shown(numbers: Mapping[str, float | None]) -> dict[str, str]:
            return {label: of_number(name).shown(numbers[name]) for name, label in labels.items()}

        rows = [
            {path: str(in_column(value)) for path, value in one.values.items()}
            | shown(one.numbers)
            | {"gain": with_range(*(f"{gain:.3g}" for gain in (one.gain, *one.gain_range)))}
            for one in self.found[:_SHOWN]
        ]
        paths = dict.fromkeys(self.found[0].values if self.found else [""], "")
        as_it_is = dict(zip(paths, ["as it is", *[""] * (len(paths) - 1)], strict=True))
        return [*rows, as_it_is | shown(self.before) | {"gain": "1"}]

    def _repr_html_(self) -> str:
        """For notebooks: the conclusion and the best points."""
        return html_table(self.study.definition.name, self.conclusion, self.rows)

    def document(self) -> dict[str, Any]:
        """The search for programs, as `--json` prints it."""
        return {
            "study": self.study.definition.name,
            "place": self.study.place.name,
            "goal": self.goal,
            "objective": dict(self.weights),
            "before": dict(self.before),
            "trials": self.trials,
            "found": [
                {
                    "values": dict(one.values),
                    "numbers": dict(one.numbers),
                    "gain": one.gain,
                    "gain_range": list(one.gain_range),
                }
                for one in self.found
            ],
            "conclusion": self.conclusion if self.found else None,
            "caveats": [asdict(one) for one in caveats_of_runs(self.study)],
        }
