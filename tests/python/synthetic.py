"""A run made up by numpy, in exactly the shape that `_core.Simulation.run` returns.

It lets metrics, figures and the report be tested without the engine: the lone flow of a 15-to-1
job stands still most of the time, its drops come in runs at its ingress port, and every running
count is consistent because drops and trace are cut from one made-up sequence of arrivals.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
from fairport import tables
from fairport.backends import columns, made
from fairport.backends.protocol import Recorded
from fairport.result import Result
from fairport.scenario.load import load

PORTS = ["edge0.0:0", "edge0.0:1", "edge0.0:2", "agg0.0:0"]
RECEIVER, LONE, UPLINK, UPPER = range(4)
LINE_BPS = 1_000_000_000
FRAME_BYTES = 1518
NONE = np.iinfo(np.uint64).max  # a number that does not exist, as the engine writes it
SLOT_S = (FRAME_BYTES + 20) * 8 / LINE_BPS
STACKS = [{"preset": "linux-2.6", "overrides": {"congestion_control": "bic"}}]


def run(**how: Any) -> Result:
    """A made-up result; the arguments are those of `raw`."""
    data, hosts = raw(**how)
    seed = how.get("seed", 1)
    filled = columns.from_core(data, "outcast-1", hosts, STACKS, ["bulk"])
    recorded = Recorded(
        tables=filled,
        fingerprint=data["fingerprint"],
        started=datetime.now(timezone.utc),
        wall_s=2.5,
        simulated_s=data["simulated_s"],
        measure_from_s=data["measure_from_s"],
        measure_to_s=data["measure_to_s"],
        packet_hops=data["packet_hops"],
    )
    summary = made.summary_of(recorded, scenario="outcast", seed=seed, backend="simulation")
    manifest = {"run_id": "outcast-1", "fingerprint": data["fingerprint"], "version": "0.1.0"}
    return Result(
        scenario=load("outcast"), seed=seed, tables=filled, summary=summary, manifest=manifest
    )


def raw(
    classes: dict[int, int] | None = None,
    duration_s: float = 10.0,
    lossless: bool = False,
    lone_share: float = 0.16,
    seed: int = 1,
) -> tuple[dict[str, Any], list[str]]:
    """Engine output and hosts for `classes` (hops: flows) that send to h0.

    The first flow alone comes in by the port of its own host, the others share the uplink.
    """
    rng = np.random.default_rng(seed)
    classes = classes or {2: 1, 4: 2, 6: 12}
    hops = np.repeat(list(classes), list(classes.values())).astype(np.uint32)
    n = len(hops)
    hosts = [f"h{i}" for i in range(n + 1)]

    weight = np.ones(n)
    weight[0] = lone_share if n > 1 else 1.0
    weight[hops == 4] *= 0.55
    share_bps = weight / weight.sum() * LINE_BPS * 0.9415 * (0.98 if not lossless else 0.9)

    arrivals = _arrivals(rng, share_bps, duration_s, lossless)
    drops = {name: column[arrivals["dropped"]] for name, column in arrivals.items()}
    timeouts = _timeouts(rng, drops, duration_s)
    series = _series(rng, share_bps, hops, duration_s)
    delivered = np.zeros(n, np.uint64)
    np.maximum.at(delivered, series["flow"], series["delivered_bytes"])
    rtt_mean = 380e-6 + 50e-6 * hops + rng.normal(0, 8e-6, n)
    drop_columns = [c.name for c in tables.SCHEMA["drops"]]
    data = {
        "fingerprint": "0123456789abcdef",
        "packet_hops": int(delivered.sum() // 1448 * 8),
        "decisions_left_out": 0,
        "events": int(delivered.sum() // 1448 * 9),
        "measure_from_s": 0.0,
        "measure_to_s": duration_s,
        "simulated_s": duration_s,
        "names": {
            "port": PORTS,
            "reason": ["queue full"],
            "fate": ["forwarded", "dropped"],
            "protocol": ["tcp", "udp"],
            "cause": ["syn", "tail", "lost-retransmit", "few-dup-acks"],
        },
        "tables": {
            "flows": _flows(rng, hops, delivered, drops, timeouts, rtt_mean, duration_s),
            "series": series,
            "drops": {name: drops[name] for name in drop_columns},
            "timeouts": timeouts,
            "queue": _queue(rng, duration_s),
            "ports": _ports(arrivals, n),
            "rtt": _rtt(rng, rtt_mean, delivered),
            "trace": _trace(arrivals),
        },
    }
    return data, hosts


def _flows(
    rng: np.random.Generator,
    hops: np.ndarray,
    delivered: np.ndarray,
    drops: dict[str, np.ndarray],
    timeouts: dict[str, np.ndarray],
    rtt_mean: np.ndarray,
    duration_s: float,
) -> dict[str, np.ndarray]:
    period = timeouts["end_s"] - timeouts["start_s"]
    n = len(hops)
    nan = np.full(n, np.nan)
    zero = np.zeros(n, np.uint64)
    return {
        "flow": np.arange(n, dtype=np.uint32),
        "src": np.arange(1, n + 1, dtype=np.uint32),
        "dst": np.zeros(n, np.uint32),
        "hops": hops,
        "traffic": np.zeros(n, np.uint32),
        "protocol": np.zeros(n, np.uint8),
        "stack": np.zeros(n, np.uint32),
        "start_s": rng.uniform(0, 0.001, n),
        "established_s": rng.uniform(0.001, 0.002, n),
        "end_s": nan,
        "size_bytes": np.full(n, NONE, np.uint64),
        "delivered_bytes": delivered,
        "measured_bytes": delivered,
        "goodput_bps": delivered * 8.0 / duration_s,
        "fct_s": nan,
        "ideal_fct_s": nan,
        "segments_sent": delivered // np.uint64(1448),
        "retransmits": np.bincount(drops["flow"], minlength=n).astype(np.uint64),
        "fast_recoveries": np.zeros(n, dtype=np.uint64),
        "timeouts": np.bincount(timeouts["flow"], minlength=n).astype(np.uint64),
        "timeout_period_s": np.bincount(timeouts["flow"], period, minlength=n),
        "drops": np.bincount(drops["flow"], minlength=n).astype(np.uint64),
        "marks": zero,
        "rtt_mean_s": rtt_mean,
        "rtt_min_s": rtt_mean * 0.6,
        "rtt_max_s": rtt_mean * 2.6,
    }


def _count_within(keys: np.ndarray) -> np.ndarray:
    """For each element, which occurrence of its key it is, from 1."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(keys)])
    counts = np.empty(len(keys), np.uint64)
    counts[order] = np.arange(len(keys)) - np.repeat(starts, lengths) + 1
    return counts


def _arrivals(
    rng: np.random.Generator, share_bps: np.ndarray, duration_s: float, lossless: bool
) -> dict[str, np.ndarray]:
    """Every packet that came to the receiver's port, with its fate and running counts."""
    packets = int(duration_s / SLOT_S)
    lone = rng.random(packets // 10).repeat(10)[:packets] < share_bps[0] / share_bps.sum() * 1.4
    lone = np.pad(lone, (0, packets - len(lone)))
    peers = share_bps[1:] / share_bps[1:].sum() if len(share_bps) > 1 else np.ones(1)
    burst = rng.choice(max(len(share_bps) - 1, 1), packets // 4 + 1, p=peers).repeat(4)[:packets]
    flow = np.where(lone, 0, np.minimum(burst + 1, len(share_bps) - 1)).astype(np.uint32)
    hit = rng.random(packets // 5 + 1).repeat(5)[:packets] < 0.35
    dropped = np.where(lone, hit, rng.random(packets) < 0.02) & (not lossless)
    ingress = np.where(flow == 0, LONE, UPLINK).astype(np.uint32)
    time_s = np.arange(packets) * SLOT_S + rng.uniform(0, 0.4, packets) * SLOT_S
    return {
        "time_s": time_s,
        "port": np.full(packets, RECEIVER, np.uint32),
        "ingress_port": ingress,
        "flow": flow,
        "seq": ((_count_within(flow) - 1) * np.uint64(1448)).astype(np.uint32),
        "size_bytes": np.full(packets, FRAME_BYTES, np.uint32),
        "reason": np.zeros(packets, np.uint8),
        "port_arrival": np.arange(1, packets + 1, dtype=np.uint64),
        "ingress_arrival": _count_within(ingress),
        "flow_arrival": _count_within(flow),
        "port_accepted": np.cumsum(~dropped).astype(np.uint64),
        "is_backward": np.zeros(packets, np.uint8),
        "is_pure_ack": np.zeros(packets, np.uint8),
        "dropped": dropped,
    }


def _timeouts(
    rng: np.random.Generator, drops: dict[str, np.ndarray], duration_s: float
) -> dict[str, np.ndarray]:
    """A timeout for every tenth drop of the lone flow and every hundredth of the others."""
    chosen = rng.random(len(drops["flow"])) < np.where(drops["flow"] == 0, 0.1, 0.01)
    start = drops["time_s"][chosen]
    rto = rng.uniform(2.4e-3, 2.8e-3, len(start))
    kept = start + rto < duration_s
    count = int(kept.sum())
    return {
        "flow": drops["flow"][chosen][kept],
        "start_s": start[kept],
        "end_s": (start + rto)[kept],
        "rto_s": rto[kept],
        "backoff": np.zeros(count, np.uint32),
        "cause": rng.integers(1, 4, count).astype(np.uint8),
        "seq": drops["seq"][chosen][kept],
        "is_backward": np.zeros(count, np.uint8),
    }


def _series(
    rng: np.random.Generator,
    share_bps: np.ndarray,
    hops: np.ndarray,
    duration_s: float,
) -> dict[str, np.ndarray]:
    n, interval_s = len(share_bps), 0.01
    steps = max(round(duration_s / interval_s), 1)
    noise = rng.gamma(2.0, 0.5, (steps, n))
    stalled = rng.random((steps, n)) < np.where(np.arange(n) == 0, 0.7, 0.02)
    goodput = np.where(stalled & (n > 1), 0.0, noise)
    goodput *= share_bps / np.maximum(goodput.mean(0), 1e-9)
    time_s = np.repeat((np.arange(steps) + 1) * interval_s, n)
    rtt = (380e-6 + 50e-6 * hops) * rng.uniform(0.9, 1.1, (steps, n))
    rtt[stalled & (n > 1)] = np.nan
    cwnd = (1448 * np.clip(noise * 5, 1, None).round()).astype(np.uint64)
    delivered = np.cumsum(goodput * interval_s / 8, axis=0).astype(np.uint64)
    ssthresh = np.full(steps * n, NONE, np.uint64)
    return {
        "time_s": time_s,
        "flow": np.tile(np.arange(n, dtype=np.uint32), steps),
        "goodput_bps": goodput.ravel(),
        "cwnd_bytes": cwnd.ravel(),
        "ssthresh_bytes": ssthresh,
        "srtt_s": rtt.ravel(),
        "in_flight_bytes": cwnd.ravel(),
        "rtt_min_s": rtt.ravel() * 0.75,
        "rtt_mean_s": rtt.ravel(),
        "rtt_max_s": rtt.ravel() * 1.6,
        "delivered_bytes": delivered.ravel(),
    }


def _queue(rng: np.random.Generator, duration_s: float) -> dict[str, np.ndarray]:
    steps = max(round(duration_s / 0.001), 1)
    busy = [RECEIVER, UPPER]
    packets = np.clip(rng.normal(8.5, 2.2, (steps, len(busy))).round(), 0, 10).astype(np.uint64)
    return {
        "time_s": np.repeat((np.arange(steps) + 1) * 0.001, len(busy)),
        "port": np.tile(np.array(busy, np.uint32), steps),
        "bytes": packets.ravel() * np.uint64(FRAME_BYTES),
        "packets": packets.ravel(),
    }


def _ports(arrivals: dict[str, np.ndarray], flows: int) -> dict[str, np.ndarray]:
    accepted, dropped = int((~arrivals["dropped"]).sum()), int(arrivals["dropped"].sum())
    packets = np.array([accepted, 900, 800, accepted], np.uint64)
    drops = np.array([dropped, 0, 0, 3 * dropped], np.uint64)
    return {
        "port": np.arange(len(PORTS), dtype=np.uint32),
        "packets": packets,
        "bytes": packets * np.uint64(FRAME_BYTES),
        "drops": drops,
        "marks": np.zeros(len(PORTS), np.uint64),
        "queue_mean_bytes": np.array([12800.0, 12.0, 9.0, 11000.0]),
        "queue_max_bytes": np.array([15180, 64, 64, 15180], np.uint64),
        "busy_share": np.array([0.981, 0.012, 0.03, 0.91]),
        "flows": np.array([flows, 0, 0, max(flows - 1, 0)], np.uint32),
        "clock_error_ppm": np.array([12.5, -40.0, 3.25, 49.0]),
        "arrivals": packets + drops,
    }


def _rtt(
    rng: np.random.Generator, mean_s: np.ndarray, delivered: np.ndarray
) -> dict[str, np.ndarray]:
    """Histogram in bins 1 % wide of log-normal samples round each flow's mean."""
    flow, rtt, samples = [], [], []
    for number, (mean, size) in enumerate(zip(mean_s, delivered, strict=True)):
        values = mean * rng.lognormal(-0.02, 0.2, min(int(size) // 1448, 20_000))
        bins, counts = np.unique(np.floor(np.log(values) / np.log(1.01)), return_counts=True)
        flow += [number] * len(bins)
        rtt += list(1.01 ** (bins + 0.5))
        samples += list(counts)
    return {
        "flow": np.array(flow, np.uint32),
        "rtt_s": np.array(rtt),
        "samples": np.array(samples, np.uint64),
    }


def _trace(arrivals: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """64 packets around the lone flow's longest run of drops."""
    lost = arrivals["dropped"] & (arrivals["ingress_port"] == LONE)
    names = ["time_s", "port", "ingress_port", "flow", "seq", "size_bytes"]
    if not lost.any():
        part = slice(0, 0)
    else:
        middle = int(np.argmax(np.convolve(lost, np.ones(9), "same")))
        part = slice(max(middle - 32, 0), middle + 32)
    cut = {name: arrivals[name][part] for name in names}
    dropped = arrivals["dropped"][part]
    depart = cut["time_s"] + rng_free_wait(len(dropped))
    return cut | {
        "blackout_of": np.full(len(dropped), LONE, np.uint32),
        "fate": dropped.astype(np.uint8),
        "depart_s": np.where(dropped, np.nan, depart),
    }


def rng_free_wait(count: int) -> np.ndarray:
    """A wait behind nine to ten frames, the same for every run."""
    return (9.0 + np.sin(np.arange(count)) * 0.5) * SLOT_S
