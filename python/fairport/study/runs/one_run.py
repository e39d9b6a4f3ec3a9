"""One run of a study, as a worker makes it: its input and its output."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairport import _core, backends
from fairport.backends import columns, made
from fairport.backends.huge_pages import moving
from fairport.backends.jobs import sender_stacks
from fairport.backends.progress import Done, Report
from fairport.backends.protocol import Prepared
from fairport.backends.run import run_many, run_prepared
from fairport.backends.simulation import PreparedSimulation
from fairport.metrics.caveats import by_name, drops_without_marks, missed
from fairport.metrics.completion import Span
from fairport.metrics.run_numbers import Arrays, numbers
from fairport.record import Record
from fairport.result import Result
from fairport.scenario import Scenario

Row = dict[str, Any]
"""A run's numbers, by `run_numbers.NUMBERS`, and facts about it: `key`, `seed`, `backend`, `valid`,
`fingerprint`, `caveats`, `packet_hops`, `simulated_s`, `wall_s`. The caveats are their names,
joined by commas."""


@dataclass(frozen=True, slots=True)
class LeanRun:
    """The job of a simulation of long-lived flows of which only the numbers are needed."""

    key: str
    job: str
    """The job as JSON without the seed. No series are sampled, which changes no number."""
    workloads: tuple[str, ...]
    stacks: tuple[Mapping[str, Any], ...]
    """As in the job."""
    uses_ecn: bool
    known: Mapping[str, Any]
    """What caveats need that is known before the run, by the summary's keys."""

    @staticmethod
    def of(prepared: Prepared) -> LeanRun | None:
        """The run of any seed of a prepared scenario; None for a run whose tables are needed.

        Those are runs with transfers or other traffic, and with the user's own code.
        """
        if not isinstance(prepared, PreparedSimulation) or not prepared.is_kept:
            return None
        if not all(one.kind == "bulk" and one.size is None for one in prepared.scenario.traffic):
            return None
        document = {name: part for name, part in prepared.job.document.items() if name != "seed"}
        longest = {"series_interval_ps": document["duration_ps"]}
        longest |= {"queue_interval_ps": document["duration_ps"]}
        document["probes"] = document["probes"] | longest
        kinds = tuple(traffic.kind for traffic in prepared.scenario.traffic)
        senders = sender_stacks(prepared.job)
        return LeanRun(
            prepared.key,
            json.dumps(document),
            kinds,
            stacks=tuple(prepared.job.stacks),
            uses_ecn=made.uses_ecn(senders),
            known={
                "rto_min_s": made.rto_min_s(senders),
                "host_times_rate_bps": made.host_times_rate_bps(prepared.scenario),
            },
        )


def simulated(report: Report, run: LeanRun, seed: int) -> Row:
    """The row of a simulation."""
    begin = time.perf_counter()
    simulation = _core.Simulation(f'{{"seed": {seed}, {run.job[1:]}')
    raw = simulation.run(moving(report))
    wall_s = time.perf_counter() - begin
    return {
        "key": run.key,
        "seed": seed,
        "backend": "simulation",
        "valid": True,
        "fingerprint": raw["fingerprint"],
        "caveats": _caveats(run, raw, simulation.hosts),
        "packet_hops": raw["packet_hops"],
        "simulated_s": raw["simulated_s"],
        "wall_s": wall_s,
        **numbers(Arrays.of_engine(raw, run.workloads)),
    }


def _caveats(run: LeanRun, raw: Mapping[str, Any], hosts: Sequence[str]) -> str:
    """The names of the run's caveats, from the engine's arrays: tables would take too long.

    All flows are endless, so these are the facts of `caveats.facts`.
    """
    tables = raw["tables"]
    flows = tables["flows"]
    from_s, to_s = raw["measure_from_s"], raw["measure_to_s"]
    span = Span(from_s, to_s, raw["simulated_s"])
    outside, partly = missed(flows["start_s"], flows["established_s"], flows["end_s"], span)
    of_hosts = [np.bincount(flows[end], flows["goodput_bps"]) for end in ("src", "dst")]
    is_idle = run.uses_ecn and len(tables["drops"]["port"]) and not len(tables["marks"]["port"])
    if is_idle:
        few = {**raw, "tables": {name: tables[name] for name in ("flows", "drops")}}
        is_idle = drops_without_marks(columns.from_core(few, "", hosts, run.stacks, run.workloads))
    found = {
        **run.known,
        "simulated_s": raw["simulated_s"],
        "measure": {"from_s": from_s, "to_s": to_s},
        "host_goodput_bps_max": max(float(sums.max(initial=0)) for sums in of_hosts),
        "ecn_is_idle": is_idle,
        "flows_outside_measurement": outside,
        "flows_partly_measured": partly,
        "decisions_left_out": raw["decisions_left_out"],
    }
    return ", ".join(by_name(found))


class InvalidRunError(Exception):
    """A run for which the machine was too slow."""


def measured(report: Report, backend: str, scenario: Scenario, seed: int) -> Row:
    """The row of a run on any backend. A run that is not valid is repeated once.

    Raises InvalidRunError: such a run has no numbers.
    """
    duration_s = scenario.duration.seconds

    def progress(done: Done) -> None:
        report(done.runs * duration_s, done.packet_hops)

    with closing(run_many(scenario, [seed], backend=backend, retries=1, progress=progress)) as runs:
        for result in runs:
            if result.summary["valid"]:
                return row_of(result)
    raise InvalidRunError("; ".join(result.summary["faults"]))


def recorded(report: Report, backend: str, scenario: Scenario, seed: int) -> tuple[Record, Row]:
    """The record and the row of a run on any backend."""
    chosen = backends.get(backend)
    prepared = chosen.prepare(scenario, seed)
    result = run_prepared(chosen, prepared, report)
    return Record.of(result), row_of(result)


def row_of(result: Result) -> Row:
    """The row of a run whose tables are available."""
    summary = result.summary
    return {
        "key": result.manifest["key"],
        "seed": result.seed,
        **{name: summary.get(name) for name in _OF_SUMMARY},
        "caveats": ", ".join(by_name(summary)),
        **numbers(Arrays.of_tables(result.tables), summary["traffic"]),
    }


_OF_SUMMARY = ("backend", "valid", "fingerprint", "packet_hops", "simulated_s", "wall_s")
