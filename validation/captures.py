"""What captures say, beside what was so: the tables of docs/validation/captures.md.

Random networks are simulated, and captured at four places. Each figure that `fairport analyze`
gives is divided by that of the run.
"""

from __future__ import annotations

import random
import struct
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
from fairport import layout, run_and_save
from fairport.backends.captures import analyse
from fairport.layout import Network
from fairport.storage import load_run

from validation.case import options
from validation.markdown import table

# the figure -> its column in the table of flows
FIGURES = {
    "drops": "drops",
    "sent again": "retransmits",
    "timeouts": "timeouts",
    "time waited for them": "timeout_period_s",
    "fast recoveries": "fast_recoveries",
    "bytes delivered": "delivered_bytes",
    "mean RTT": "rtt_mean_s",
}
# of fewer events a ratio says little
LEAST = {"drops": 6, "retransmits": 6, "timeouts": 6, "fast_recoveries": 6}
BOTH = "both sides of the bottleneck, with ACKs"
# the sender's packets pass its tap a moment after the timer, and a paced sender's later
SOON_S, LATE = 12e-3, 0.5
_PACKET = 6
_CLASSIC = bytes.fromhex("4d3cb2a1020004000000000000000000ffff000001000000")


@dataclass
class Found:
    """What was found at one place, with or without SACK."""

    ratios: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FIGURES})
    timeouts: Counter[str] = field(default_factory=Counter)


def main(arguments: Sequence[str]) -> int:
    """Runs everything, prints it, and renews the page at the end."""
    given = options("captures", __doc__, arguments, seeds=108)
    found: dict[tuple[str, bool], Found] = {}
    for seed in given.seeds:
        with tempfile.TemporaryDirectory() as folder:
            scenario = drawn(seed)
            for place, truth, result in captured(scenario, Path(folder), seed):
                key = place, bool(scenario["tcp"]["sack"])
                compare(found.setdefault(key, Found()), truth, result)
    text = f"{ratios(found)}\n\n{timeouts(found)}"
    print(text)
    given.publish("validation/captures.md", "captures", text)
    return 0


def drawn(seed: int) -> dict[str, Any]:
    """A random network, its TCP, traffic and losses."""
    draw = random.Random(seed)
    hosts = draw.randint(3, 6)
    stack = draw.choice(["linux-6", "linux-6", "linux-6", "linux-3.0", "linux-2.6", "rfc"])
    tcp: dict[str, Any] = {"stack": stack, "sack": draw.random() < 0.6}
    tcp |= {"timestamps": draw.random() < 0.6, "ecn": draw.random() < 0.3}
    tcp |= {"rto_min": draw.choice(["200ms", "200ms", "10ms", "2ms"])}
    if stack.startswith("linux-6"):
        tcp["congestion_control"] = draw.choice(["cubic", "newreno", "bbr"])
        tcp |= {"segmentation_offload": draw.random() < 0.5}
        tcp |= {"receive_offload": draw.choice(["0s", "0s", "50us"])}
    rate, delay = draw.choice([50, 100, 200]), draw.choice(["5us", "50us", "500us", "2ms"])
    link = {"rate": f"{rate}Mbps", "delay": delay}
    queue = {"kind": "drop-tail", "limit": draw.choice(["16KiB", "32KiB", "64KiB", "256KiB"])}
    if tcp["ecn"]:
        queue |= {"kind": "step-marking", "mark_above": "10KiB"}
    network: dict[str, Any] = {"topology": {"kind": "dumbbell", "left": hosts, "right": 1}}
    if draw.random() < 0.2:
        # every packet takes a path of its own, so they overtake each other
        spine = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": hosts}
        network = {"topology": spine, "routing": {"kind": "spray"}}
        link["delay_spread"] = draw.choice(["20us", "200us"])
    ends = {"from": f"h0..h{hosts - 1}", "to": f"h{hosts}"}
    traffic: list[dict[str, Any]] = [ends | {"from": draw.choice([ends["from"], "h0..h1"])}]
    if draw.random() < 0.6:
        size = draw.choice(["2kB", "20kB", "80kB"])
        traffic.append(ends | {"kind": "periodic", "size": size, "period": "100ms"})
    loss = []
    if draw.random() < 0.5:
        loss = [{"kind": "random", "probability": draw.choice([0.001, 0.005, 0.02, 0.05])}]
    about = {"name": f"random-{seed}", "seed": seed, "duration": "3s"}
    rest = {"link": link, "queue": queue, "tcp": tcp, "traffic": traffic, "loss": loss}
    return about | network | rest


def captured(
    scenario: dict[str, Any], folder: Path, seed: int
) -> Iterator[tuple[str, pl.DataFrame, fp.Result]]:
    """The places of capture, each with the flows of the run and those of the analysis."""
    network = layout.network(scenario)
    places = ports(network)
    run_and_save.run(
        network.scenario,
        [seed],
        backend="simulation",
        folder=folder / "run",
        figures=False,
        observation=fp.Observation(captures=sorted({port for some in places for port in some})),
    )
    run = load_run(folder / "run")
    captures = folder / "run" / "captures"
    senders, acks, forward, back, receiver = places
    everywhere = {port for flow in network.flows for port in flow.ports}
    snap = random.Random(seed).choice([64, 96, 128])
    for place, some in (
        ("at the senders", senders + acks),
        ("at a switch, behind the bottleneck", forward + back),
        ("at the receiver", receiver),
    ):
        file = folder / "tap.pcap"
        as_one(((captures / named(port, "egress")) for port in some), file, snap)
        yield place, flows_of(run, everywhere), analyse([str(file)])
    both = [
        str(file)
        for file in captures.iterdir()
        if any(file.name.startswith(named(port, "")) for port in forward + acks)
    ]
    yield BOTH, flows_of(run, set(forward)), analyse(both)


def ports(network: Network) -> tuple[list[str], ...]:
    """Ports of the senders, those that lead to them, the bottleneck both ways, the receiver's."""
    peer = network.entered_by()
    flows = network.flows
    own = sorted({route[0] for flow in flows for route in flow.forward})
    forward = sorted({route[1] for flow in flows for route in flow.forward})
    last = sorted({route[-1] for flow in flows for route in flow.forward})
    return (
        own,
        [peer[one] for one in own],
        forward,
        [peer[one] for one in forward],
        [port for one in last for port in (one, peer[one])],
    )


def named(port: str, side: str) -> str:
    """The file of a port's capture, or how its name begins."""
    return f"{port.replace(':', '-')}.{side}" + (".pcapng" if side else "")


def as_one(files: Iterable[Path], to: Path, snap: int) -> None:
    """One capture as tcpdump writes it, with so many bytes of each packet."""
    packets: list[tuple[int, int, bytes]] = []
    for file in files:
        content, at = file.read_bytes(), 0
        while at < len(content):
            kind, length = struct.unpack_from("<2I", content, at)
            if kind == _PACKET:
                high, low, kept, wire = struct.unpack_from("<4I", content, at + 12)
                frame = content[at + 28 : at + 28 + min(kept, snap)]
                packets.append((high << 32 | low, wire, frame))
            at += length
    packets.sort(key=lambda one: one[0])
    heads = (
        struct.pack("<4I", *divmod(ns, 10**9), len(frame), wire) for ns, wire, frame in packets
    )
    frames = (frame for _, _, frame in packets)
    to.write_bytes(
        _CLASSIC + b"".join(part for pair in zip(heads, frames, strict=True) for part in pair)
    )


def flows_of(run: fp.Result, where: set[str]) -> pl.DataFrame:
    """The flows with their drops at these ports, and the times of timeouts and probes."""
    drops = run.drops.filter(pl.col("port").is_in(sorted(where)))
    probes = run.tables["decisions"].filter(what="tail-loss-probe")
    flows = run.flows.filter(protocol="tcp").drop("drops")
    for few in (
        drops.group_by("flow").agg(drops=pl.len()),
        run.timeouts.group_by("flow").agg(expired_s="end_s"),
        probes.group_by("flow").agg(probed_s="time_s"),
    ):
        flows = flows.join(few, on="flow", how="left")
    return flows


def compare(found: Found, truth: pl.DataFrame, result: fp.Result) -> None:
    """Adds what one capture shows."""
    numbers = result.tables["conversations"].select(
        "flow", number=(pl.col("src_port") - 20_000).cast(pl.UInt32)
    )
    ours = result.flows.join(numbers, on="flow")
    pairs = truth.join(ours, left_on="flow", right_on="number", suffix="_found")
    for name, column in FIGURES.items():
        both = pairs.select(column, f"{column}_found")
        both = both.drop_nulls() if column == "rtt_mean_s" else both
        is_so, is_found = (float(both[one].sum()) for one in both.columns)
        if is_so >= LEAST.get(column, 1e-6):
            found.ratios[name].append(is_found / is_so)
    start_s = result.summary["captures"]["start_s"]
    waits = result.timeouts.join(numbers, on="flow").select("number", "start_s", "end_s")
    left = {row["flow"]: row for row in truth.select("flow", "expired_s", "probed_s").to_dicts()}
    for number, from_s, to_s in waits.iter_rows():
        times = left.get(number, {})
        late_s = max(SOON_S, LATE * (to_s - from_s))
        kind = "others"
        for one, name in (("timeouts", "expired_s"), ("probes", "probed_s")):
            known: list[float] = times.get(name) or []
            near = [at for at in known if -1e-4 <= to_s + start_s - at <= late_s]
            if near:
                known.remove(max(near))
                kind = one
                break
        found.timeouts[kind] += 1
    found.timeouts["missed"] += sum(len(row["expired_s"] or []) for row in left.values())


def ratios(found: dict[tuple[str, bool], Found]) -> str:
    """Each figure over the truth: median and the middle 90 % of the runs."""
    rows = []
    for (place, has_sack), one in sorted(found.items(), key=lambda pair: not pair[0][1]):
        cells = map(spread, one.ratios.values())
        rows.append([f"{place}{'' if has_sack else ', no SACK'}", *cells])
    return table(["captured", *FIGURES], rows)


def spread(some: Sequence[float]) -> str:
    """The median, and the middle 90 %."""
    if not some:
        return ""
    low, middle, high = np.quantile(some, [0.05, 0.5, 0.95])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def timeouts(found: dict[tuple[str, bool], Found]) -> str:
    """What was counted as timeouts."""
    heads = ["captured", "timeouts found", "timeouts missed", "probes", "others"]
    rows = []
    for (place, has_sack), one in sorted(found.items(), key=lambda pair: not pair[0][1]):
        counts = [one.timeouts[kind] for kind in ("timeouts", "missed", "probes", "others")]
        rows.append([f"{place}{'' if has_sack else ', no SACK'}", *(f"{n:,}" for n in counts)])
    return table(heads, rows)
