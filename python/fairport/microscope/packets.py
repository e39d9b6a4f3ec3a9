"""The packets of a span of time at a port, and the windows of the flows through it.

A run that was made with `--packets` has them in its tables. Otherwise the run is simulated again,
which gives the same packets: its fingerprint proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from fairport.backends import run as backends_run
from fairport.backends import simulation
from fairport.backends.jobs import job_of, stacks_of
from fairport.backends.progress import Progress
from fairport.backends.protocol import Observation
from fairport.errors import InputError, RunFolderError
from fairport.microscope.focus import Focus
from fairport.result import Result
from fairport.scenario.base import SHORTEST_STEP

# Most rows of windows over time in a repeated run, over all flows.
_MOST_ROWS = 1_000_000
# Number of samples of the windows within the span.
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Slide:
    """The packets and windows under the microscope."""

    result: Result
    focus: Focus
    packets: pl.DataFrame
    """Rows of the table `packets` at the port, in order of time: those of the span or the whole
    run."""
    windows: pl.DataFrame
    """`time_s`, `flow`, `bytes` of the windows of flows with packets there; no rows if unknown."""
    windows_name: str = "window"
    """What these bytes are: the congestion window or, for captures, the data in flight."""

    @property
    def flows(self) -> pl.DataFrame:
        """The flows whose packets are there, with their number of packets and drops."""
        seen = self.packets.group_by("flow").agg(
            packets=pl.len(), dropped=(pl.col("fate") == "dropped").sum()
        )
        return self.result.flows.join(seen, on="flow").sort("flow")

    @property
    def concerned(self) -> list[int]:
        """The flow that was asked for, or those that lost packets, with most drops first.

        If the focus has an ingress port, only flows that came by it count.
        """
        focus = self.focus
        if focus.flow is not None:
            return [focus.flow]
        packets = self.packets
        if focus.ingress_port is not None:
            packets = packets.filter(ingress_port=focus.ingress_port)
        counts = packets.group_by("flow").agg(
            dropped=(pl.col("fate") == "dropped").sum(), packets=pl.len()
        )
        ranked = counts.sort("dropped", "packets", "flow", descending=[True, True, False])
        return ranked["flow"].to_list()


def look(
    result: Result, focus: Focus, *, whole_run: bool = False, progress: Progress | None = None
) -> Slide:
    """The packets at the focus; with `whole_run`, all of its port.

    Raises RunFolderError if they are not known and a repeated run cannot give them.
    """
    there = result.packets.filter(pl.col("port") == focus.port)
    series = result.series
    if there.is_empty():
        again = _again(result, focus, whole_run, progress)
        there, series = again.packets, again.series
    if not whole_run:
        there = there.filter(pl.col("time_s").is_between(focus.from_s, focus.to_s))
    if there.is_empty():
        raise InputError(
            f"shows no packet: none arrived at port {focus.port} then",
            field="--around",
            remedy="give another time, a longer --span or another --port",
        )
    there = there.sort("time_s", maintain_order=True)
    series = series.filter(pl.col("flow").is_in(there["flow"].unique().implode()))
    column, name = "cwnd_bytes", "window"
    if series["cwnd_bytes"].null_count() == series.height:
        column, name = "in_flight_bytes", "in flight"
    sampled = series.filter(pl.col(column).is_not_null()).select("time_s", "flow", bytes=column)
    if column == "cwnd_bytes":
        sampled = pl.concat([_initial(result, there["flow"]).cast(sampled.schema), sampled])
    windows = sampled.sort("flow", "time_s", maintain_order=True)
    return Slide(result, focus, there, windows, name)


def _initial(result: Result, seen: pl.Series) -> pl.DataFrame:
    """The windows with which TCP flows start: the first sample comes an interval later."""
    job = job_of(result.scenario)
    stacks = stacks_of(job)
    first: list[int] = [one["initial_window_segments"] * one["mss_bytes"] for one in stacks]
    of_hosts = {
        (workload["traffic"], end["host"]): end["stack"]
        for workload in job.workloads
        for end in (*workload["senders"], *workload["receivers"])
    }

    def window(number: int, traffic: int, src: str) -> int:
        listed = number < len(job.flows)
        stack: int = job.flows[number]["sender_stack"] if listed else of_hosts[traffic, src]
        return first[stack]

    flows = result.flows.filter(pl.col("flow").is_in(seen.unique().implode()), protocol="tcp")
    rows = [
        (row["start_s"], row["flow"], window(row["flow"], row["traffic"], row["src"]))
        for row in flows.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, ["time_s", "flow", "bytes"], orient="row")


def _again(result: Result, focus: Focus, whole_run: bool, progress: Progress | None) -> Result:
    """Repeats the run, now with packets. Its fingerprint must be the same."""
    if result.is_captured:
        raise RunFolderError(
            "has no rows for single packets",
            file=result.run_id,
            remedy="analyze the captures of both sides of the switch again, with --packets",
        )
    if result.manifest["backend"] != simulation.NAME or "user_code" in result.manifest:
        of_own_code = f'`fp.run(.., observation=fp.Observation(packets=["{focus.port}"]))`'
        how = of_own_code if "user_code" in result.manifest else f"--packets {focus.port}"
        raise RunFolderError(
            f"has no packets of port {focus.port}, and cannot be run again to the same packets",
            file=result.run_id,
            remedy=f"make the run with {how}",
        )
    window = (0.0, math.inf) if whole_run else (focus.from_s, focus.to_s)
    scenario = result.scenario
    if not whole_run:
        flows = min(scenario.probes.flows, result.flows.height)
        coarsest = scenario.duration.seconds * max(flows, 1) / _MOST_ROWS
        interval_s = max((focus.to_s - focus.from_s) / _STEPS, coarsest, SHORTEST_STEP.seconds)
        if interval_s < scenario.probes.series_interval.seconds:
            scenario = scenario.patch(
                {"probes.series_interval": f"{math.ceil(interval_s * 1e9)}ns"}
            )
    observation = Observation(packets=(focus.port,), window_s=window)
    again = backends_run.run(scenario, result.seed, observation=observation, progress=progress)
    if again.fingerprint != result.fingerprint:
        raise RunFolderError(
            f"was made by version {result.manifest['version']}; this one gives other packets",
            file=result.run_id,
            remedy="make the run again with this version",
        )
    return again
