"""The fingerprints that runs must have, on every machine: `fingerprints.json`.

A fingerprint hashes packet facts, never engine events: a faster engine keeps it, a change of the
model moves it. Each case says *why* it has the fingerprint that it has: `since 0.1`, or the change
that moved it last. To renew the table on purpose, run this file with the reason
(`make renew WHAT=fingerprints WHY="..."`), and say the same in CHANGELOG.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fairport as fp

FILE = Path(__file__).with_suffix(".json")

GRAPH = {
    "kind": "graph",
    "hosts": ["h0", "h1", "h2"],
    "switches": ["s0"],
    "links": [
        {"ends": ["h0", "s0"], "rate": "10Mbps", "delay": "5ms", "limit": "20KiB"},
        {"ends": ["h1", "s0"], "rate": "100Mbps", "delay": "1ms"},
        {"ends": ["h2", "s0"], "rate": "100Mbps", "delay": "10ms"},
    ],
}

TO_H0 = {"from": "h1..h3", "to": "h0"}
WORKLOADS = [
    {"kind": "bulk", **TO_H0, "start_interval": "20ms", "stop": "250ms", "stop_interval": "20ms"},
    {
        "kind": "udp", **TO_H0, "rate": "50Mbps", "pattern": "on-off", "on_mean": "5ms",
        "off_mean": "5ms",
    },
    {"kind": "incast", "from": "h5..h8", "to": "h4", "total": "80kB", "connections": "persistent"},
    {"kind": "poisson", "load": 0.3},
    {"kind": "poisson", "load": 0.1, "sizes": "data-mining-packets"},
    {
        "kind": "web", "servers": "h1..h4", "clients": "h8..h15", "session_gap": "1ms",
        "think": "10ms",
    },
    {"kind": "periodic", **TO_H0, "size": "20kB", "period": "10ms", "jitter": "1ms"},
]  # fmt: skip
REQUESTS = [
    {
        "kind": "request-response",
        "servers": "h0..h3",
        "clients": "h2..h15",
        "request": "100B..5kB",
        "response": "web-search",
        "think": {"kind": "exponential", "mean": "5ms"},
        "jitter": "1ms",
    }
]
LOSS = [
    {"at": "edge1.0:2", "kind": "random", "probability": 0.001},
    {"at": "core0:0", "kind": "on-off", "drops": 3, "off": "10ms"},
]

SLOW_LINUX_6 = {
    "duration": "2s",
    "link": {"rate": "100Mbps", "delay": "0s"},
    "queue.limit": "11 packets",
    "tcp": {"stack": "linux-6", "rto_min": "8ms", "clock_tick": "4ms", "small_queue": False},
}
FABRIC = {"duration": "30ms", "measure": {"from": "0s"}}

# name -> scenario and overrides; together the cases use every part of the engine
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "outcast": ("outcast", {"duration": "1s"}),
    "outcast, seed 2": ("outcast", {"duration": "1s", "seed": 2}),
    "outcast-lan": ("outcast-lan", {"duration": "0.5s"}),
    "outcast-1-to-12": ("outcast-1-to-12", {"duration": "0.5s"}),
    "two-switch": ("two-switch", {"duration": "0.5s"}),
    "cubic": ("outcast", {"duration": "0.5s", "tcp.congestion_control": "cubic"}),
    "newreno without SACK": (
        "outcast",
        {"duration": "0.5s", "tcp.congestion_control": "newreno", "tcp.sack": False},
    ),
    "stack rfc": ("outcast", {"duration": "0.5s", "tcp": {"stack": "rfc", "rto_min": "10ms"}}),
    "stack ns2": (
        "outcast",
        {"duration": "0.5s", "tcp": {"stack": "ns2"}, "queue.limit": "30 packets"},
    ),
    "deep buffer, large windows": (
        "outcast-lan",
        {"duration": "0.5s", "tcp.congestion_control": "cubic", "queue.limit": "1MiB"},
    ),
    "RED": ("outcast", {"duration": "0.5s", "queue": {"kind": "red", "limit": "30 packets"}}),
    "RED as printed, marking": (
        "outcast",
        {
            "duration": "0.5s",
            "queue": {"kind": "red", "variant": "floyd-jacobson"},
            "tcp.ecn": True,
        },
    ),
    "RED as in Linux": (
        "outcast",
        {
            "duration": "0.5s",
            "queue": {"kind": "red", "variant": "linux", "min": "7500B", "max": "22500B"},
        },
    ),
    "RIO-PS, tuned classifier": (
        "outcast",
        {
            "duration": "0.5s",
            "queue": {"kind": "rio-ps", "limit": "100 packets"},
            "classifier": {"interval": "100ms", "short_to_long": 1.0},
        },
    ),
    "PIE": (
        "outcast",
        {
            "duration": "0.5s",
            "queue": {"kind": "pie", "target": "500us", "update": "500us", "max_burst": "5ms"},
        },
    ),
    "weighted tail-drop": (
        "outcast",
        {"duration": "0.5s", "queue": {"kind": "weighted-tail-drop"}, "classifier": {}},
    ),
    "mininet-shapers": ("mininet-shapers", {"duration": "1s"}),
    "HTB, exact timers": (
        "mininet-shapers",
        {
            "duration": "1s",
            "shaper": {"kind": "htb", "rate": "100Mbps"},
            "queue.limit": "11 packets",
        },
    ),
    "exponential processing, random ties": (
        "outcast",
        {
            "duration": "0.5s",
            "host.processing": {"kind": "exponential", "mean": "1us"},
            "switch.arbitration": "random",
        },
    ),
    "all phases frozen": (
        "outcast",
        {
            "duration": "0.5s",
            "host.delay_spread": "0s",
            "host.processing": {"kind": "constant", "value": "500ns"},
            "link.clock_error": "0ppm",
            "traffic.0.start_jitter": "0s",
            "switch.arbitration": "fixed",
            "switch.departure_first": False,
        },
    ),
    "files over a slow graph": (
        "outcast",
        {
            "duration": "2s",
            "topology": GRAPH,
            "traffic": [{"kind": "bulk", "from": "all", "to": "h0", "size": "500KB", "flows": 2}],
        },
    ),
    "every workload, and losses": (
        "outcast",
        {"duration": "0.3s", "traffic": WORKLOADS, "loss": LOSS},
    ),
    **{
        f"TCP and UDP, {name}": (
            "outcast",
            {"duration": "0.3s", "traffic": WORKLOADS[:2], "routing": routing},
        )
        for name, routing in {
            "ecmp": "ecmp",
            "ripl": {"kind": "ecmp", "hash": "ripl"},
            "spray": "spray",
            "equal-length": "equal-length",
        }.items()
    },
    "requests, both ways": (
        "outcast",
        {"duration": "0.3s", "traffic": REQUESTS, "tcp.slow_start_after_idle": True},
    ),
    **{
        name: ("outcast", {"duration": "0.5s", "queue": {"kind": name}})
        for name in ("sfq", "linux-sfq", "drr", "port-fair", "codel", "fq-codel", "shared-buffer")
    },
    "strict-priority": (
        "outcast",
        {"duration": "0.5s", "queue": {"kind": "strict-priority"}, "classifier": {}},
    ),
    **{
        f"stack {stack}": ("outcast", {"duration": "0.5s", "tcp": {"stack": stack}})
        for stack in ("linux-3.0", "linux-6", "ns3")
    },
    "BBR": (
        "outcast",
        {"duration": "0.5s", "tcp": {"stack": "linux-6", "congestion_control": "bbr"}},
    ),
    "DCTCP, step marking": (
        "outcast",
        {
            "duration": "0.5s",
            "queue": {"kind": "step-marking", "limit": "100 packets"},
            "tcp": {"congestion_control": "dctcp"},
        },
    ),
    # what the pages on real Linux and on a fabric of today measure
    "linux-6 at 100 Mbit/s, ticks of 4 ms": ("two-switch", SLOW_LINUX_6),
    "offloads, interrupts, shared memory": ("outcast-fabric", FABRIC),
    "the same, DCTCP": (
        "outcast-fabric",
        {**FABRIC, "tcp.congestion_control": "dctcp", "queue.mark_above": "100KB"},
    ),
    "irregular hosts, a failed link": (
        "outcast-fabric",
        {**FABRIC, "host.profile": "linux-6-vm", "fabric.failed": ["spine0:0"]},
    ),
    # what the pages on fixes, clocks and equal-length routing measure
    "TCPRand, cubic": (
        "outcast",
        {
            "duration": "0.5s",
            "tcp.congestion_control": "cubic",
            "tcp.payload_sizing": "adaptive",
            "tcp.tcprand": "default",
            "tcp.payload_min": "200B",
        },
    ),
    "paced windows, ns-2's packets": (
        "outcast-1-to-12-ns2",
        {"duration": "0.5s", "tcp.pacing": "window"},
    ),
    "20 flows per host": ("outcast-1-to-12", {"duration": "0.3s", "traffic.0.flows": 20}),
    "a core per packet": (
        "outcast-1-to-12",
        {"duration": "0.3s", "routing": {"kind": "equal-length", "per": "packet"}},
    ),
}


def fingerprint(name: str) -> str:
    """The fingerprint that the case has with the present engine."""
    scenario, overrides = CASES[name]
    return fp.run(fp.scenario(scenario).patch(overrides)).fingerprint


def expected() -> dict[str, dict[str, str]]:
    """The committed table: by case, its `fingerprint` and `why` it is that one."""
    table: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def renewed(why: str) -> dict[str, dict[str, str]]:
    """The table with the present engine: `why` is the reason for those that moved."""
    table, before = {}, expected()
    for name in CASES:
        now = {"fingerprint": fingerprint(name), "why": why}
        kept = before.get(name)
        table[name] = kept if kept and kept["fingerprint"] == now["fingerprint"] else now
    return table


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].strip():
        sys.exit('say why fingerprints move: make renew WHAT=fingerprints WHY="..."')
    FILE.write_text(json.dumps(renewed(sys.argv[1]), indent=2) + "\n", encoding="utf-8")
