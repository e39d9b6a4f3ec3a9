"""Makes a Result of a run's record: the summary, and the manifest that says how it was made."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from fairport import _core
from fairport.backends import known_spread
from fairport.backends.jobs import sender_stacks
from fairport.backends.protocol import Backend, Prepared, Recorded
from fairport.metrics import caveats, fairness, traffic_parts
from fairport.metrics.completion import Span
from fairport.result import Result, run_id
from fairport.scenario import Scenario
from fairport.scenario.host_profile import resolved

if TYPE_CHECKING:
    from fairport.summary import Summary

SCHEMA_VERSION = 1
"""Version of the summary's and the manifest's keys."""


def result(backend: Backend, prepared: Prepared, recorded: Recorded) -> Result:
    """The result of a run, with the numbers of its tables."""
    return Result(
        scenario=prepared.scenario,
        seed=prepared.scenario.seed,
        tables=recorded.tables,
        summary=cast("Summary", _summary(backend, prepared, recorded)),
        manifest=_manifest(backend, prepared, recorded),
    )


def summary_of(recorded: Recorded, *, scenario: str, seed: int, backend: str) -> dict[str, Any]:
    """The summary of any record, ready for JSON. Its `files` are filled in when they are written.

    A scenario's run adds what follows from the scenario.
    """
    wall_s = recorded.wall_s
    about = {
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario,
        "seeds": [seed],
        "backend": backend,
        "version": _core.__version__,
        "fingerprint": recorded.fingerprint,
        "valid": recorded.valid,
        "wall_s": wall_s,
        "simulated_s": recorded.simulated_s,
        "measure": {"from_s": recorded.measure_from_s, "to_s": recorded.measure_to_s},
        "packet_hops": recorded.packet_hops,
        "packet_hops_per_s": recorded.packet_hops / wall_s if wall_s > 0 else None,
    }
    return about | fairness.summary(recorded.tables, span_of(recorded)) | {"files": []}


def span_of(recorded: Recorded) -> Span:
    """The times of a record."""
    return Span(recorded.measure_from_s, recorded.measure_to_s, recorded.simulated_s)


def _summary(backend: Backend, prepared: Prepared, recorded: Recorded) -> dict[str, Any]:
    scenario = prepared.scenario
    summary = summary_of(recorded, scenario=scenario.name, seed=scenario.seed, backend=backend.name)
    summary |= _of_its_traffic(prepared, recorded)
    if summary["verdict"]["sentence"] == fairness.NO_VERDICT:
        summary["verdict"]["sentence"] = (
            traffic_parts.sentence(summary["traffic"]) or fairness.NO_VERDICT
        )
    summary["spread"] = ""
    if summary["verdict"]["ratio"] is not None:
        summary["spread"] = known_spread.sentence(prepared.key)
    if recorded.ignored_settings:
        summary["ignored_settings"] = list(recorded.ignored_settings)
    summary["caveats"] = caveats.caveats(summary)
    if recorded.health:
        # a backend in real time reports how late it was, and whether the run is valid
        summary |= {"health": dict(recorded.health), "faults": list(recorded.faults)}
    return summary


def _manifest(backend: Backend, prepared: Prepared, recorded: Recorded) -> dict[str, Any]:
    """What is needed to repeat the run, and what it is to be compared with."""
    scenario = prepared.scenario
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "program": "fairport",
        "version": _core.__version__,
        "backend": backend.name,
        "run_id": run_id(scenario),
        "seed": scenario.seed,
        # the store of runs finds the run by it
        "key": prepared.key if prepared.is_kept else None,
        "fingerprint": recorded.fingerprint,
        "started": recorded.started.isoformat(timespec="seconds"),
        "wall_s": recorded.wall_s,
        "simulated_s": recorded.simulated_s,
        "packet_hops": recorded.packet_hops,
        "events": recorded.events,
        "decisions_left_out": recorded.decisions_left_out,
        "valid": recorded.valid,
        "faults": list(recorded.faults),
        "health": dict(recorded.health),
        "measure": {"from_s": recorded.measure_from_s, "to_s": recorded.measure_to_s},
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "architecture": platform.machine(),
            "processors": os.cpu_count(),
            "python": platform.python_version(),
        },
        "scenario": scenario.to_toml(),
        "scenario_resolved": scenario.resolved(),
    }
    if scenario.user_code:
        manifest["user_code"] = scenario.user_code.described()
    return manifest


def _of_its_traffic(prepared: Prepared, recorded: Recorded) -> dict[str, Any]:
    """The part of the summary that follows the scenario's [[traffic]]."""
    scenario, tables, span = prepared.scenario, recorded.tables, span_of(recorded)
    senders = sender_stacks(prepared.job)
    share = caveats.host_queue_drop_share(tables["flows"], tables["ports"], tables["drops"])
    return {
        "host_queue_drop_share": share,
        "rto_min_s": rto_min_s(senders),
        "fullest_link": recorded.fullest_link,
        # real hosts take the times that they take
        "host_times_rate_bps": None if recorded.health else host_times_rate_bps(scenario),
        **caveats.facts(tables, span, uses_ecn=uses_ecn(senders)),
        "decisions_left_out": recorded.decisions_left_out,
        "traffic": traffic_parts.summary(tables, [one.kind for one in scenario.traffic], span),
    }


def host_times_rate_bps(scenario: Scenario) -> int | None:
    """The fastest link on which the times of simulated hosts were measured; None: drawn times."""
    profile = scenario.host_times().profile
    if profile is None:
        return None
    fastest = resolved(profile).measurement.rate_max
    return None if fastest is None else int(fastest)


def uses_ecn(senders: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some sender's packets may be marked."""
    return any(one["ecn"] or one["congestion_control"] == "dctcp" for one in senders)


def rto_min_s(senders: Sequence[Mapping[str, Any]]) -> float | None:
    """The largest minimum RTO of any sender; None where all is UDP."""
    known = [float(one["rto_min_ps"]) / 1e12 for one in senders]
    return max(known, default=None)
