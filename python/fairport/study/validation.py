"""The result of a validation: runs on Linux and in the simulation, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from fairport.html_table import html_table
from fairport.metrics import spread
from fairport.quantities import of_number
from fairport.scenario import Scenario
from fairport.scenario.host_profile import HostProfile
from fairport.study.comparison.metrics import Groups
from fairport.study.comparison.ranking import with_range

REPEAT = 5
LINUX, SIMULATION = "linux", "simulation"
NAMES = {SIMULATION: "simulation", LINUX: "Linux"}
"""The two sides, and their names for people."""
SIDES = tuple(NAMES)
COMPARED = (
    "throughput_ratio",
    "lone_goodput_bps_mean",
    "peers_goodput_bps_mean",
    "jain_index",
    "timeouts",
    "drop_runs_ge2",
    "queue_mean_bytes",
)
"""The metrics of `study.comparison.metrics` that are compared."""
# the two sides agree if the lone flow's ratio is within one of the first two, the peers within the
# last
_RATIO_FACTOR, _RATIO_APART, _PEERS_SHARE = 2.0, 0.05, 0.15

_ONE_RUN = f" One run cannot say whether they agree; {REPEAT} can."


@dataclass(frozen=True, repr=False)
class Validation:
    """A scenario's runs on both sides, as a plain value."""

    scenario: Scenario
    simulated: Scenario
    """The scenario of the simulation, with the machine's host times, ticks and adapters."""
    profile: HostProfile
    """The times of hosts in the Linux runs, from the time when a packet was due to the answer."""
    seeds: Sequence[int]
    invalid: Sequence[Mapping[str, Any]]
    """Linux runs that do not count: `seed`, `faults`."""
    groups: Groups
    runs: pl.DataFrame
    """One row per valid run: `side`, `seed`, and the metrics of `study.comparison.metrics`."""
    drop_runs: pl.DataFrame
    """Number of drop runs by flow of each length: `side`, `seed`, `group`, `length`, `runs`."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per side, with each measure's median and quartiles over the runs.

        With fewer than four runs, the least and the greatest values replace the quartiles.
        """
        rows = []
        for side in SIDES:
            runs = self.runs.filter(side=side)
            row: dict[str, Any] = {"side": side, "valid_runs": runs.height}
            rows.append(row | spread.columns(runs, COMPARED))
        schema: dict[str, Any] = {"side": pl.String, "valid_runs": pl.UInt32}
        return pl.DataFrame(rows, schema=schema | dict.fromkeys(list(rows[0])[2:], pl.Float64))

    def side(self, name: str) -> dict[str, Any]:
        """The row of a side."""
        return self.table.row(by_predicate=pl.col("side") == name, named=True)

    @property
    def agree(self) -> bool | None:
        """Whether the medians are near each other; None with a single run on one of the sides.

        The lone flow's ratio must be within a factor of 2 or 0.05, and the peers' mean within 15 %.
        """
        ours, theirs = self.side(SIMULATION), self.side(LINUX)
        if min(ours["valid_runs"], theirs["valid_runs"]) == 1:
            return None
        ratio, peers = "throughput_ratio_median", "peers_goodput_bps_mean_median"
        return agrees((ours[ratio], theirs[ratio]), (ours[peers], theirs[peers]))

    @property
    def conclusion(self) -> str:
        """The result in one sentence; of one run, with a second that says so."""
        ours, theirs = self.side(SIMULATION), self.side(LINUX)
        peers = [1e-6 * one["peers_goodput_bps_mean_median"] for one in (ours, theirs)]
        ratios = [one["throughput_ratio_median"] for one in (ours, theirs)]
        agreement = {True: " agree", False: " differ", None: ""}[self.agree]
        who, lone = "the flows", ""
        if None not in ratios:
            who = "the peers"
            lone = (
                f" the lone flow gets {ratios[0]:.2f} of its peers' goodput in the simulation,"
                f" {ratios[1]:.2f} on Linux, and"
            )
        runs = [one["valid_runs"] for one in (ours, theirs)]
        return (
            f"Simulation and Linux{agreement}:{lone} {who} get {peers[0]:.3g} and {peers[1]:.3g}"
            f" Mbit/s (medians of {runs[0]} and {runs[1]} runs)."
        ) + (_ONE_RUN if self.agree is None else "")

    @property
    def rows(self) -> list[dict[str, str]]:
        """For people: one row per measure, with the median and its quartiles on each side."""
        rows = []
        for key in COMPARED:
            quantity = of_number(key)
            row = {"": quantity.label}
            for side in SIDES:
                shown = spread.shown_of_row(self.side(side), key, quantity)
                row[side] = with_range(*shown) or "-"
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        return f"<fairport.Validation {self.scenario.name}: {self.conclusion}>"

    def _repr_html_(self) -> str:
        """For notebooks: the conclusion and the table."""
        return html_table(self.scenario.name, self.conclusion, self.rows)

    def document(self) -> dict[str, Any]:
        """The validation for programs, as `--json` prints it."""
        sides = {name: _document(self.side(name)) for name in SIDES}
        return (
            {"scenario": self.scenario.name, "repeat": len(self.seeds), "seeds": list(self.seeds)}
            | sides
            | {
                "agree": self.agree,
                "conclusion": self.conclusion,
                "invalid_runs": [dict(one) for one in self.invalid],
            }
        )


def agrees(
    ratios: tuple[float | None, float | None], peers: tuple[float | None, float | None]
) -> bool:
    """Whether medians are near each other, ours first: the lone flow's ratio, its peers' mean."""
    return _near_ratio(*ratios) and _near_share(*peers)


def _near_ratio(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return (
        abs(ours - theirs) <= _RATIO_APART or max(ours, theirs) <= min(ours, theirs) * _RATIO_FACTOR
    )


def _near_share(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= _PEERS_SHARE * theirs


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {"jain_index": "jain", "peers_goodput_bps_mean": "peers_goodput_bps"}
    found: dict[str, Any] = {"valid_runs": row["valid_runs"]}
    for key in COMPARED:
        name = names.get(key, key)
        found[f"{name}_median"] = row[f"{key}_median"]
        found[f"{name}_iqr"] = spread.iqr(row, key, row["valid_runs"])
    return found
