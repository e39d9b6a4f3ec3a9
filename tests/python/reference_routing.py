"""Topologies and routing of the second model, from docs/reference/topologies.md and what it names.

A network is its joined ports. Paths are found by search; hashes are computed anew.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Path = tuple[str, ...]
"""Output ports in their order."""
MASK = 2**64 - 1


def node(port: str) -> str:
    return port.rpartition(":")[0]


def joined(topology: Any) -> set[frozenset[str]]:
    """The pairs of nodes that a topology joins by a link, by the pictures and rules of the page."""
    t = topology
    pairs: list[tuple[str, str]] = []
    if t.kind == "fat-tree":
        half = t.k // 2
        for pod in range(t.k):
            for a in range(half):
                pairs += [(f"agg{pod}.{a}", f"core{a * half + i}") for i in range(half)]
                pairs += [(f"agg{pod}.{a}", f"edge{pod}.{e}") for e in range(half)]
            for e in range(half):
                first = (pod * half + e) * half
                pairs += [(f"edge{pod}.{e}", f"h{first + i}") for i in range(half)]
    elif t.kind == "leaf-spine":
        for leaf in range(t.leaves):
            pairs += [(f"leaf{leaf}", f"spine{s}") for s in range(t.spines)]
            hosts = range(leaf * t.hosts_per_leaf, (leaf + 1) * t.hosts_per_leaf)
            pairs += [(f"leaf{leaf}", f"h{h}") for h in hosts]
    elif t.kind == "three-tier":
        for a in range(t.aggs):
            pairs.append(("core0", f"agg{a}"))
            for e in range(t.edges_per_agg):
                pairs.append((f"agg{a}", f"edge{a}.{e}"))
                first = (a * t.edges_per_agg + e) * t.hosts_per_edge
                pairs += [(f"edge{a}.{e}", f"h{first + i}") for i in range(t.hosts_per_edge)]
    elif t.kind == "vl2":
        pairs += [(f"int{i}", f"agg{a}") for i in range(t.d_a // 2) for a in range(t.d_i)]
        for tor in range(t.d_a * t.d_i // 4):
            pair = tor % (t.d_i // 2)
            pairs += [(f"tor{tor}", f"agg{2 * pair + i}") for i in (0, 1)]
            hosts = range(tor * t.hosts_per_rack, (tor + 1) * t.hosts_per_rack)
            pairs += [(f"tor{tor}", f"h{h}") for h in hosts]
    elif t.kind == "bcube":
        for h in range(t.n ** (t.k + 1)):
            for level in range(t.k + 1):
                low, high = h % t.n**level, h // t.n ** (level + 1)
                pairs.append((f"h{h}", f"sw{level}.{high * t.n**level + low}"))
    return {frozenset(pair) for pair in pairs}


class Graph:
    """`nodes` in their order, with the links that work."""

    def __init__(
        self, nodes: Sequence[str], links: Iterable[tuple[str, str]], hosts_forward: bool
    ) -> None:
        self.nodes, self.hosts_forward = nodes, hosts_forward
        self.ways_of: dict[str, list[tuple[str, str]]] = {name: [] for name in nodes}
        self.peer: dict[str, str] = {}
        for one, other in links:
            self.peer |= {one: other, other: one}
        for port in sorted(self.peer, key=lambda port: int(port.rpartition(":")[2])):
            self.ways_of[node(port)].append((port, node(self.peer[port])))
        self.hosts = [name for name in nodes if name[0] == "h"]
        self.known: dict[str, dict[str, int]] = {}
        self.height = self.distances(self.hosts)

    def distances(self, starts: Sequence[str]) -> dict[str, int]:
        """Links to the nearest of some nodes, by nodes that forward."""
        found, reached = dict.fromkeys(starts, 0), list(starts)
        for here in reached:
            if found[here] and here in self.hosts and not self.hosts_forward:
                continue
            for _, there in self.ways_of[here]:
                if there not in found:
                    found[there] = found[here] + 1
                    reached.append(there)
        return found

    def ways(self, here: str, to: str) -> list[tuple[str, str]]:
        """The ports that begin a shortest path, and the nodes behind them."""
        if to not in self.known:
            self.known[to] = self.distances([to])
        left = self.known[to]
        return [way for way in self.ways_of[here] if left.get(way[1], 10**9) == left[here] - 1]

    def walk(self, src: str, dst: str, choose: Callable[[str, int], int]) -> Path:
        path, here = [], src
        while here != dst:
            ways = self.ways(here, dst)
            port, here = ways[choose(here, len(ways))]
            path.append(port)
        return tuple(path)

    def all(self, src: str, dst: str) -> list[Path]:
        if src == dst:
            return [()]
        return [
            (port, *rest) for port, there in self.ways(src, dst) for rest in self.all(there, dst)
        ]

    def back(self, path: Path) -> Path:
        return tuple(self.peer[port] for port in reversed(path))


def split_mix(x: int) -> int:
    """One step of Vigna's splitmix64.c."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


FiveTuple = tuple[int, int, int, int, int]
"""Addresses, protocol, ports."""


def choice(salt: int, tuple_: FiveTuple, ways: int) -> int:
    source, destination, protocol, source_port, destination_port = tuple_
    words = source << 32 | destination
    ports = source_port << 40 | destination_port << 8 | protocol
    return split_mix(split_mix(split_mix(salt) ^ words) ^ ports) * ways >> 64


def address(topology: Any, host: int) -> int:
    if topology.kind != "fat-tree":
        return int(ipaddress.ip_address("10.0.0.1")) + host
    half = topology.k // 2
    edge, place = divmod(host, half)
    pod, edge = divmod(edge, half)
    return int(ipaddress.ip_address(f"10.{pod}.{edge}.{place + 2}"))


def paths(
    routing: Any, topology: Any, graph: Graph, seed: int, ends: tuple[int, int], flow: FiveTuple
) -> set[Path]:
    """All paths that a packet from one host to another may take."""
    src, dst = (graph.hosts[number] for number in ends)
    if routing.kind == "destination-suffix":

        def by_suffix(here: str, ways: int) -> int:
            return ends[1] // ways ** max(graph.height[here] - 1, 0) % ways

        return {graph.walk(src, dst, by_suffix)}
    if routing.kind == "ecmp" and routing.hash in ("seeded", "shared"):

        def by_hash(here: str, ways: int) -> int:
            own = graph.nodes.index(here) if routing.hash == "seeded" else 0
            return choice(seed ^ own << 32, flow, ways)

        return {graph.walk(src, dst, by_hash)}
    if routing.kind == "ecmp":
        every = graph.all(src, dst)
        return {every[zlib.crc32(struct.pack("<QQHHH", *flow)) % len(every)]}
    if routing.kind == "spray":
        return set(graph.all(src, dst))
    if routing.kind == "two-level":
        return {two_level(topology.k, graph, ends)}
    switches = [name for name in graph.nodes if name not in graph.hosts and name in graph.height]
    top = max(graph.height[name] for name in switches)
    cores = [name for name in switches if graph.height[name] == top]
    if routing.kind == "spanning-tree":
        up, down = ([*graph.walk(host, cores[0], lambda *_: 0)] for host in (src, dst))
        while up and down and up[-1] == down[-1]:
            up.pop(), down.pop()
        return {tuple(up) + graph.back(tuple(down))}
    return equal_length(routing, graph, seed, (src, dst), flow, cores)


def two_level(k: int, graph: Graph, ends: tuple[int, int]) -> Path:
    """Al-Fares 2008, 3.3: the suffix of the address counts from 2 there, and from 0 here."""
    half = k // 2
    (pod, edge), (to_pod, to_edge) = (divmod(end // half, half) for end in ends)
    place = ends[1] % half
    down = (f"edge{to_pod}.{to_edge}:{place}",)
    up = (place + edge) % half
    if (pod, edge) == (to_pod, to_edge):
        return (f"h{ends[0]}:0", *down)
    first = (f"h{ends[0]}:0", f"edge{pod}.{edge}:{half + up}")
    if pod == to_pod:
        return (*first, f"agg{pod}.{up}:{to_edge}", *down)
    port = f"agg{pod}.{up}:{half + (place + up) % half}"
    core = node(graph.peer[port])
    far = node(graph.peer[f"{core}:{to_pod}"])
    return (*first, port, f"{core}:{to_pod}", f"{far}:{to_edge}", *down)


def equal_length(
    routing: Any, graph: Graph, seed: int, ends: tuple[str, str], flow: FiveTuple, cores: list[str]
) -> set[Path]:
    if routing.core is not None:
        cores = [cores[routing.core]]
    if routing.per == "packet":
        return {
            up + graph.back(down)
            for core in cores
            for up in graph.all(ends[0], core)
            for down in graph.all(ends[1], core)
        }
    core = cores[choice(seed, flow, len(cores))]

    def by_hash(here: str, ways: int) -> int:
        return choice(seed ^ (graph.nodes.index(here) + 1) << 32, flow, ways)

    up, down = (graph.walk(host, core, by_hash) for host in ends)
    return {up + graph.back(down)}
