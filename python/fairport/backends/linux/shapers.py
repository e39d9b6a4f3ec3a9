"""The kernel's own queue disciplines as the network: bridges, with `tc` at each of their ports.

This is how Mininet builds a network (`queue.implementation = "tc"`). A switch is a bridge, a link
is a veth pair, and a port sends at the rate of its link through a token bucket. A kernel's timers
can space packets at 100 Mbit/s, but not at 1 Gbit/s.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyroute2 import IPRoute

from fairport.backends.linux.namespaces import INTERFACE, Namespaces, inside, offloads_off
from fairport.errors import BackendError, ScenarioError
from fairport.scenario import Scenario
from fairport.scenario.queues.early_drop import Red
from fairport.scenario.queues.fifo import DropTail
from fairport.scenario.queues.scheduled import CoDel, FqCoDel, LinuxSfq
from fairport.scenario.shaper import Htb, TokenBucket

FASTEST_BPS = 200_000_000
"""Above this rate a kernel's token buckets cannot space packets: the line does not fill."""

# Without a [shaper]: a bucket of one packet, the token bucket that is most like a line.
_ONE_PACKET = "1600b"
_HOST_PACKETS = 1000
DISCIPLINES = {
    "tbf": "rate 1mbit burst 1600b limit 16kb",
    "htb": "",
    "pfifo": "limit 10",
    "bfifo": "limit 16kb",
    "red": "limit 60kb min 5kb max 15kb avpkt 1000",
    "sfq": "",
    "codel": "",
    "fq_codel": "",
    "netem": "delay 1ms",
}
"""Queue disciplines of Linux, each with an example of its settings."""


@dataclass(frozen=True)
class PortInterface:
    """A switch's port: an interface in the switches' namespace."""

    name: str
    """Its name in the tables."""
    number: int
    """Its number in the order of the topology's ports."""
    interface: str
    index: int
    is_to_host: bool
    rate_bps: int


def disciplines() -> dict[str, bool]:
    """Which of the queue disciplines the running kernel has. Needs root.

    Raises BackendError without `tc`.
    """
    _require_tc()
    spaces = Namespaces()
    spaces.make_switch()
    try:
        with inside(spaces.switch):
            return {name: _is_there(f"{name} {one}") for name, one in DISCIPLINES.items()}
    finally:
        spaces.remove()


def _is_there(discipline: str) -> bool:
    is_there = not _try(f"qdisc add dev lo root handle 1: {discipline}")
    if is_there:
        _try("qdisc del dev lo root")
    return is_there


def check(scenario: Scenario, layout: Mapping[str, Any]) -> None:
    """Raises ScenarioError for a network that bridges with `tc` cannot form."""

    def refusal(field: str, problem: str, remedy: str) -> ScenarioError:
        return ScenarioError(problem, file=scenario.where(field), field=field, remedy=remedy)

    _leaf(scenario)
    names = [node["name"] for node in layout["nodes"] if not node["is_host"]]
    between = [link for link in layout["links"] if not _hosts_of(link, layout)]
    if len(between) >= len(names):
        raise refusal(
            "topology.kind",
            "has more than one path between two switches, and bridges allow only one",
            'use a tree, such as "two-switch", or queue.implementation = "switch"',
        )
    needing_netem = {
        "link.delay": any(link["delay_ps"] for link in layout["links"]),
        "host.jitter": scenario.host.jitter,
        "host.interrupt_interval": scenario.host.interrupt_interval,
        "loss": scenario.loss,
    }
    if asked := [field for field, is_asked in needing_netem.items() if is_asked]:
        raise refusal(
            asked[0],
            "needs netem at the ports, which this backend does not use",
            'leave it out, or use queue.implementation = "switch"',
        )
    rate = max(scenario.shaped_bps(link["rate_bps"]) for link in layout["links"])
    if rate > FASTEST_BPS:
        raise refusal(
            "link.rate",
            f"is above {FASTEST_BPS // 10**6} Mbit/s, where the kernel's token buckets no longer"
            " space packets",
            'use "100Mbps", or queue.implementation = "switch"',
        )


def build(spaces: Namespaces, scenario: Scenario, layout: Mapping[str, Any]) -> list[PortInterface]:
    """Joins the hosts' interfaces with bridges, and gives each port its queue discipline.

    Raises BackendError without `tc`, and for a discipline that the kernel lacks.
    """
    _require_tc()
    nodes = layout["nodes"]
    bridges: dict[int, int] = {}
    ports: list[PortInterface] = []
    hosts = {host.number: host for host in spaces.hosts}
    host_numbers = [number for number, node in enumerate(nodes) if node["is_host"]]
    with inside(spaces.switch), IPRoute() as route:
        for number, node in enumerate(nodes):
            if not node["is_host"]:
                route.link("add", ifname=f"b{number}", kind="bridge", br_stp_state=0)
                (bridges[number],) = route.link_lookup(ifname=f"b{number}")
                route.link("set", index=bridges[number], state="up")
        for number, link in enumerate(layout["links"]):
            ends = list(zip(link["ends"], link["ports"], strict=True))
            at_host = _hosts_of(link, layout)
            if at_host:
                host = hosts.get(host_numbers.index(at_host[0]))
                if host is None:
                    continue
                names = {node: f"p{host.number}" for node, _ in ends if node not in at_host}
            else:
                names = {
                    node: f"l{number}{side}" for (node, _), side in zip(ends, "ab", strict=True)
                }
                first, second = names.values()
                route.link("add", ifname=first, kind="veth", peer=second)
            for node, port in ends:
                if node in at_host:
                    continue
                (index,) = route.link_lookup(ifname=names[node])
                offloads_off(names[node])
                route.link("set", index=index, master=bridges[node], state="up")
                rate = scenario.shaped_bps(link["rate_bps"])
                name = layout["ports"][port]
                ports.append(PortInterface(name, port, names[node], index, bool(at_host), rate))
    for port in ports:
        with inside(spaces.switch):
            _run(scenario, _commands(scenario, port.interface, port.rate_bps, _leaf(scenario)))
    if scenario.shaper is None or scenario.shaper.hosts:
        for host in spaces.hosts:
            with inside(host.namespace):
                leaf = f"pfifo limit {_HOST_PACKETS}"
                _run(scenario, _commands(scenario, INTERFACE, int(scenario.link.rate), leaf))
    return ports


def _hosts_of(link: Mapping[str, Any], layout: Mapping[str, Any]) -> list[int]:
    return [node for node in link["ends"] if layout["nodes"][node]["is_host"]]


def _leaf(scenario: Scenario) -> str:
    """The discipline of the scenario's `[queue]` in the words of `tc`."""
    queue = scenario.sized_queue()
    limit = int(queue.limit)
    packets = queue.limit.in_packets
    if isinstance(queue, DropTail):
        return f"{'pfifo' if packets else 'bfifo'} limit {limit}"
    if isinstance(queue, Red) and not packets and not queue.min.in_packets:
        return (
            f"red limit {limit} min {int(queue.min)} max {int(queue.max)}"
            f" probability {queue.max_p:g} avpkt 1000{' ecn' if queue.ecn else ''}"
        )
    if isinstance(queue, LinuxSfq) and packets:
        sizes = f"depth {queue.depth} divisor {queue.divisor} flows {queue.flows}"
        perturb = f"perturb {int(queue.perturb) / 1e12:g}"
        return f"sfq limit {limit} {sizes} {perturb}{_quantum(queue)}"
    if isinstance(queue, CoDel | FqCoDel) and packets:
        ecn = "ecn" if queue.ecn else "noecn"
        times = f"target {int(queue.target) / 1e6:g}us interval {int(queue.interval) / 1e6:g}us"
        if isinstance(queue, CoDel):
            return f"codel limit {limit} {times} {ecn}"
        return f"fq_codel limit {limit} {times} {ecn} flows {queue.queues}{_quantum(queue)}"
    raise ScenarioError(
        "has no counterpart in `tc` with these limits",
        file=scenario.where("queue.kind"),
        field="queue.kind",
        value=queue.kind,
        remedy='use "drop-tail", "red" in bytes, "linux-sfq", "codel" or "fq-codel" in packets,'
        ' or queue.implementation = "switch"',
    )


def _quantum(queue: LinuxSfq | FqCoDel) -> str:
    """Without one, the kernel takes a packet of the MTU."""
    return "" if queue.quantum is None else f" quantum {int(queue.quantum)}"


def _commands(scenario: Scenario, interface: str, rate_bps: int, leaf: str) -> list[str]:
    """The `tc` commands for one port."""
    shaper = scenario.shaper
    rate = scenario.shaped_bps(rate_bps)
    at = f"dev {interface}"
    if isinstance(shaper, TokenBucket):
        burst = f"rate {rate}bit burst {int(shaper.burst)}b"
        if leaf.startswith("bfifo"):
            return [f"qdisc add {at} root handle 1: tbf {burst} {leaf.partition(' ')[2]}"]
        return [
            f"qdisc add {at} root handle 1: tbf {burst} limit 10mb",
            f"qdisc add {at} parent 1:1 handle 10: {leaf}",
        ]
    bursts = f"burst {_ONE_PACKET} cburst {_ONE_PACKET}"
    if isinstance(shaper, Htb):
        bursts = f"burst {int(shaper.burst)}b cburst {int(shaper.cburst)}b"
    return [
        f"qdisc add {at} root handle 1: htb default 1",
        f"class add {at} parent 1: classid 1:1 htb rate {rate}bit {bursts}",
        f"qdisc add {at} parent 1:1 handle 10: {leaf}",
    ]


def _run(scenario: Scenario, commands: Sequence[str]) -> None:
    for command in commands:
        problem = _try(command)
        if problem:
            raise BackendError(
                f"this kernel does not take `tc {command}`: {problem}",
                file=scenario.where("queue"),
                field="queue",
                remedy='see `fairport doctor`, or use queue.implementation = "switch"',
            )


def _require_tc() -> None:
    if shutil.which("tc") is None:
        raise BackendError("needs `tc`", remedy="install iproute2")


def _try(command: str) -> str:
    """Runs `tc` in the present namespace; returns its error message, empty if it succeeded."""
    words = ["tc", *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    # killed, it says nothing
    return (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]
