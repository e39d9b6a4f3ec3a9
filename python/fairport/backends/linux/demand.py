"""Frames per second that the switch must forward for a scenario, estimated before a run.

Bulk flows and rounds of incast fill a line, whatever the rest of the scenario does; slower traffic
counts with its mean rate. Traffic that fills a line for a smaller share of the run than the switch
may be late does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairport import headers
from fairport.backends.linux.gate import STALLED_SHARE
from fairport.scenario import Scenario
from fairport.scenario.lower import Job
from fairport.workloads import Cdf

# Linux acknowledges two segments of a bulk flow with one ACK
_ACKS_PER_SEGMENT = 0.5
_PS_PER_S = 1e12
# workloads whose receivers request their data
_BOTH_WAYS = ("request-response", "web")


def frames_per_s(scenario: Scenario, job: Job, layout: Mapping[str, Any], mss_bytes: int) -> float:
    """Frames per second that the switch must forward while all flows send, ACKs included.

    `mss_bytes` is the smallest of all flows.
    """
    header = scenario.link.wire_overhead
    datagrams = datagram_bits = 0.0
    for flow in job.flows:
        if flow["udp"] is not None:
            payload, rate_bps = flow["udp"]["payload_bytes"], flow["udp"]["rate_bps"]
            datagrams += rate_bps / 8 / payload
            datagram_bits += rate_bps * (payload + headers.IPV4_UDP + header) / payload
    rates = rates_bps(scenario, layout)
    tcp_bps = max(0.0, filled_bps(job, layout, rates) - datagram_bits)
    for workload in job.document["workloads"]:
        tcp_bps += _workload_bps(workload, job.document["duration_ps"], layout, rates)
    segments = tcp_bps / 8 / (mss_bytes + headers.IPV4_TCP + header)
    return datagrams + (1 + _ACKS_PER_SEGMENT) * segments


def only_receiving(job: Job) -> set[str]:
    """Names of the hosts that receive data and send none."""
    workloads = job.document["workloads"]
    receivers = {flow["dst"] for flow in job.flows} | _ends(workloads, "receivers")
    senders = {flow["src"] for flow in job.flows} | _ends(workloads, "senders")
    asking = [one for one in workloads if one["pattern"]["kind"] in _BOTH_WAYS]
    return receivers - senders - _ends(asking, "receivers")


def _ends(workloads: Sequence[Mapping[str, Any]], role: str) -> set[str]:
    return {end["host"] for workload in workloads for end in workload[role]}


def rates_bps(scenario: Scenario, layout: Mapping[str, Any]) -> dict[int, int]:
    """The rate of every port, in bit/s."""
    return {port: scenario.shaped_bps(rate) for port, rate in _line_rates(layout).items()}


def _line_rates(layout: Mapping[str, Any]) -> dict[int, int]:
    """The same without shapers."""
    return {port: link["rate_bps"] for link in layout["links"] for port in link["ports"]}


def filled_bps(job: Job, layout: Mapping[str, Any], rates: Mapping[int, int]) -> float:
    """The highest rate at which TCP flows listed in the scenario bring data to their receivers."""
    return sum(rates[port] for port in filled_ports(job, layout, rates))


def filled_ports(job: Job, layout: Mapping[str, Any], rates: Mapping[int, int]) -> set[int]:
    """The ports that limit this rate.

    Each flow passes the slowest port of its path, the first and the last, so together they have no
    more than the rates of these ports: those count that have the smallest rates together. If ports
    of a path are equally slow, the first of each path counts, or the last of each path. Transfers
    of a given size count if they keep a port busy long enough.
    """
    paths: list[Sequence[int]] = []
    busy_s: dict[int, float] = {}
    sized: list[Sequence[int]] = []
    for flow, routes in zip(job.flows, layout["flows"], strict=False):
        path = routes["forward"][0]
        if flow["udp"] is not None:
            continue
        if flow["size_bytes"] is None:
            paths.append(path)
            continue
        port = _slowest(path, rates)
        busy_s[port] = busy_s.get(port, 0.0) + flow["size_bytes"] * 8 / rates[port]
        sized.append(path)
    noticed_s = STALLED_SHARE * job.document["duration_ps"] / _PS_PER_S
    paths += [path for path in sized if busy_s[_slowest(path, rates)] >= noticed_s]
    ends = (paths, [path[::-1] for path in paths])
    found = [{_slowest(path, rates) for path in one} for one in ends]
    found += [{path[0] for path in one} for one in ends]
    return min(found, key=lambda ports: sum(rates[port] for port in ports))


def _slowest(path: Sequence[int], rates: Mapping[int, int]) -> int:
    return min(path, key=rates.__getitem__)


def _workload_bps(
    workload: Mapping[str, Any],
    duration_ps: int,
    layout: Mapping[str, Any],
    rates: Mapping[int, int],
) -> float:
    """Rate of a workload while it runs: at most that of its senders' or its receivers' links."""
    line_bps = min(_links_bps(workload[role], layout, rates) for role in ("senders", "receivers"))
    pattern = workload["pattern"]
    if pattern["kind"] == "poisson" and pattern["capacity_bps"] is None:
        # the default is that of the links, whatever their shapers are
        capacity_bps = _links_bps(workload["senders"], layout, _line_rates(layout))
        pattern = {**pattern, "capacity_bps": capacity_bps}
    offered: Callable[..., float] = _OFFERED[pattern["kind"]]
    return min(line_bps, offered(workload, pattern, line_bps, duration_ps / _PS_PER_S))


def _links_bps(
    ends: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], rates: Mapping[int, int]
) -> int:
    """The rates of these hosts' ports together."""
    hosts = {end["host"] for end in ends}
    return sum(
        rates[port]
        for link in layout["links"]
        for port, node in zip(link["ports"], link["ends"], strict=True)
        if layout["nodes"][node]["name"] in hosts
    )


def _poisson(_: Any, pattern: Mapping[str, Any], __: float, ___: float) -> float:
    return float(pattern["load_ppm"] * 1e-6 * pattern["capacity_bps"])


def _incast(workload: Any, pattern: Mapping[str, Any], line_bps: float, run_s: float) -> float:
    """The line's rate, because all senders of a round send at once."""
    round_s = pattern["block_bytes"] * len(workload["senders"]) * 8 / line_bps
    rounds = run_s / (round_s + pattern["pause_ps"] / _PS_PER_S)
    if pattern["rounds"] is not None:
        rounds = min(rounds, pattern["rounds"])
    return line_bps if rounds * round_s >= STALLED_SHARE * run_s else 0.0


def _periodic(workload: Any, pattern: Mapping[str, Any], _: float, __: float) -> float:
    bits = pattern["size_bytes"] * 8 * len(workload["senders"])
    return float(bits / pattern["period_ps"] * _PS_PER_S)


def _requests(workload: Any, pattern: Mapping[str, Any], line_bps: float, _: float) -> float:
    """Mean rate of connections that each think and then have an answer under way."""
    bits = 8 * Cdf(**pattern["response"]).mean_bytes
    connections = pattern["connections"] * len(workload["receivers"])
    return float(connections * bits / (_mean_s(pattern["think"]) + bits / line_bps))


def _trace(_: Any, pattern: Mapping[str, Any], line_bps: float, run_s: float) -> float:
    starts_s = [start / _PS_PER_S for start in pattern["start_ps"]]
    begun = [(at, size) for at, size in zip(starts_s, pattern["bytes"], strict=True) if at < run_s]
    if not begun:
        return 0.0
    bits: float = 8.0 * sum(size for _, size in begun)
    span_s: float = max(begun[-1][0] - begun[0][0], bits / line_bps)
    return bits / span_s


def _web(_: Any, pattern: Mapping[str, Any], __: float, ___: float) -> float:
    """Mean rate of all users, with pages of the mean number of objects of the mean size."""
    objects, sizes = pattern["objects"], pattern["size_packets"]
    packets = _pareto_mean(sizes[0], sizes[1], pattern["shape_milli"] / 1000)
    bits = 8 * pattern["packet_bytes"] * packets
    mean = sum(objects) / 2
    # the first object starts with the page
    fetch_ps = 0 if pattern["think_from_start"] else (mean - 1) * pattern["object_gap_mean_ps"]
    page_s = (pattern["think_mean_ps"] + fetch_ps) / _PS_PER_S
    return float(pattern["sessions"] * mean * bits / page_s)


_OFFERED: Mapping[str, Callable[..., float]] = {
    "incast": _incast,
    "periodic": _periodic,
    "poisson": _poisson,
    "request-response": _requests,
    "trace": _trace,
    "web": _web,
}


def _mean_s(time: Mapping[str, Any]) -> float:
    if time["kind"] == "uniform":
        return float((time["min_ps"] + time["max_ps"]) / 2 / _PS_PER_S)
    return float(time["value_ps" if time["kind"] == "constant" else "mean_ps"] / _PS_PER_S)


def _pareto_mean(least: float, most: float, shape: float) -> float:
    """Mean of a Pareto distribution between two sizes."""
    if least == most:
        return least
    if shape == 1:
        return least * most / (most - least) * math.log(most / least)
    share = (least / most) ** shape
    grown = 1 - (least / most) ** (shape - 1)
    return float(shape * least / (shape - 1) * grown / (1 - share))
