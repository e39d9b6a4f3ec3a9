"""A million flows of the web-search mix at load 0.6 on a fat-tree of k = 8: time and memory.

It takes a quarter of an hour and more (10^10 packet-hops); `--flows 10000` is a quick look. The
engine runs alone: its results are not made into data frames. The bulk job on the same fat-tree is
measured right after it.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from typing import Any

import fairport as fp
from fairport.backends.cores import cores
from fairport.backends.simulation import BACKEND
from fairport.workloads import read_cdf

from benches import engine

LOAD = 0.6
HOSTS = 128
RATE_BPS = 1e9
# after the last arrival, for the flows that are still under way
DRAIN_S = 2.0


def scenario(flows: int) -> dict[str, Any]:
    """The run; its length follows from the number of flows."""
    arrivals_s = flows * read_cdf("web-search").mean_bytes * 8 / (LOAD * HOSTS * RATE_BPS)
    return {
        "name": "scale",
        "duration": f"{arrivals_s + DRAIN_S:.3f}s",
        "topology": {"kind": "fat-tree", "k": 8},
        "routing": "ecmp",
        "queue": {"limit": "150KiB"},
        "tcp": {"rto_min": "5ms"},
        "probes": {"queue_interval": "100ms", "series_interval": "100ms"},
        "traffic": [{"kind": "poisson", "load": LOAD, "sizes": "web-search", "flows": flows}],
    }


def main(arguments: Sequence[str]) -> None:
    """Runs it and prints two lines."""
    parser = argparse.ArgumentParser(prog="python -m benches million-flows", description=__doc__)
    parser.add_argument("--flows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=cores(), help="cores at most; default: all")
    options = parser.parse_args(arguments)
    flows: int = options.flows
    prepared = BACKEND.prepare(fp.scenario(scenario(flows)), seed=1)
    begin = time.perf_counter()
    raw = prepared.run_engine(threads=options.threads)
    wall_s = time.perf_counter() - begin
    hops = raw["packet_hops"]
    memory_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{flows} flows, {options.threads} threads at most:"
        f" {hops / 1e6:.0f} M packet-hops in {wall_s:.0f} s,"
        f" {wall_s / hops * 1e9:.0f} ns each; {memory_gb:.2f} GB at most;"
        f" {len(raw['tables']['drops']['flow']) / 1e6:.2f} M drops"
    )
    bulk_ns = engine.measure(engine.LARGE).ns_per_hop
    share = bulk_ns / (wall_s / hops * 1e9)
    print(f"{engine.LARGE.name}: {bulk_ns:.1f} ns each; the flows run at {share:.2f} of its speed")
