"""Random scenarios with every kind of traffic, many of them with borders that matter."""

from __future__ import annotations

import random
from typing import Any

QUEUES: list[dict[str, Any]] = [
    {"kind": "drop-tail", "limit": "16KiB"},
    {"kind": "drop-tail", "limit": "6 packets"},
    {"kind": "red"},
    {"kind": "step-marking", "limit": "30KiB", "mark_above": "5 packets"},
    {"kind": "linux-sfq", "limit": "20 packets"},
    {"kind": "codel", "limit": "20 packets", "target": "50us", "interval": "1ms"},
]
TOPOLOGIES: list[dict[str, Any]] = [
    {"kind": "fat-tree", "k": 4},
    {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4},
    {"kind": "two-switch", "peers": 14},
    {"kind": "bcube", "n": 4, "k": 1},
    {"kind": "star", "hosts": 16},
]
"""Each with hosts `h0` to `h15`."""
KINDS = (
    *("bulk", "stopped", "late", "sized", "sized and stopped", "incast", "persistent incast"),
    *("poisson", "requests", "periodic", "persistent periodic", "web", "udp", "on-off"),
    "permutation",
)


def scenario(seed: int) -> dict[str, Any]:
    """A scenario of up to five kinds of traffic."""
    draw = random.Random(seed)
    ms = draw.choice([5, 30, 80])
    found: dict[str, Any] = {
        "name": "random",
        "duration": f"{ms}ms",
        "topology": draw.choice(TOPOLOGIES),
        "queue": draw.choice(QUEUES),
        "tcp": {"rto_min": draw.choice(["1ms", "10ms"]), "ecn": draw.random() < 0.2},
        "measure": draw.choice(
            [
                {},
                {},
                {"from": "0s"},
                {"from": _part(ms, 0.3)},
                {"from": _part(ms, 0.2), "to": _part(ms, 0.8)},
                {"to": _part(ms, 0.6)},
            ]
        ),
        "traffic": [traffic(draw, draw.choice(KINDS), ms) for _ in range(draw.randint(1, 5))],
    }
    if draw.random() < 0.2:
        found["loss"] = [{"kind": "random", "probability": 0.02}]
    elif draw.random() < 0.1:  # no flow is established
        found["loss"] = [{"kind": "outage", "from": "0s", "to": f"{ms}ms"}]
    if draw.random() < 0.3:
        found["host"] = {"queue": "10 packets"}
    if draw.random() < 0.2:
        found["probes"] = {"flows": draw.choice([0, 3])}
    return found


def traffic(draw: random.Random, kind: str, ms: int) -> dict[str, Any]:
    """One traffic, which mostly goes to one host."""
    to, *others = draw.sample([f"h{i}" for i in range(16)], draw.randint(2, 6))
    ends = {"from": others, "to": to}
    stop = {"stop": _part(ms, draw.uniform(0.3, 0.9))}
    size = draw.choice(["1kB", "10kB", "100kB", "100001B", "200kB"])
    cbr = {"kind": "udp", **ends, "rate": draw.choice(["10Mbps", "300Mbps"])}
    periodic = {"kind": "periodic", **ends, "size": size, "period": _part(ms, 0.1)}
    incast = {"kind": "incast", **ends, "block": size}
    lasting = {"connections": "persistent"}
    kinds: dict[str, dict[str, Any]] = {
        "bulk": {"kind": "bulk", **ends, "flows": draw.randint(1, 3)},
        "stopped": {"kind": "bulk", **ends, **stop},
        "late": {"kind": "bulk", **ends, "start": _part(ms, draw.uniform(0.2, 0.98))},
        "sized": {"kind": "bulk", **ends, "size": size, "start": _part(ms, draw.uniform(0, 0.5))},
        "sized and stopped": {"kind": "bulk", **ends, "size": "10MB", **stop},
        "incast": incast | {"jitter": draw.choice(["0s", "100us"])},
        "persistent incast": incast | lasting,
        "poisson": {"kind": "poisson", "load": draw.choice([0.1, 0.3])}
        | {"sizes": draw.choice(["web-search", "2kB..200kB"])},
        "requests": {"kind": "request-response", "servers": others, "clients": to}
        | {"response": size, "connections": draw.randint(1, 2)},
        "periodic": periodic,
        "persistent periodic": periodic | lasting,
        "web": {"kind": "web", "servers": "h0..h3", "clients": "h4..h15", "sessions": 30}
        | {"think": "5ms"},
        "permutation": {"kind": "bulk", "from": [to, *others], "to": "permutation"},
        "udp": cbr,
        "on-off": cbr | {"pattern": "on-off", "on_mean": "1ms", "off_mean": "2ms", **stop},
    }
    found = kinds[kind]
    if found["kind"] != "udp" and draw.random() < 0.4:
        found["tcp"] = {"rto_min": draw.choice(["3ms", "200ms"]), "ecn": draw.random() < 0.5}
    return found


def _part(ms: int, share: float) -> str:
    return f"{round(1000 * ms * share)}us"
