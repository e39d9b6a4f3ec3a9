"""A run's result: tables, summary, figures."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from fairport.scenario.model import Scenario


class Result:
    """What one run gave: the scenario with one seed on one backend.

    The tables are polars DataFrames whose columns, units and dtypes `fairport.tables` lists;
    `summary` has the keys of the command line's `--json`; `manifest` says how the run came about.
    """

    def __init__(
        self,
        *,
        scenario: Scenario,
        seed: int,
        tables: dict[str, pl.DataFrame],
        summary: dict[str, Any],
        manifest: dict[str, Any],
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.tables = tables
        self.summary = summary
        self.manifest = manifest

    @property
    def fingerprint(self) -> str:
        """Hash of the run's packet facts: 16 hexadecimal digits, the same on every machine."""
        return str(self.manifest["fingerprint"])

    @property
    def run_id(self) -> str:
        """Name of the run in the column `run_id` of its tables."""
        return str(self.manifest["run_id"])

    @property
    def flows(self) -> pl.DataFrame:
        """One row a flow."""
        return self.tables["flows"]

    @property
    def series(self) -> pl.DataFrame:
        """Goodput, window and RTT of every flow over time."""
        return self.tables["series"]

    @property
    def drops(self) -> pl.DataFrame:
        """One row a dropped packet, with the ingress port by which it came."""
        return self.tables["drops"]

    @property
    def timeouts(self) -> pl.DataFrame:
        """One row an expired retransmission timer."""
        return self.tables["timeouts"]

    @property
    def queue(self) -> pl.DataFrame:
        """Occupancy of the ports where flows meet, over time."""
        return self.tables["queue"]

    @property
    def ports(self) -> pl.DataFrame:
        """One row a port."""
        return self.tables["ports"]

    @property
    def rtt(self) -> pl.DataFrame:
        """Histogram of every flow's RTT samples."""
        return self.tables["rtt"]

    @property
    def rounds(self) -> pl.DataFrame:
        """One row a round of incast, and one a periodic transfer."""
        return self.tables["rounds"]

    @property
    def requests(self) -> pl.DataFrame:
        """One row a request, with its response time."""
        return self.tables["requests"]

    @property
    def trace(self) -> pl.DataFrame:
        """The packets around the longest blackout of each ingress port, at one output port."""
        return self.tables["trace"]

    def plot(self, kind: str | None = None) -> Figure:
        """One figure of the run, as a matplotlib Figure; `fairport.figures.KINDS` lists them."""
        from fairport import figures

        return figures.draw(self, kind)

    def save(
        self, folder: str | Path, *, force: bool = False, figures: bool = True, csv: bool = False
    ) -> Path:
        """Writes the run's folder, whole or not at all. Raises OutputError."""
        from fairport.storage import save

        return save(self, Path(folder), force=force, figures=figures, csv=csv)

    def __repr__(self) -> str:
        return f"<fairport.Result {self.run_id}: {self.summary['verdict']['sentence']}>"

    def _repr_html_(self) -> str:
        """For notebooks: the verdict and the table by hop class."""
        classes = self.summary["classes"]
        columns = (
            ("flows", "flows", 1.0, ".0f"),
            ("goodput_bps_mean", "goodput mean, Mbit/s", 1e-6, ".1f"),
            ("throughput_ratio", "throughput ratio", 1.0, ".3f"),
            ("timeouts", "timeouts", 1.0, ".0f"),
            ("drops", "drops", 1.0, ".0f"),
            ("longest_drop_run", "longest drop run", 1.0, ".0f"),
            ("rtt_mean_s", "RTT mean, ms", 1e3, ".3f"),
        )
        head = "".join(f"<th>{title}</th>" for _, title, _, _ in columns)
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th>"
            + "".join(
                f"<td>{_number(row[key], scale, form)}</td>" for key, _, scale, form in columns
            )
            + "</tr>"
            for name, row in classes.items()
        )
        sentence = html.escape(self.summary["verdict"]["sentence"])
        title = html.escape(self.run_id)
        return f"<p><b>{title}</b>: {sentence}</p><table><tr><th></th>{head}</tr>{rows}</table>"


def _number(value: float | None, scale: float, form: str) -> str:
    return "" if value is None else format(value * scale, form)
