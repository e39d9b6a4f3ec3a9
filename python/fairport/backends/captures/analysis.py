"""The analysis of captures: from files to the result of a run."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import polars as pl

from fairport import _core
from fairport.backends import columns, made
from fairport.backends.captures import groups, guess, outputs, slowest, words
from fairport.backends.captures.pipes import Progress, read_in_thread, widen_stdin
from fairport.backends.protocol import Recorded
from fairport.errors import InputError
from fairport.metrics import caveats, traffic_parts
from fairport.result import Result
from fairport.scenario import Scenario
from fairport.tables import Tables

if TYPE_CHECKING:
    from fairport.summary import Summary

NAME = "captures"

Role = Literal["auto", "ingress", "egress"]
# columns of the simulator's tables that packets do not show
_UNKNOWN = {
    "flows": ("stack",),
    "series": ("cwnd_bytes", "ssthresh_bytes"),
    "timeouts": ("rto_s", "cause"),
}
_LONGEST_NAME = 100


class CaptureError(InputError):
    """Captures that cannot be analysed."""


@dataclass(frozen=True, slots=True)
class Source:
    """A capture, and what is known about it."""

    file: str
    """pcap or pcapng, plain, gzip or zstd; `-` is standard input."""
    role: Role = "auto"
    """Which side of the switch it is."""
    port: str | None = None
    """The port's name; by default the one in the capture."""


def analyse(
    sources: Sequence[Source | str],
    *,
    hosts: Path | None = None,
    measure_s: tuple[float, float] | None = None,
    window_s: float = 2.0,
    tunnels: bool = False,
    packets: bool = False,
    name: str = "",
    progress: Progress | None = None,
) -> Result:
    """What captures show, as the result of a run.

    With captures of both sides of a switch, every packet's fate is known. Their `role` is ingress
    or egress, or is found from the packets. `hosts` is a CSV file that names addresses. A packet's
    copy at the other side is searched for `window_s`. `packets` keeps a row for each packet at the
    output. The scenario gets its name from `name`, or from the first file's. Raises CaptureError.
    """
    given = [Source(one) if isinstance(one, str) else one for one in sources]
    _refuse_twice(given)
    known = groups.read_map(hosts) if hosts else {}
    if any(one.file == "-" for one in given):
        widen_stdin()
    started = datetime.now(timezone.utc)
    begin = time.perf_counter()
    try:
        read = partial(
            _core.analyse_captures,
            [(one.file, one.port, one.role) for one in given],
            tunnels=tunnels,
            window_s=window_s,
            measure_s=measure_s,
            packets=packets,
        )
        is_pipe = any(one.file == "-" or Path(one.file).is_fifo() for one in given)
        raw = read_in_thread(read, progress) if is_pipe else read(progress=progress)
    except _core.CaptureError as error:
        raise CaptureError(error.problem, file=error.file, remedy=error.remedy) from None
    wall_s = time.perf_counter() - begin
    name = _name(name or Path(given[0].file).name.split(".")[0])
    recorded = _recorded(_tables(raw, f"{name}-captured", known), raw, started, wall_s)
    assessed, entries = outputs.assess(
        recorded.tables,
        raw["outputs"],
        lambda some: made.summary_of(
            replace(recorded, tables=some), scenario=name, seed=guess.SEED, backend=NAME
        ),
    )
    tables = assessed.tables
    scenario = guess.scenario(raw, tables, name, assessed.port)
    summary = _summary(raw, recorded, assessed, entries)
    return Result(
        scenario=scenario,
        seed=scenario.seed,
        tables=tables,
        summary=cast("Summary", summary),
        manifest=_manifest(raw, summary, scenario, f"{name}-captured", started),
    )


def _refuse_twice(sources: Sequence[Source]) -> None:
    """One file may be both sides of the switch, but each side once: packets would count twice."""
    seen: set[tuple[Path, Role]] = set()
    for one in sources:
        side = (Path(one.file).resolve(), one.role)
        if side in seen:
            raise CaptureError("is given twice", file=one.file, remedy="name each capture once")
        seen.add(side)


def _name(file: str) -> str:
    """A scenario's name made from a file's."""
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", file).strip("-._")
    return word[:_LONGEST_NAME] or "capture"


def _tables(raw: dict[str, Any], run_id: str, known: groups.Map) -> Tables:
    for table, unknown in _UNKNOWN.items():
        for column in unknown:
            raw["tables"][table].pop(column, None)
    for table in ("drops", "packets"):
        if not raw["has_reasons"] and table in raw["tables"]:
            raw["tables"][table].pop("reason")
    del raw["tables"]["flows"]["hops"]  # the core leaves it to `groups`
    tables = columns.from_core(raw, run_id, raw["names"]["host"], [], outputs.WORKLOADS)
    tables["flows"] = groups.with_hops(tables, known, is_joined=bool(raw["egress"]))
    if not raw["egress"]:
        # one capture shows no drops; segments that were retransmitted, and not needlessly, were
        # lost
        lost = pl.col("retransmits") - tables["conversations"]["spurious_retransmits"]
        tables["flows"] = tables["flows"].with_columns(drops=lost)
    return groups.named(tables, known)


def _recorded(tables: Tables, raw: dict[str, Any], started: datetime, wall_s: float) -> Recorded:
    """The captures' record, as that of a run."""
    return Recorded(
        tables=tables,
        fingerprint=raw["fingerprint"],
        started=started,
        wall_s=wall_s,
        simulated_s=raw["duration_s"],
        measure_from_s=raw["measure_from_s"],
        measure_to_s=raw["measure_to_s"],
        packet_hops=raw["packets"],
    )


def _summary(
    raw: dict[str, Any],
    recorded: Recorded,
    assessed: outputs.Assessed,
    entries: list[dict[str, Any]],
) -> dict[str, Any]:
    tables, summary = assessed.tables, assessed.summary
    complete = outputs.completeness(raw["outputs"])
    notes = words.notes(raw, tables, complete)
    summary["verdict"] |= {
        "sentence": words.in_all(summary["verdict"]["sentence"], entries, assessed.port)
    }
    most: Any = tables["flows"]["traffic"].max()
    kinds = outputs.WORKLOADS[: int(most or 0) + 1]
    summary |= {
        # captures do not show what happens inside hosts
        "host_queue_drop_share": None,
        "rto_min_s": None,
        "host_goodput_bps_max": caveats.host_goodput_bps_max(tables["flows"]),
        "fullest_link": None,
        "host_times_rate_bps": None,
        "ecn_is_idle": False,
        "flows_outside_measurement": 0,
        "flows_partly_measured": 0,
        "traffic_ended_s": None,
        "decisions_left_out": 0,
        "traffic": traffic_parts.summary(tables, kinds, made.span_of(recorded)),
        "caveats": notes,
    }
    keys = ("start_s", "ingress", "egress", "files")
    captures = {key: raw[key] for key in keys}
    captures |= {"completeness": complete, "outputs": entries, "notes": notes}
    captures |= {"slowest": slowest.slowest(tables)}
    return summary | {"captures": captures}


def _manifest(
    raw: dict[str, Any],
    summary: dict[str, Any],
    scenario: Scenario,
    run_id: str,
    started: datetime,
) -> dict[str, Any]:
    return {
        "schema_version": made.SCHEMA_VERSION,
        "program": "fairport",
        "version": _core.__version__,
        "backend": NAME,
        "run_id": run_id,
        "seed": scenario.seed,
        "fingerprint": raw["fingerprint"],
        "started": started.isoformat(timespec="seconds"),
        "wall_s": summary["wall_s"],
        "simulated_s": raw["duration_s"],
        "packet_hops": raw["packets"],
        "valid": True,
        "measure": summary["measure"],
        "captures": summary["captures"],
        "scenario": scenario.to_toml(),
        "scenario_resolved": scenario.resolved(),
    }
