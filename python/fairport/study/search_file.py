"""Search files in TOML: a scenario, a fix, a search space, and an objective.

    scenario = "outcast"
    fix = "red"
    seeds = 5

    [objective]
    jain_index = 2
    goodput_bps_total = 1

    [space]
    "queue.max_p" = { from = 0.01, to = 0.5, scale = "log" }
    "queue.min" = { from = "1500B", to = "8KiB" }
    "tcp.congestion_control" = ["bic", "cubic"]

The objective weights numbers. Each number counts as its gain over the scenario without the search's
values, with the same seed, so weights need no units.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from fairport.errors import did_you_mean
from fairport.metrics.run_numbers import NUMBERS
from fairport.scenario import Scenario
from fairport.scenario.base import refuse
from fairport.study.fixes import load as load_fixes
from fairport.study.space import Dimension, Space
from fairport.study.study_file import StudyFile


class SearchFile(StudyFile):
    """A search."""

    of: ClassVar[str] = "a search"
    kind: ClassVar[str] = "search"
    builtin: ClassVar[Path] = Path(__file__).parent / "builtin" / "searches"

    fix: str = ""
    """A fix that is applied first."""
    seeds: int = Field(default=5, ge=1)
    """Seeds per trial, from 1 on."""
    objective: dict[str, float] = Field(default={})
    """Weights by the names of numbers. Default: for `tune` the Jain index, for `hunt` the
    throughput ratio."""
    space: dict[str, Dimension] = Field(min_length=1)
    """The search space: bounds or values by dotted paths."""

    @field_validator("space", mode="before")
    @classmethod
    def _no_own_fields(cls, space: Any) -> Any:
        return cls.refuse_own_fields(space)

    @field_validator("objective")
    @classmethod
    def _known_numbers(cls, objective: dict[str, float]) -> dict[str, float]:
        for name, weight in objective.items():
            if name not in NUMBERS:
                raise refuse(f"names `{name}`, which no run has", did_you_mean(name, NUMBERS))
            if not 0 < weight < math.inf:
                raise refuse(f"gives `{name}` a weight of {weight:g}", "give a number above 0")
        return objective

    def base(self) -> Scenario:
        """The scenario with the fix and the settings. Raises ScenarioError, FixError."""
        scenario = super().base()
        for fix in load_fixes([self.beside(self.fix)] if self.fix else []):
            scenario = fix.applied(scenario)
        return scenario

    def searched(self) -> Space:
        """The space."""
        return Space(self.space)
