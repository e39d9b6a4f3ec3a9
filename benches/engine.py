"""The engine's speed and memory: one fresh process per run, with the probes of `fairport run`."""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

from benches.process import in_a_process, peak_bytes

REPEATS = 5
_ROOM = "30 packets"
_LAN = {"target": "150us", "interval": "2ms"}


@dataclass(frozen=True)
class Job:
    """A scenario to measure: `outcast` with some other settings."""

    name: str
    overrides: dict[str, Any]


OUTCAST = Job("k=4, 15 to 1", {})
TODAY = Job(
    "k=4, 15 to 1, stack linux-6", {"tcp.stack": "linux-6", "tcp.congestion_control": "cubic"}
)
LARGE = Job(
    "k=8, 113 to 1 (1 two-hop, 112 six-hop)",
    {"topology.k": 8, "traffic.0.from": ["h1", "h16..h127"]},
)
HUGE = Job(
    "k=16, 241 to 1 (1 two-hop, 240 six-hop)",
    {"topology.k": 16, "traffic.0.from": ["h1", "h64..h303"]},
)
JOBS = [OUTCAST, TODAY, LARGE, HUGE]


def _at_every_port(queue: dict[str, Any]) -> Job:
    overrides: dict[str, Any] = {"queue": {"limit": _ROOM} | queue}
    if queue["kind"] == "rio":
        overrides["classifier"] = {}
    return Job(str(queue["kind"]), overrides)


# a discipline at every switch port, all with the same room
DISCIPLINES = [
    _at_every_port(queue)
    for queue in (
        {"kind": "drop-tail"},
        {"kind": "step-marking", "mark_above": "20 packets"},
        {"kind": "red"},
        {"kind": "rio"},
        {"kind": "pie", "target": "150us"},
        {"kind": "sfq", "limit": "40 packets"},
        {"kind": "drr"},
        {"kind": "codel"} | _LAN,
        {"kind": "fq-codel"} | _LAN,
    )
]
# the same with thresholds that are never reached, and so with the same packets as drop-tail
_FAR = {"min": "1MB", "max": "2MB"}
NEVER_ACTING = [
    _at_every_port(queue)
    for queue in (
        {"kind": "drop-tail"},
        {"kind": "step-marking", "mark_above": _FAR["min"]},
        {"kind": "red"} | _FAR,
        {"kind": "rio"}
        | {f"{flows}_{end}": far for flows in ("short", "long") for end, far in _FAR.items()},
        {"kind": "pie", "target": "1s"},
        {"kind": "codel", "target": "1s", "interval": "10s"},
    )
]


@dataclass(frozen=True)
class Cost:
    """Medians over the repeats; the fingerprint is the same in all."""

    job: Job
    flows: int
    simulated_s: float
    packet_hops: int
    wall_s: float
    events: int
    memory_bytes: int
    """Peak above the interpreter with numpy, which the tables are handed over in."""
    fingerprint: str

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second of wall time."""
        return self.packet_hops / self.wall_s

    @property
    def ns_per_hop(self) -> float:
        """Wall time per packet-hop."""
        return 1e9 / self.hops_per_s


def measure(job: Job, repeats: int = REPEATS) -> Cost:
    """Runs a job `repeats` times."""
    document = lowered(job)
    runs = [in_a_process(__file__, document) for _ in range(repeats)]
    fingerprints = {run["fingerprint"] for run in runs}
    assert len(fingerprints) == 1, f"{job.name}: the same job gave {fingerprints}"
    return Cost(
        job=job,
        flows=len(json.loads(document)["flows"]),
        simulated_s=runs[0]["simulated_s"],
        packet_hops=runs[0]["packet_hops"],
        wall_s=statistics.median(run["wall_s"] for run in runs),
        events=runs[0]["events"],
        memory_bytes=statistics.median_high(run["memory_bytes"] for run in runs),
        fingerprint=runs[0]["fingerprint"],
    )


def lowered(job: Job) -> str:
    """The engine's job, as `fairport run` hands it over."""
    from fairport.backends.jobs import job_of
    from fairport.scenario import load

    return json.dumps(job_of(load("outcast").patch(job.overrides)).document)


def _run(document: str) -> dict[str, Any]:
    import numpy as np
    from fairport import _core

    np.zeros(1)
    before = peak_bytes()
    simulation = _core.Simulation(document)
    begin = time.perf_counter()
    result = simulation.run(lambda simulated_s, packet_hops: None)
    wall_s = time.perf_counter() - begin
    facts = ("fingerprint", "packet_hops", "events", "simulated_s")
    return {name: result[name] for name in facts} | {
        "wall_s": wall_s,
        "memory_bytes": peak_bytes() - before,
    }


if __name__ == "__main__":
    print(json.dumps(_run(sys.stdin.read())))
