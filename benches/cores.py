"""The same run on one core and on all, in turns: `make bench CASE=cores [ARGS="--flows 1000"]`.

Web search on two fat-trees, and many flows to one receiver, which is left on one core. The engine
runs alone; what it leaves must be the same.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fairport as fp
from fairport.backends.cores import cores
from fairport.backends.simulation import BACKEND
from fairport.scenario import Scenario
from fairport.workloads import read_cdf

from benches import engine, million_flows

# after the last arrival, for the flows that are still under way
DRAIN_S = 0.1


@dataclass(frozen=True)
class _Measured:
    fingerprint: str
    packet_hops: int
    ns_per_hop: float


def web(k: int, flows: int) -> dict[str, Any]:
    """Web search at load 0.6 between all hosts of a fat-tree of `k`."""
    hosts = k**3 // 4
    bits = flows * read_cdf("web-search").mean_bytes * 8
    arrivals_s = bits / (million_flows.LOAD * hosts * million_flows.RATE_BPS)
    probes = {"queue_interval": "10ms", "series_interval": "10ms"}
    return {
        **million_flows.scenario(flows),
        "duration": f"{arrivals_s + DRAIN_S:.4f}s",
        "topology": {"kind": "fat-tree", "k": k},
        "probes": probes,
    }


def main(arguments: Sequence[str]) -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benches cores", description=__doc__)
    parser.add_argument("--flows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    flows: int = options.flows
    jobs = {
        f"k=8, {flows} web flows": fp.scenario(web(8, flows)),
        f"k=16, {flows} web flows": fp.scenario(web(16, flows)),
        engine.LARGE.name: fp.scenario("outcast").patch(engine.LARGE.overrides),
    }
    most = cores()
    print(f"| job | ns per packet-hop on one core | on {most} | times as fast |")
    print("|---|---|---|---|")
    for name, job in jobs.items():
        alone, together = _in_turns(job, [1, most], options.rounds)
        print(f"| {name} | {alone:.1f} | {together:.1f} | {alone / together:.2f} |", flush=True)


def _in_turns(job: Scenario, threads: Sequence[int], rounds: int) -> list[float]:
    """The median time per packet-hop with each number of threads, ns."""
    runs: dict[int, list[_Measured]] = {number: [] for number in threads}
    for _ in range(rounds):
        for number in threads:
            runs[number].append(_run(job, number))
    everything = [run for same in runs.values() for run in same]
    if len({(run.fingerprint, run.packet_hops) for run in everything}) > 1:
        raise AssertionError("the number of threads changed the run")
    return [statistics.median(run.ns_per_hop for run in runs[number]) for number in threads]


def _run(job: Scenario, threads: int) -> _Measured:
    prepared = BACKEND.prepare(job, seed=1)
    begin = time.perf_counter()
    raw = prepared.run_engine(threads=threads)
    wall_s = time.perf_counter() - begin
    return _Measured(raw["fingerprint"], raw["packet_hops"], wall_s / raw["packet_hops"] * 1e9)
