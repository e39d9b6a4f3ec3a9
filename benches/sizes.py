"""Cost against size, beside other simulators: `make bench CASE=sizes [ARGS="--rounds 3"]`.

Bulk flows to one receiver and web search between all hosts, on fat-trees of k = 4 to 32: Fairport
on one core and on all, htsim and ns-3 where they are available, all in turns and each run in a
process of its own. It writes the table and the figure of docs/reference/benchmarks.md. The
largest job has 10^9 packet-hops, so it takes half an hour and more; `--quick` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.process import in_a_process, peak_bytes
from benches.speed import event_queues
from validation import DOCS
from validation.markdown import between_markers, table
from validation.peers import UnavailableError, htsim, ns3

_PS_PER_S = 1_000_000_000_000
_LINK_PS, _HOST_PS = 25_000_000, 80_000_000
# jobs with at most this many flows take less than a second, so they are measured more often
_SHORT_FLOWS, _SHORT_TURNS = 1_000, 5
# a run this short measures the set-up alone
_NEXT_TO_NOTHING = "1us"
_HEADS = [
    *("job", "flows", "hosts", "million packet-hops"),
    *("ns per packet-hop, one core", "all cores", "times as fast"),
    *("htsim", "of htsim's time", "ns-3", "set-up, s", "memory"),
]


@dataclass(frozen=True)
class Size:
    """A job of some size: `flows` to one receiver if it is bulk, else of the web-search mix."""

    k: int
    flows: int
    is_bulk: bool
    # bulk: how long; web search lasts as long as its flows arrive
    simulated_s: float = 0.0

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"k={self.k}, {self.flows} to 1" if self.is_bulk else f"k={self.k}, web search"

    @property
    def hosts(self) -> int:
        """The number of hosts of a fat-tree."""
        return self.k**3 // 4


SIZES = [
    Size(4, 15, is_bulk=True, simulated_s=4),
    Size(8, 113, is_bulk=True, simulated_s=4),
    Size(16, 241, is_bulk=True, simulated_s=4),
    Size(32, 241, is_bulk=True, simulated_s=4),
    Size(8, 1_000, is_bulk=False),
    Size(8, 10_000, is_bulk=False),
    Size(16, 10_000, is_bulk=False),
]
LARGEST = Size(8, 100_000, is_bulk=False)


@dataclass(frozen=True)
class Row:
    """Medians over the rounds; none: a peer that is not available."""

    size: Size
    packet_hops: int
    alone_ns: float
    together_ns: float
    setup_s: float
    memory_bytes: float
    htsim_ns: float | None
    ns3_ns: float | None


def main(arguments: Sequence[str]) -> None:
    """Measures, prints and publishes."""
    parser = argparse.ArgumentParser(prog="python -m benches sizes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without the largest job")
    parser.add_argument("--print-only", action="store_true")
    options = parser.parse_args(arguments)
    missing: list[str] = []
    rows = []
    for size in SIZES if options.quick else [*SIZES, LARGEST]:
        rounds = 1 if size is LARGEST else options.rounds
        rows.append(_measure(size, rounds, missing))
        print(*_cells(rows[-1]), sep=" | ", flush=True)
    parts = [table(_HEADS, [_cells(row) for row in rows]), *dict.fromkeys(missing)]
    parts += [_floor(rows[0]), _memory(rows)]
    print("\n\n".join(parts))
    if not options.print_only:
        between_markers(DOCS / "reference/benchmarks.md", "sizes", "\n\n".join(parts))
        _draw(rows, DOCS / "images" / "cost.png")


def scenario(size: Size) -> dict[str, Any]:
    """The overrides of `outcast` for a bulk job, or the whole scenario of a web-search job."""
    if not size.is_bulk:
        from benches.cores import web

        return web(size.k, size.flows)
    pod = size.k**2 // 4
    senders = ["h1", f"h{pod}..h{pod + size.flows - 2}"] if size.k > 4 else ["h1..h15"]
    return {
        "topology.k": size.k,
        "duration": f"{size.simulated_s}s",
        "traffic.0.from": senders,
    }


def _measure(size: Size, rounds: int, missing: list[str]) -> Row:
    from fairport.backends.cores import cores

    ours: dict[int, list[dict[str, Any]]] = {1: [], cores(): []}
    setups: list[float] = []
    htsims: list[float] = []
    ns3s: list[float] = []
    for turn in range(rounds * (_SHORT_TURNS if size.flows <= _SHORT_FLOWS else 1)):
        for threads, runs in ours.items():
            request = {"size": vars(size), "threads": threads}
            runs.append(in_a_process(__file__, json.dumps(request)))
        request = {"size": vars(size), "threads": 1, "duration": _NEXT_TO_NOTHING}
        setups.append(in_a_process(__file__, json.dumps(request))["wall_s"])
        try:
            htsims.append(_htsim_ns(size))
        except UnavailableError as error:
            missing.append(f"htsim was not measured: {error}.")
        try:
            if size.is_bulk and size.k <= 8 and turn < rounds:
                ns3s.append(1e9 / ns3.hops_per_s(ns3.build(), size.k))
        except UnavailableError as error:
            missing.append(f"ns-3 was not measured: {error}.")
    facts = {(run["fingerprint"], run["packet_hops"]) for runs in ours.values() for run in runs}
    if len(facts) > 1:
        raise AssertionError(f"{size.name}: the number of threads changed the run")
    alone, *_, together = ours.values()

    setup_s = statistics.median(setups)
    hops: int = alone[0]["packet_hops"]

    def ns_per_hop(runs: list[dict[str, Any]]) -> float:
        return (statistics.median(float(run["wall_s"]) for run in runs) - setup_s) / hops * 1e9

    return Row(
        size=size,
        packet_hops=hops,
        alone_ns=ns_per_hop(alone),
        together_ns=ns_per_hop(together),
        setup_s=setup_s,
        memory_bytes=statistics.median(float(run["memory_bytes"]) for run in alone),
        htsim_ns=statistics.median(htsims) if htsims else None,
        ns3_ns=statistics.median(ns3s) if ns3s else None,
    )


def _htsim_ns(size: Size) -> float:
    rto_min_ps = _PS_PER_S * 2 // 1000 if size.is_bulk else _PS_PER_S * 5 // 1000
    job = htsim.Job(
        k=size.k,
        duration_ps=int(_duration_s(size) * _PS_PER_S),
        limit_bytes=16_384 if size.is_bulk else 150 * 1024,
        link_ps=_LINK_PS,
        host_ps=_HOST_PS,
        rto_min_ps=rto_min_ps,
        paths="suffix" if size.is_bulk else "ecmp",
        flows=tuple(_bulk(size) if size.is_bulk else _web(size)),
    )
    return htsim.run(htsim.build(rto_min_ps), job).ns_per_hop


def _duration_s(size: Size) -> float:
    return size.simulated_s if size.is_bulk else float(scenario(size)["duration"].rstrip("s"))


def _bulk(size: Size) -> list[htsim.Flow]:
    far = size.k**2 // 4 if size.k > 4 else 2
    senders = [1, *range(far, far + size.flows - 1)]
    drawn = random.Random(1)
    jitter_ps = _PS_PER_S // 100
    return [htsim.Flow(src, 0, drawn.randrange(jitter_ps), 0) for src in senders]


def _web(size: Size) -> list[htsim.Flow]:
    """The same mix, load and number of flows, drawn here because htsim has no such workload."""
    import numpy as np
    from fairport.workloads import read_cdf

    from benches.cores import DRAIN_S

    drawn = random.Random(1)
    cdf = read_cdf("web-search")
    sizes, shares = zip(*cdf.points, strict=True)
    arrivals_ps = int((_duration_s(size) - DRAIN_S) * _PS_PER_S)
    starts = sorted(drawn.randrange(arrivals_ps) for _ in range(size.flows))
    flows = []
    for start_ps in starts:
        src, dst = drawn.sample(range(size.hosts), 2)
        size_units = np.interp(drawn.random() * shares[-1], shares, sizes)
        flows.append(htsim.Flow(src, dst, start_ps, round(size_units * cdf.unit_bytes)))
    return flows


def _cells(row: Row) -> list[str]:
    def peer(ns: float | None) -> str:
        return "" if ns is None else f"{ns:.0f}"

    return [
        row.size.name,
        f"{row.size.flows}",
        f"{row.size.hosts}",
        f"{row.packet_hops / 1e6:.1f}",
        f"{row.alone_ns:.1f}",
        f"{row.together_ns:.1f}",
        f"{row.alone_ns / row.together_ns:.2f}",
        peer(row.htsim_ns),
        "" if row.htsim_ns is None else f"1/{row.htsim_ns / row.alone_ns:.1f}",
        peer(row.ns3_ns),
        f"{row.setup_s:.2f}",
        f"{row.memory_bytes / 1e6:.0f} MB",
    ]


def _floor(row: Row) -> str:
    """The time for ordering the events alone. No engine that orders them in this way is faster."""
    heads, _, first, *_ = (line.strip("| ").split(" | ") for line in event_queues().splitlines())
    ns = dict(zip(heads, first, strict=True))
    heap_ns = float(ns["binary heap"])
    return (
        f"To order the events of {first[0]} and do nothing else takes {heap_ns:.1f} ns each with a "
        f"binary heap, {ns['timing wheel']} ns with the timing wheel. A packet-hop of "
        f"{row.size.name} takes {row.alone_ns / heap_ns:.2f} times the heap's time."
    )


def _memory(rows: Sequence[Row]) -> str:
    """Memory per host and per flow, each from two jobs that differ only in it."""
    of = {(row.size.k, row.size.flows): row.memory_bytes for row in rows}
    hosts = (32**3 - 16**3) // 4
    per_host = (of[32, 241] - of[16, 241]) / hosts
    text = f"Memory per host, from k=16 to k=32 with the same flows: {per_host / 1e3:.1f} kB."
    if (8, LARGEST.flows) in of:
        per_flow = (of[8, LARGEST.flows] - of[8, 10_000]) / (LARGEST.flows - 10_000)
        text += f" Per flow, from 10,000 to 100,000 web flows: {per_flow / 1e3:.1f} kB."
    return text


def _draw(rows: Sequence[Row], path: Path) -> None:
    from fairport.figures.drawing import style
    from matplotlib.figure import Figure

    with style.applied():
        figure = Figure(figsize=(style.WIDTH_IN, 3.4), layout="constrained")
        axes = figure.subplots()
        lines: dict[str, tuple[str, str, str]] = {
            "Fairport, one core": ("alone_ns", style.BLUE, "o"),
            "Fairport, all cores": ("together_ns", style.GREEN, "^"),
            "htsim": ("htsim_ns", style.ORANGE, "s"),
            "ns-3, its wheel": ("ns3_ns", style.INK, "x"),
        }
        for name, (cost_of, colour, marker) in lines.items():
            costs: list[float | None] = [getattr(row, cost_of) for row in rows]
            points = [(at, cost) for at, cost in enumerate(costs) if cost is not None]
            if points:
                axes.plot(*zip(*points, strict=True), marker, color=colour, label=name)
        axes.set_yscale("log")
        axes.set_ylabel("ns per packet-hop (log scale)")
        names = [f"{row.size.name}\n{row.size.flows:,} flows" for row in rows]
        axes.set_xticks(range(len(rows)), names, rotation=35, ha="right")
        axes.set_title("Time per packet-hop against the size of the job", loc="left")
        axes.legend(loc="upper center", frameon=False)
        style.save(figure, path)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    import fairport as fp
    import numpy as np
    from fairport.backends.simulation import BACKEND

    size = Size(**request["size"])
    changes = scenario(size)
    if "duration" in request:
        changes["duration"] = request["duration"]
    chosen = fp.scenario("outcast").patch(changes) if size.is_bulk else fp.scenario(changes)
    np.zeros(1)
    before = peak_bytes()
    begin = time.perf_counter()
    raw = BACKEND.prepare(chosen, seed=1).run_engine(threads=request["threads"])
    wall_s = time.perf_counter() - begin
    return {
        "fingerprint": raw["fingerprint"],
        "packet_hops": raw["packet_hops"],
        "wall_s": wall_s,
        "memory_bytes": peak_bytes() - before,
    }


if __name__ == "__main__":
    print(json.dumps(_run(json.loads(sys.stdin.read()))))
