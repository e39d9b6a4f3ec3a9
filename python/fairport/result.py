"""A run's result, a plain value: scenario, seed, tables, summary, manifest.

Functions do the rest: `fairport.plot(result, "bars")`, `fairport.save(result, "folder")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairport.html_table import html_table
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    import polars as pl

    from fairport.scenario.model import Scenario
    from fairport.summary import Summary
    from fairport.tables import Tables

# Columns of the table that a notebook shows.
_SHOWN = (
    "flows",
    "goodput_bps_mean",
    "throughput_ratio",
    "timeouts",
    "drops",
    "longest_drop_run",
    "rtt_mean_s",
)


def run_id(scenario: Scenario) -> str:
    """Name of a run of the scenario with its seed, as in the tables' column `run_id`."""
    return f"{scenario.name}-seed-{scenario.seed}"


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The result of one run: the scenario with one seed on one backend.

    The tables are polars DataFrames whose columns, units and dtypes `fairport.tables` lists;
    `summary` has the keys of the command line's `--json` (`fairport.summary`); `manifest` says how
    the run was made.
    """

    scenario: Scenario
    seed: int
    tables: Tables
    summary: Summary
    manifest: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """Hash of the run's packet facts: 16 hexadecimal digits, the same on every machine."""
        return str(self.manifest["fingerprint"])

    @property
    def run_id(self) -> str:
        """Name of the run in the column `run_id` of its tables."""
        return str(self.manifest["run_id"])

    @property
    def is_captured(self) -> bool:
        """Whether it comes from captures: then the scenario is a guess, and there is no seed."""
        return self.summary["backend"] == "captures"

    @property
    def title(self) -> str:
        """Of what it is: a scenario with its seed, or captures, which have none."""
        name = self.scenario.name
        return name if self.is_captured else f"{name}, seed {self.seed}"

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self.tables["flows"]

    @property
    def series(self) -> pl.DataFrame:
        """Goodput, window and RTT of every flow over time."""
        return self.tables["series"]

    @property
    def drops(self) -> pl.DataFrame:
        """One row per dropped packet, with the ingress port by which it came."""
        return self.tables["drops"]

    @property
    def marks(self) -> pl.DataFrame:
        """One row per packet that was marked instead of dropped (ECN)."""
        return self.tables["marks"]

    @property
    def timeouts(self) -> pl.DataFrame:
        """One row per expired retransmission timer."""
        return self.tables["timeouts"]

    @property
    def decisions(self) -> pl.DataFrame:
        """One row per decision of TCP that moved a window, with its cause."""
        return self.tables["decisions"]

    @property
    def queue(self) -> pl.DataFrame:
        """Occupancy of the ports that several flows share, over time."""
        return self.tables["queue"]

    @property
    def ports(self) -> pl.DataFrame:
        """One row per port."""
        return self.tables["ports"]

    @property
    def rtt(self) -> pl.DataFrame:
        """Histogram of every flow's RTT samples."""
        return self.tables["rtt"]

    @property
    def rounds(self) -> pl.DataFrame:
        """One row per round of incast and per periodic transfer."""
        return self.tables["rounds"]

    @property
    def requests(self) -> pl.DataFrame:
        """One row per request, with its response time."""
        return self.tables["requests"]

    @property
    def packets(self) -> pl.DataFrame:
        """Every packet at the ports that `--packets` or the `observation` named."""
        return self.tables["packets"]

    @property
    def trace(self) -> pl.DataFrame:
        """The packets around the longest blackout of each ingress port, at one output port."""
        return self.tables["trace"]

    def __repr__(self) -> str:
        return f"<fairport.Result {self.run_id}: {self.summary['verdict']['sentence']}>"

    def _repr_html_(self) -> str:
        """For notebooks: the verdict and the table by hop class."""
        classes: Mapping[str, Mapping[str, Any]] = self.summary["classes"]
        rows = [
            {"": name}
            | {QUANTITIES[key].label: QUANTITIES[key].shown(row.get(key)) for key in _SHOWN}
            for name, row in classes.items()
        ]
        return html_table(self.run_id, self.summary["verdict"]["sentence"], rows)
