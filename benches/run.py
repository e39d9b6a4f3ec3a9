"""Measures speed and memory on this machine; prints tables, also into docs/benchmarks.md.

`make bench` runs it. A benchmark, never a test: nothing fails for being slow.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import command
import engine
import ns3_peer
from markdown import between_markers, table

ROOT = Path(__file__).parents[1]
# ns-3's wheel has logging and assertions built in; from source with full optimisation it was
# measured to be this much faster
NS3_OPTIMISED = 1.75


def main() -> None:
    """Measures everything, printing each table as it is there."""
    parts = []
    for part in _measured():
        print(part, end="\n\n", flush=True)
        parts.append(part)
    between_markers(ROOT / "docs" / "benchmarks.md", "measured", "\n\n".join(parts))


def _measured() -> Iterator[str]:
    yield f"Measured on {machine()}, version {_version()}. Medians of {engine.REPEATS} runs."
    measurements = [engine.measure(job) for job in engine.JOBS]
    yield engine_table(measurements)
    yield command_table([command.measure(words) for words in command.COMMANDS])
    yield from _against_ns3(measurements)
    yield event_queues()


def engine_table(measurements: Sequence[engine.Measurement]) -> str:
    """Speed and memory of the engine, a row a job."""
    heads = ["job", "million packet-hops/s", "ns a packet-hop", "million events/s"]
    heads += ["simulated s per s", "engine's memory", "packet-hops", "fingerprint"]
    rows = [
        [
            f"{one.job.name}, {one.simulated_s:g} s",
            f"{one.hops_per_s / 1e6:.1f}",
            f"{1e9 / one.hops_per_s:.1f}",
            f"{one.events / one.wall_s / 1e6:.1f}",
            f"{one.simulated_s / one.wall_s:.1f}",
            f"{one.memory_bytes / 1e6:.1f} MB",
            f"{one.packet_hops}",
            f"`{one.fingerprint}`",
        ]
        for one in measurements
    ]
    return table(heads, rows)


def command_table(measurements: Sequence[command.Measurement]) -> str:
    """Wall time and memory of whole commands."""
    rows = [
        [f"`{one.command}`", f"{one.wall_s:.2f} s", f"{one.memory_bytes / 1e6:.0f} MB"]
        for one in measurements
    ]
    return table(["command", "wall time", "peak memory"], rows)


def _against_ns3(ours: Sequence[engine.Measurement]) -> Iterator[str]:
    try:
        program = ns3_peer.build()
        rows = []
        for one, k in zip(ours, (4, 8), strict=False):
            theirs = ns3_peer.hops_per_s(program, k)
            rows.append(
                [
                    one.job.name,
                    f"{theirs / 1e6:.2f}",
                    f"{one.hops_per_s / 1e6:.1f}",
                    f"{one.hops_per_s / theirs:.0f}",
                    f"{one.hops_per_s / theirs / NS3_OPTIMISED:.0f}",
                ]
            )
    except ns3_peer.UnavailableError as error:
        yield f"ns-3 was not measured: {error}."
        return
    heads = ["job", f"ns-3 {ns3_peer.VERSION}, its wheel: million packet-hops/s", "Fairport"]
    heads += ["ratio", f"ratio to an optimised ns-3 ({NS3_OPTIMISED} times its wheel)"]
    yield table(heads, rows)


def event_queues() -> str:
    """What `cargo bench` prints of the event queue and its rivals."""
    done = subprocess.run(
        ["cargo", "bench", "--quiet", "--locked", "-p", "fairport-net", "--bench", "event_queue"],
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


if __name__ == "__main__":
    main()
