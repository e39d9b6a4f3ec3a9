"""Which blackout to show, packet by packet, and why.

A run's table `trace` holds the longest blackout of each ingress port of one output port, as far as
64 consecutive arrivals there contain it. The one to show is that of the starved class. The longest
blackout of all is often one of the many flows in slow start, and shows the opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairport.errors import require_known
from fairport.metrics import fairness
from fairport.metrics.drop_runs import drop_runs
from fairport.metrics.verdict import lone_and_peers, ratio_in_words
from fairport.tables import Tables


@dataclass(frozen=True, slots=True)
class Run:
    """Drops in a row."""

    length: int
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class Shown:
    """One blackout of a run."""

    packets: pl.DataFrame
    """The rows of `trace`, in order of time."""
    run: Run
    """The longest drop run of the ingress port in these rows."""
    whole_length: int
    """The length of this drop run in the table `drops`, beyond these rows."""
    port: str
    """The output port."""
    ingress_port: str
    """The ingress port whose packets were dropped in a row."""
    why: str
    """Why this blackout is shown, as a clause."""

    @property
    def part(self) -> str:
        """If the drop run is longer than what these rows show: how much of it they show."""
        if self.whole_length <= self.run.length:
            return ""
        return f"{self.run.length} of its {self.whole_length} consecutive drops, within 64 arrivals"


def shown(
    tables: Tables, summary: Mapping[str, Any], ingress_port: str | None = None
) -> Shown | None:
    """The blackout of the ingress port that the class with the least throughput ratio uses.

    With `ingress_port`, the blackout of that port. None if the trace holds no blackout. Raises
    InputError for an ingress port without one.
    """
    trace = tables["trace"]
    known = trace["blackout_of"].unique(maintain_order=True).to_list()
    if not known:
        return None
    if ingress_port is None:
        chosen, why = of_the_starved(tables, summary, trace["port"][0], known)
    else:
        problem = "is not an ingress port with a recorded blackout"
        require_known(ingress_port, known, problem, field="blackout_of")
        chosen, why = ingress_port, "chosen by name"
    packets = trace.filter(blackout_of=chosen).sort("time_s")
    port, run = packets["port"][0], _longest_run(packets.filter(ingress_port=chosen))
    of_drops = drop_runs(tables["drops"].filter(port=port, ingress_port=chosen), "ingress")
    same = (pl.col("first_s") <= run.last_s) & (pl.col("last_s") >= run.first_s)
    whole = of_drops.filter(same)["length"].max()
    return Shown(packets, run, int(whole or 0), port, chosen, why)  # type: ignore[arg-type]


def _longest_run(packets: pl.DataFrame) -> Run:
    """The longest run of drops in the packets of one ingress port."""
    runs = (
        packets.with_columns(run=pl.col("fate").rle_id())
        .filter(fate="dropped")
        .group_by("run")
        .agg(pl.len(), first=pl.col("time_s").min(), last=pl.col("time_s").max())
        .sort("len", "first", descending=[True, False])
    )
    return Run(*runs.select("len", "first", "last").row(0))


def of_the_starved(
    tables: Tables, summary: Mapping[str, Any], port: str, known: list[str]
) -> tuple[str, str]:
    """The one of the ingress ports `known` used by the class with the least goodput, and why.

    `known` are the ingress ports with a blackout at the output `port`, the longest first.
    """
    ratios = {
        name: one["throughput_ratio"]
        for name, one in summary["classes"].items()
        if one["throughput_ratio"] is not None
    }
    drops = tables["drops"].filter(pl.col("port") == port, pl.col("ingress_port").is_in(known))
    of_class = drops.join(
        fairness.compared(tables["flows"]).select("flow", fairness.hop_class()), on="flow"
    )
    by_class = (
        of_class.group_by("hop_class", "ingress_port")
        .len()
        .sort("len", "ingress_port", descending=[True, False])
    )
    _, reference = lone_and_peers(summary["classes"])
    if len(ratios) > 1:
        for name in sorted(ratios, key=ratios.__getitem__):
            ports = by_class.filter(hop_class=name)["ingress_port"]
            if len(ports):
                is_one = summary["classes"][name]["flows"] == 1
                gets, theirs = ("flow gets", "its") if is_one else ("flows get", "their")
                if name == reference:  # its ratio to itself is 1
                    return ports[0], f"of the classes with a blackout, its {name} {gets} least"
                share = ratio_in_words(ratios[name])
                return ports[0], f"its {name} {gets} {share} {theirs} peers' goodput"
    return known[0], "the longest one of all ingress ports"
