"""The flows that got least, each with its ends and with what it waited for."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairport.metrics import fairness
from fairport.tables import Tables

# flows that are listed, at most
_LISTED = 5


def slowest(tables: Tables) -> list[dict[str, Any]]:
    """The long flows with the least goodput, the slowest first.

    Goodputs of short flows say little: of those, the ones that waited for timeouts, the longest
    wait first. `since_s` is the start of the first timeout, `longest_wait_s` the length of the
    longest one, and `silent_s` the total of all pauses of more than 1 ms and two round trips.
    """
    compared = fairness.compared(tables["flows"])
    causes = ("timeout", "window", "idle", "network")
    silent_s = pl.sum_horizontal(f"stalled_{cause}_s" for cause in causes)
    ports = tables["conversations"].select("flow", "src_port", "dst_port", silent_s=silent_s)
    wait = pl.col("end_s") - pl.col("start_s")
    waits = tables["timeouts"].group_by("flow")
    waits_of = waits.agg(since_s=pl.col("start_s").min(), longest_wait_s=wait.max())
    flows = compared.join(ports, on="flow", how="left").join(waits_of, on="flow", how="left")
    if are_long(compared) or compared.height == 1:
        flows = flows.sort("goodput_bps", "flow")
    else:
        flows = flows.filter(pl.col("timeouts") > 0)
        flows = flows.sort("timeout_period_s", descending=True, maintain_order=True)
    columns = ("flow", "goodput_bps", "retransmits", "timeouts", "timeout_period_s")
    kept = flows.head(_LISTED).select(
        ends("src").alias("from"),
        ends("dst").alias("to"),
        *columns,
        "since_s",
        "longest_wait_s",
        "silent_s",
        "rtt_mean_s",
    )
    return kept.to_dicts()


def are_long(flows: pl.DataFrame) -> bool:
    """Whether these flows are long ones, whose goodputs can be compared."""
    return bool((flows["workload"] != "short").any())


def ends(side: str) -> pl.Expr:
    """An end of a flow, with its port. An address of IPv6 is in brackets."""
    address = pl.col(side)
    bracketed = pl.format("[{}]", address)
    shown = pl.when(address.str.contains(":")).then(bracketed).otherwise(address)
    return pl.format("{}:{}", shown, pl.col(f"{side}_port"))
