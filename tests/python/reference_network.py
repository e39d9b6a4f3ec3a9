"""A second model of Fairport's network, small, slow and independent, to compare with.

It is written from docs/reference/ (model, queues, topologies, workloads, shapers, tables) and the
sources that these pages name, not from the engine. It has one event for each thing that happens,
in whole picoseconds, looks for everything by search, and keeps every packet. It knows no TCP: it
is given the packets that hosts sent.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import reference_early_drops as early_drops
import reference_queues as queues
from fairport.scenario import Scenario
from reference_queues import Packet, Queue, number_of

# Of one instant, if departures come first: a line becomes free, then packets arrive.
LINE, ARRIVAL = 0, 1
PS_PER_S = 10**12
FINE = 2**32
PER_BILLION = 10**9


@dataclass
class Bucket:
    """Tokens of a bucket as time, as in sch_tbf and sch_htb."""

    rate: int
    burst: int
    tokens: int = field(init=False)
    since: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.depth = self.time(self.burst)

    def time(self, size: int) -> int:
        return size * 8 * PS_PER_S // self.rate

    def at(self, now: int) -> int:
        return min(self.tokens + now - self.since, self.depth)

    def wait(self, now: int, needed: int) -> int:
        return max(0, needed - self.at(now))

    def take(self, now: int, size: int) -> None:
        self.tokens = self.at(now) - self.time(size)
        self.since = now


class Shaper:
    """Token buckets before a line: `wait` is how long the next packet must wait for tokens."""

    def __init__(self, config: Any) -> None:
        self.needs_all = config.kind == "tbf"
        bursts = [config.burst] if self.needs_all else [config.burst, config.cburst]
        self.buckets = [Bucket(int(config.rate), int(burst)) for burst in bursts]

    def wait(self, now: int, size: int) -> int:
        return max(b.wait(now, b.time(size) if self.needs_all else 0) for b in self.buckets)

    def take(self, now: int, size: int) -> None:
        for bucket in self.buckets:
            bucket.take(now, size)


@dataclass
class Row:
    """What became of one packet at one output port."""

    time: int
    port: str
    ingress: str
    flow: int
    seq: int
    size: int
    queue_bytes: int
    """In the buffer when it arrived."""
    port_arrival: int
    ingress_arrival: int
    flow_arrival: int
    port_accepted: int
    is_backward: bool
    fate: str = "waiting"
    reason: str | None = None
    depart: int | None = None
    dropped_at: int | None = None
    marked_at: int | None = None


@dataclass
class Port:
    """An output port: what is queued, and the line behind it."""

    name: str
    byte_time: int
    """Of the line, in parts of a picosecond (`FINE`)."""
    latency: int
    """From the last bit's departure to the decision of the next node."""
    queue: Queue
    shaper: Shaper | None = None
    ingresses: int = 1
    losses: list[Any] = field(default_factory=list)
    sending: Packet | None = None
    chosen: Packet | None = None
    """A packet that waits for tokens."""
    remainder: int = 0
    last_first: int = -1
    """The ingress port that went first at the last tie."""
    arrivals: int = 0
    accepted: int = 0
    accepted_bytes: int = 0
    by_ingress: Counter[str] = field(default_factory=Counter)
    by_flow: Counter[tuple[int, bool]] = field(default_factory=Counter)
    waits_since: int | None = None
    """Since when its packet waits for tokens."""
    sends_until: int = 0
    """When the last packet that it began to send has left, or will have."""
    busy: list[tuple[int, int]] = field(default_factory=list)
    """When it sent, or waited for tokens."""
    occupancy: list[tuple[int, int, int]] = field(default_factory=list)
    """Time, bytes and packets in the buffer, after each change."""


class Network:
    """Runs `sent` through the network of a scenario; then `rows` has every packet at every port.

    `sent` are the packets with the times at which they reach their host's port. What is random is
    taken from the run: `chosen` says by port and arrival whether the packet was chosen to be
    dropped or marked. `draws` has the probability of each such draw, with its outcome.
    """

    def __init__(
        self,
        scenario: Scenario,
        sent: Iterable[tuple[int, Packet]],
        clocks: Mapping[str, float] | None = None,
        chosen: Mapping[str, list[bool]] | None = None,
    ) -> None:
        self.scenario = scenario
        self.chosen = chosen or {}
        self.draws: list[tuple[float, bool]] = []
        self.until = int(scenario.duration)
        self.rows: list[Row] = []
        self.row_of: dict[tuple[int, str], Row] = {}
        self.delivered: list[tuple[int, Packet]] = []
        self.events: list[tuple[int, int, int, str, Packet | None]] = []
        self.number = count()
        self.ports = self._build(scenario, clocks or {})
        for time, packet in sent:
            self._at(time, ARRIVAL, packet.path[0], packet)
        self._run()

    # Construction

    def _build(self, scenario: Scenario, clocks: Mapping[str, float]) -> dict[str, Port]:
        graph: Any = scenario.topology
        switches, degree = set(graph.switches), Counter[str]()
        ports: dict[str, Port] = {}
        self.peer: dict[str, str] = {}
        for link in graph.links:
            names = []
            for end in link.ends:
                names.append(f"{end}:{degree[end]}")
                degree[end] += 1
            rate = int(link.rate if link.rate is not None else scenario.link.rate)
            delay = int(link.delay if link.delay is not None else scenario.link.delay)
            for name, other in zip(names, reversed(names), strict=True):
                to_switch = node(other) in switches
                host = scenario.host
                after = int(scenario.switch.processing_delay if to_switch else host.delay)
                queue = self._queue(link, name) if node(name) in switches else host_queue(scenario)
                clock = PER_BILLION + round(1000 * clocks.get(name, 0))
                byte_time = 8 * PS_PER_S * PER_BILLION * FINE // (rate * clock)
                least = 0 if scenario.switch.departure_first else 1
                if isinstance(queue, early_drops.RandomQueue):
                    queue.byte_time_ps = Fraction(8 * PS_PER_S, rate)
                ports[name] = Port(name, byte_time, max(delay + after, least), queue)
                self.peer[name] = other
        for port in ports.values():
            is_switch = node(port.name) in switches
            port.ingresses = degree[node(port.name)]
            if scenario.shaper is not None and (is_switch or scenario.shaper.hosts):
                port.shaper = Shaper(scenario.shaper)
            if isinstance(port.queue, queues.SharedBuffer):
                mates = [p.queue for p in ports.values() if node(p.name) == node(port.name)]
                port.queue.ports = mates
            port.losses = [
                loss
                for loss in scenario.loss
                if port.name in loss.at or ("all" in loss.at and is_switch)
            ]
        return ports

    def _queue(self, link: Any, port: str) -> Queue:
        config: Any = self.scenario.queue
        limit = config.limit if link.limit is None else link.limit

        def drop(packet: Packet, reason: str) -> None:
            self._dropped(packet, port, reason)

        frame = int(self.scenario.link.mtu) + (18 if self._framed else 0)
        kind = config.kind
        if getattr(config, "variant", None) == "linux":
            kind = "linux-red"
        queue: Any = KINDS[kind](limit, drop)
        for name in type(config).model_fields:
            if name not in ("kind", "limit", "quantum"):
                setattr(queue, name, getattr(config, name))
        if hasattr(config, "quantum"):
            queue.quantum = int(config.quantum or frame)
        if hasattr(config, "count_in_service"):
            queue.counts_in_service = config.count_in_service
        if hasattr(config, "placed"):
            places = {host: n for n, hosts in enumerate(config.placed) for host in hosts}
            queue.bucket = lambda packet: places[node(packet.path[0])]
        queue.largest = frame
        return queue  # type: ignore[no-any-return]

    @property
    def _framed(self) -> bool:
        return self.scenario.link.framing == "ethernet"

    # Events

    def _at(self, time: int, rank: int, port: str, packet: Packet | None = None) -> None:
        if time <= self.until:
            if rank == LINE and not self.scenario.switch.departure_first:
                rank = ARRIVAL + 1
            heapq.heappush(self.events, (time, rank, next(self.number), port, packet))

    def _run(self) -> None:
        while self.events:
            time, rank = self.events[0][:2]
            of_instant = []
            while self.events and self.events[0][:2] == (time, rank):
                of_instant.append(heapq.heappop(self.events))
            if rank != ARRIVAL:
                for *_, name, packet in of_instant:
                    self._line_free(time, self.ports[name], packet)
                continue
            together: dict[str, list[Packet]] = defaultdict(list)
            for *_, name, packet in of_instant:
                assert packet is not None
                if name:
                    together[name].append(packet)
                else:
                    self.delivered.append((time, packet))
            for name, packets in together.items():
                self._arrive(time, self.ports[name], packets)

    def _arrive(self, now: int, port: Port, packets: list[Packet]) -> None:
        self.now = now
        for packet in packets:
            hop = packet.path.index(port.name)
            packet.ingress = self.peer[packet.path[hop - 1]] if hop else port.name
        for packet in self._arbitrated(port, packets):
            packet.arrived, packet.marked = now, False
            port.arrivals += 1
            port.by_ingress[packet.ingress] += 1
            port.by_flow[packet.key] += 1
            row = Row(
                now,
                port.name,
                packet.ingress,
                packet.flow,
                packet.seq,
                packet.size,
                self._held(port)[0],
                port.arrivals,
                port.by_ingress[packet.ingress],
                port.by_flow[packet.key],
                port.accepted,
                not packet.is_data,
            )
            self.rows.append(row)
            self.row_of[id(packet), port.name] = row
            if isinstance(port.queue, early_drops.RandomQueue):
                self._inform(port, port.queue)
            lost = any(is_lost(loss, port.arrivals) for loss in port.losses)
            reason = "loss" if lost else port.queue.admit(now, packet)
            if reason is not None:
                self._dropped(packet, port.name, reason)
                continue
            port.accepted += 1
            port.accepted_bytes += packet.size
            self._note(now, port)
            if packet.marked and not isinstance(port.queue, queues.SharedBuffer):
                row.marked_at = now
            self._next(now, port)
            self._note(now, port)

    def _inform(self, port: Port, queue: early_drops.RandomQueue) -> None:
        """Tells a discipline what it needs for an arrival: the line's time, and the draw."""
        fine = port.remainder + sum(packet.wire * port.byte_time for packet in queue.waiting)
        queue.free_at = port.sends_until + fine // FINE

        def is_chosen(p: float) -> bool:
            outcome = self.chosen[port.name][port.arrivals - 1]
            self.draws.append((p, outcome))
            return outcome

        queue.is_chosen = is_chosen

    def _arbitrated(self, port: Port, packets: list[Packet]) -> list[Packet]:
        rule = self.scenario.switch.arbitration
        first = port.last_first + 1 if rule == "round-robin" else 0
        packets = sorted(
            packets, key=lambda packet: (number_of(packet.ingress) - first) % port.ingresses
        )
        if len(packets) > 1:
            port.last_first = number_of(packets[0].ingress)
        return packets

    def _dropped(self, packet: Packet, port: str, reason: str) -> None:
        row = self.row_of[id(packet), port]
        row.fate, row.reason, row.dropped_at = "dropped", reason, self.now

    def _line_free(self, now: int, port: Port, packet: Packet | None) -> None:
        """The line has sent `packet`, or the tokens for the next one have come (None)."""
        if packet is not None:
            assert packet is port.sending
            port.sending = port.queue.in_service = None
            row = self.row_of[id(packet), port.name]
            row.depart, row.fate = now, "forwarded" if row.marked_at is None else "marked"
        self._next(now, port, late=0 if self.scenario.switch.departure_first else 1)
        self._note(now, port)

    def _next(self, now: int, port: Port, late: int = 0) -> None:
        """Begins to send, if the line is free and there is a packet with its tokens.

        A discipline chooses the packet `late`.
        """
        self.now = now + late
        if port.sending is not None:
            return
        queue, packet = port.queue, port.chosen
        if packet is None and queue.decides_at_dequeue:
            packet = port.chosen = queue.dequeue(self.now)
            if packet is not None and packet.marked:
                self.row_of[id(packet), port.name].marked_at = self.now
        elif packet is None and queue.waiting:
            packet = queue.waiting[0]
        if packet is None:
            return
        if port.shaper is not None:
            wait = port.shaper.wait(now, packet.size)
            if wait:
                if port.waits_since is None:
                    port.waits_since = now
                    self._at(now + wait, LINE, port.name)
                return
            port.shaper.take(now, packet.size)
        if not queue.decides_at_dequeue:
            queue.dequeue(now)
        begun = now if port.waits_since is None else port.waits_since
        fine = packet.wire * port.byte_time + port.remainder
        end = now + fine // FINE
        port.remainder = fine % FINE
        port.busy.append((begun, end))
        port.sending, port.chosen, port.waits_since, port.sends_until = packet, None, None, end
        queue.in_service = packet
        self._at(end, LINE, port.name, packet)
        hop = packet.path.index(port.name) + 1
        at = packet.path[hop] if hop < len(packet.path) else ""
        self._at(end + port.latency, ARRIVAL, at, packet)

    # Results

    def _held(self, port: Port) -> tuple[int, int]:
        packets = port.queue.packets()
        return sum(packet.size for packet in packets), len(packets)

    def _note(self, now: int, port: Port) -> None:
        port.occupancy.append((now, *self._held(port)))


def node(port: str) -> str:
    return port.rpartition(":")[0]


def is_lost(loss: Any, number: int) -> bool:
    return number % loss.every == 0 if loss.kind == "periodic" else number in loss.packets


def host_queue(scenario: Scenario) -> Queue:
    queue = Queue(InPackets(int(scenario.host.queue)))
    queue.counts_in_service = True
    return queue


class InPackets(int):
    in_packets = True


KINDS = {
    "drop-tail": queues.Queue,
    "step-marking": queues.StepMarking,
    "weighted-tail-drop": queues.WeightedTailDrop,
    "strict-priority": queues.StrictPriority,
    "port-fair": queues.PortFair,
    "drr": queues.Drr,
    "sfq": queues.Sfq,
    "linux-sfq": queues.LinuxSfq,
    "shared-buffer": queues.SharedBuffer,
    "codel": queues.CoDel,
    "fq-codel": queues.FqCoDel,
    "red": early_drops.Red,
    "linux-red": early_drops.LinuxRed,
    "rio": early_drops.Rio,
    "rio-ps": early_drops.RioPs,
    "pie": early_drops.Pie,
}
