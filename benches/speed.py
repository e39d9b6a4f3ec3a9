"""Speed and memory on this machine: the tables of docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benches import command, engine, memory
from validation import DOCS, ROOT
from validation.markdown import between_markers, table
from validation.peers import UnavailableError, ns3

# for jobs that are compared with each other: a difference of a few per cent needs more turns
TURNS = 11


def main(arguments: Sequence[str]) -> int:
    """Measures everything, memory last, and prints each table as soon as it is complete."""
    parser = argparse.ArgumentParser(prog="python -m benches speed", description=__doc__)
    parser.parse_args(arguments)
    engines = [engine.measure(job) for job in engine.JOBS]
    parts = [
        f"Measured on {machine()}, version {_version()}. Medians of {engine.REPEATS} runs.",
        engine_table(engines),
    ]
    print(*parts, sep="\n\n", flush=True)
    for measure in (commands, against_ns3, event_queues, disciplines):
        parts.append(measure())
        print("", parts[-1], sep="\n", flush=True)
    between_markers(DOCS / "reference/benchmarks.md", "measured", "\n\n".join(parts))
    between_markers(ROOT / "README.md", "speed", speed(engines[0]))
    return memory.main([])


def speed(outcast: engine.Cost) -> str:
    """The README's sentence."""
    return (
        f"{outcast.hops_per_s / 1e6:.1f} million packet-hops per second on one core of the machine "
        f"named in the tables: the {outcast.simulated_s:g} s of `outcast` take "
        f"{outcast.wall_s:.2f} s."
    )


def engine_table(measurements: Sequence[engine.Cost]) -> str:
    """Speed and memory of the engine, one row per job."""
    heads = ["job", "million packet-hops/s", "ns per packet-hop", "million events/s"]
    heads += ["simulated s per s", "engine's memory", "packet-hops", "fingerprint"]
    rows = [
        [
            f"{one.job.name}, {one.simulated_s:g} s",
            f"{one.hops_per_s / 1e6:.1f}",
            f"{one.ns_per_hop:.1f}",
            f"{one.events / one.wall_s / 1e6:.1f}",
            f"{one.simulated_s / one.wall_s:.1f}",
            f"{one.memory_bytes / 1e6:.1f} MB",
            f"{one.packet_hops}",
            f"`{one.fingerprint}`",
        ]
        for one in measurements
    ]
    return table(heads, rows)


def commands() -> str:
    """Wall time and memory of whole commands."""
    rows = [
        [f"`{one.command}`", f"{one.wall_s:.2f} s", f"{one.memory_bytes / 1e6:.0f} MB"]
        for one in map(command.measure, command.COMMANDS)
    ]
    return table(["command", "wall time", "peak memory"], rows)


def against_ns3() -> str:
    """Our speed and ns-3's on the jobs that ns-3 can run, or why it was not measured."""
    try:
        peer = ns3.build()
        rows = [
            [job.name, f"{theirs / 1e6:.2f}", f"{ours / 1e6:.1f}", f"{ours / theirs:.0f}"]
            + ([f"{ours / theirs / peer.optimised:.0f}"] if peer.optimised > 1 else [])
            for job, k in ((engine.OUTCAST, 4), (engine.LARGE, 8))
            for ours, theirs in [side_by_side(peer, job, k)]
        ]
    except UnavailableError as error:
        return f"ns-3 was not measured: {error}."
    what = f"ns-3 {ns3.VERSION}, {peer.what}"
    heads = ["job", f"{what}: million packet-hops/s", "Fairport", "ratio"]
    if peer.optimised > 1:
        heads.append(f"ratio to an optimised ns-3 ({peer.optimised:g} times that)")
    return table(heads, rows)


def side_by_side(peer: ns3.Peer, job: engine.Job, k: int) -> tuple[float, float]:
    """Packet-hops/s of ours and of ns-3, in turns, so that a busy machine slows both."""
    turns = [
        (engine.measure(job, repeats=1).hops_per_s, ns3.hops_per_s(peer, k))
        for _ in range(ns3.REPEATS)
    ]
    return statistics.median(ours for ours, _ in turns), statistics.median(it for _, it in turns)


def event_queues() -> str:
    """What `cargo bench` prints about the event queue and its alternatives."""
    return cargo_bench("event_queue")


def disciplines() -> str:
    """A row for each queue discipline: whole runs of `outcast`, and the forwarding core alone."""
    alone = dict(
        line.removeprefix("forwarding, ").split(": ", 1)
        for line in cargo_bench("forwarding").splitlines()
    )
    whole = in_turns(engine.DISCIPLINES)
    same = in_turns(engine.NEVER_ACTING)
    fingerprints = {one.fingerprint for runs in same.values() for one in runs}
    assert len(fingerprints) == 1, "a threshold acted"
    rows = [
        [
            name,
            median_ns(whole, name),
            over_drop_tail(whole, name),
            over_drop_tail(same, name),
            time.split(" ns")[0],
        ]
        for name, time in alone.items()
    ]
    heads = ["queue discipline at every switch port", "`outcast`, ns per packet-hop"]
    heads += ["over drop-tail", "over drop-tail on the very same packets"]
    return table([*heads, "forwarding alone, ns per packet-hop"], rows)


def in_turns(jobs: Sequence[engine.Job]) -> dict[str, list[engine.Cost]]:
    """The runs of each job, by its name; in turns, so that a busy minute slows all of them."""
    rounds = [[engine.measure(job, repeats=1) for job in jobs] for _ in range(TURNS)]
    return {job.name: [turn[i] for turn in rounds] for i, job in enumerate(jobs)}


def median_ns(runs: dict[str, list[engine.Cost]], name: str) -> str:
    """Median time per packet-hop, if it was measured."""
    if name not in runs:
        return ""
    return f"{statistics.median(one.ns_per_hop for one in runs[name]):.1f}"


def over_drop_tail(runs: dict[str, list[engine.Cost]], name: str) -> str:
    """How much more time one packet-hop takes than with drop-tail in the same turn: the median."""
    if name not in runs:
        return ""
    pairs = zip(runs[name], runs["drop-tail"], strict=True)
    ratio = statistics.median(one.ns_per_hop / base.ns_per_hop for one, base in pairs)
    return f"{100 * (ratio - 1):+.0f} %"


def cargo_bench(name: str) -> str:
    """The output of a benchmark of the forwarding core."""
    done = subprocess.run(
        ["cargo", "bench", "--quiet", "--locked", "-p", "fairport-net", "--bench", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def machine() -> str:
    """Processor, cores, memory, system."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}"


def _version() -> str:
    from fairport import __version__

    return __version__
