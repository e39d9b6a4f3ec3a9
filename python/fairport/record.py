"""A study's record of a run: the summary and small tables, some kilobytes.

A run's own tables grow with its duration (every drop, every sample of a queue); a record does not.
It is one file, a ZIP archive of one JSON document and Arrow IPC streams: its checksums show a
damaged one. Tables this small take 0.5 ms to write as streams and 7 ms as Parquet.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from fairport.metrics import fairness
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.metrics.trends import trends
from fairport.result import Result

_SUMMARY = "summary.json"

# windows of this many flows are compared; the pairs of more would soon be the largest table
_WINDOWS = 4


# Errors of unpacking bytes that are not what was written; the archive has checksums.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(KeyError, OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


class DamagedRecordError(ValueError):
    """Bytes that are not a record."""


@dataclass(frozen=True)
class Record:
    """A run, summed up."""

    summary: dict[str, Any]
    """The summary, as `fairport run --json` prints it."""
    flows: pl.DataFrame
    """The run's table of flows without `run_id`, and `rtt_p99_s` of each."""
    ports: pl.DataFrame
    """The run's table of ports without `run_id`, of those that carry flows' data."""
    drop_runs: pl.DataFrame
    """Drop runs by flow: `port`, `flow`, `length` in packets, `runs` (how many of that length),
    `measured` (how many of these began within the measurement), `last_s` (when the last ended)."""
    blackouts: pl.DataFrame
    """Blackouts by their length: `port`, `ingress_port`, `length` in packets, `runs`."""
    windows: pl.DataFrame
    """`flow`, `other`, `correlation` of their congestion windows, of the run's first flows."""
    rtt: pl.DataFrame
    """One row: `rtt_mean_s`, `rtt_p99_s` over the samples of all TCP flows; none without any."""
    trends: pl.DataFrame
    """Goodput, completion times, and the bottleneck's queue and drops over time
    (`fairport.metrics.trends`)."""

    @staticmethod
    def of(result: Result) -> Record:
        """The record of a run."""
        worst = result.summary["bottleneck"]
        of_flow = fairness.rtt_by(result.rtt, "flow").select("flow", "rtt_p99_s")
        runs = drop_runs(result.drops, "flow")
        measure = result.summary["measure"]
        measured = pl.col("first_s").is_between(measure["from_s"], measure["to_s"])
        return Record(
            summary=dict(result.summary),
            flows=result.flows.drop("run_id").join(
                of_flow, on="flow", how="left", maintain_order="left"
            ),
            ports=result.ports.drop("run_id").filter(pl.col("flows") > 0),
            drop_runs=runs.group_by("port", "flow", "length")
            .agg(runs=pl.len(), measured=measured.sum(), last_s=pl.col("last_s").max())
            .sort("port", "flow", "length"),
            blackouts=blackouts(result.drops)
            .group_by("port", "ingress_port", "length")
            .agg(runs=pl.len())
            .sort("port", "ingress_port", "length"),
            windows=fairness.window_correlation(
                result.series.filter(pl.col("flow") < _WINDOWS), result.summary["measure"]["from_s"]
            ),
            rtt=fairness.rtt_by(_of_tcp(result), "run_id").drop("run_id"),
            trends=trends(
                result.tables,
                worst["port"] if worst else None,
                result.summary["simulated_s"],
                result.scenario.probes.series_interval.seconds,
            ),
        )

    @staticmethod
    def of_model(numbers: Mapping[str, float]) -> Record:
        """The record of a model that was computed without a network: `model` in the summary."""
        tables = {name: pl.DataFrame() for name in _TABLES}
        return Record(summary={"model": dict(numbers)}, **tables)

    def named(self, scenario: str) -> Record:
        """The record for a scenario with another name and the same job."""
        return replace(self, summary=self.summary | {"scenario": scenario})

    def to_bytes(self) -> bytes:
        """The record as a file's content."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr(_SUMMARY, json.dumps(self.summary, allow_nan=False))
            for name in _TABLES:
                table = io.BytesIO()
                getattr(self, name).write_ipc_stream(table, compression="zstd")
                archive.writestr(f"{name}.arrow", table.getvalue())
        return content.getvalue()

    @staticmethod
    def from_bytes(content: bytes) -> Record:
        """The record that `to_bytes` wrote. Raises DamagedRecordError."""
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                summary = json.loads(archive.read(_SUMMARY))
                tables = {
                    name: pl.read_ipc_stream(io.BytesIO(archive.read(f"{name}.arrow")))
                    for name in _TABLES
                }
        except _DAMAGE as error:
            raise DamagedRecordError(str(error)) from None
        if not isinstance(summary, dict):
            raise DamagedRecordError("its summary is not an object")
        return Record(summary=summary, **tables)


def _of_tcp(result: Result) -> pl.DataFrame:
    """The histogram of round-trip times, without the delays of datagrams."""
    tcp = result.flows.filter(pl.col("protocol") == "tcp").select("flow")
    return result.rtt.join(tcp, on="flow", how="semi")


_TABLES = [field.name for field in fields(Record) if field.name != "summary"]
