"""Queue disciplines of the second model (`reference_network`), from docs/reference/queues.md and
the papers, RFCs and kernel sources that it names."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(eq=False)
class Packet:
    """A packet on its way; `ingress` to `queue_bytes` are about its present port."""

    flow: int
    seq: int
    size: int
    """What a buffer counts."""
    wire: int
    """What the line sends."""
    path: list[str]
    """The output ports to pass."""
    is_data: bool
    can_mark: bool = False
    is_short: bool = False
    """Whether the classifier counts it to a short flow."""
    ingress: str = ""
    arrived: int = 0
    marked: bool = False
    """At its present port."""

    @property
    def key(self) -> tuple[int, bool]:
        """Its flow: each direction of a connection is one."""
        return self.flow, self.is_data


def number_of(port: str) -> int:
    return int(port.rpartition(":")[2])


Drop = Callable[[Packet, str], None]


class Queue:
    """First in, first out, without a limit: what the disciplines share.

    `admit` returns the reason for which an arriving packet is dropped, or None. `in_service` is
    the packet that the line is sending, where it still takes its place. Packets that are dropped
    later go to `drop`.
    """

    counts_in_service = False
    decides_at_dequeue = False
    """Whether the packet that goes next leaves the buffer before it has its tokens."""
    largest: int
    """A full frame."""

    def __init__(self, limit: Any, drop: Drop = lambda packet, reason: None) -> None:
        self.limit, self.in_packets, self.drop = int(limit), limit.in_packets, drop
        self.waiting: deque[Packet] = deque()
        self.in_service: Packet | None = None

    def packets(self) -> list[Packet]:
        """All packets that take a place."""
        sending = [self.in_service] if self.counts_in_service and self.in_service else []
        return [*sending, *self.waiting]

    def bytes(self) -> int:
        return sum(packet.size for packet in self.packets())

    def length(self, packets: Iterable[Packet], in_packets: bool | None = None) -> int:
        """In the unit of the limit."""
        in_packets = self.in_packets if in_packets is None else in_packets
        return sum(1 if in_packets else packet.size for packet in packets)

    def fits(self, packet: Packet) -> bool:
        return self.length([*self.packets(), packet]) <= self.limit

    def admit(self, now: int, packet: Packet) -> str | None:
        if not self.fits(packet):
            return "full"
        self.waiting.append(packet)
        return None

    def dequeue(self, now: int) -> Packet | None:
        return self.waiting.popleft() if self.waiting else None


class Scheduler(Queue):
    """Chooses the next packet when the line is free."""

    decides_at_dequeue = True


class StepMarking(Queue):
    """Drop-tail, and a mark if at least `mark_above` waits. Without `mark_above`: drop-tail."""

    mark_above: Any = None

    def admit(self, now: int, packet: Packet) -> str | None:
        before = self.packets()
        reason = super().admit(now, packet)
        if reason is None and self.mark_above is not None and packet.can_mark:
            packet.marked = self.length(before, self.mark_above.in_packets) >= self.mark_above
        return reason


class WeightedTailDrop(Queue):
    thresholds: list[float]

    def admit(self, now: int, packet: Packet) -> str | None:
        share = self.thresholds[min(int(packet.is_short), len(self.thresholds) - 1)]
        after = self.length([*self.packets(), packet])
        if after > self.limit:
            return "full"
        if after > self.limit * Fraction(share).limit_denominator(10**9):
            return "share"
        return super().admit(now, packet)


class StrictPriority(Scheduler):
    def admit(self, now: int, packet: Packet) -> str | None:
        same = [other for other in self.waiting if other.is_short == packet.is_short]
        if self.length([*same, packet]) > self.limit:
            return "full"
        self.waiting.append(packet)
        return None

    def dequeue(self, now: int) -> Packet | None:
        if not self.waiting:
            return None
        first = max(self.waiting, key=lambda packet: packet.is_short)  # the first of equals
        self.waiting.remove(first)
        return first


class PortFair(Scheduler):
    def admit(self, now: int, packet: Packet) -> str | None:
        kept = [*self.waiting]
        while self.length([*kept, packet]) > self.limit:
            held: dict[int, list[Packet]] = {number_of(other.ingress): [] for other in kept}
            for other in kept:
                held[number_of(other.ingress)].append(other)
            own = self.length([*held.pop(number_of(packet.ingress), []), packet])
            most = max(sorted(held), key=lambda port: self.length(held[port]), default=None)
            if most is None or self.length(held[most]) <= own:
                return "share"
            kept.remove(held[most][-1])
        for other in reversed([other for other in self.waiting if other not in kept]):
            self.drop(other, "pushed-out")
        self.waiting = deque([*kept, packet])
        return None


class Drr(Scheduler):
    """Shreedhar & Varghese 1995, with the longest queue's last packet as the one that is stolen."""

    quantum: int

    def __init__(self, limit: Any, drop: Drop) -> None:
        super().__init__(limit, drop)
        self.turns: deque[tuple[int, bool]] = deque()
        self.deficit: dict[tuple[int, bool], int] = {}
        self.has_turn = False

    def of(self, key: tuple[int, bool]) -> list[Packet]:
        return [packet for packet in self.waiting if packet.key == key]

    def admit(self, now: int, packet: Packet) -> str | None:
        kept = [*self.waiting]
        while self.length([*kept, packet]) > self.limit:
            held = {key: [other for other in kept if other.key == key] for key in self.turns}
            own = self.length([*held.pop(packet.key, []), packet], False)
            longest = max(held, key=lambda key: self.length(held[key], False), default=None)
            if longest is None or self.length(held[longest], False) <= own:  # the first of equals
                return "share"
            kept.remove(held[longest][-1])
        for other in reversed([other for other in self.waiting if other not in kept]):
            self.drop(other, "pushed-out")
            self.waiting.remove(other)
            if not self.of(other.key):
                self.has_turn = self.has_turn and self.turns[0] != other.key
                self.turns.remove(other.key)
        if packet.key not in self.turns:
            self.turns.append(packet.key)
            self.deficit[packet.key] = 0
        self.waiting.append(packet)
        return None

    def dequeue(self, now: int) -> Packet | None:
        while self.turns:
            key = self.turns[0]
            if not self.has_turn:
                self.deficit[key] += self.quantum
                self.has_turn = True
            first = self.of(key)[0]
            if first.size <= self.deficit[key]:
                self.deficit[key] -= first.size
                self.waiting.remove(first)
                if not self.of(key):
                    self.turns.popleft()
                    self.has_turn = False
                return first
            self.turns.rotate(-1)
            self.has_turn = False
        return None


class Sfq(Scheduler):
    """ns-2's sfq.cc; `bucket` gives a packet's bucket."""

    buckets: int
    bucket: Callable[[Packet], int]

    def __init__(self, limit: Any, drop: Drop) -> None:
        super().__init__(limit, drop)
        self.turns: deque[int] = deque()

    def admit(self, now: int, packet: Packet) -> str | None:
        bucket = self.bucket(packet)
        used = sum(self.bucket(other) == bucket for other in self.waiting)
        left = self.limit - len(self.waiting)
        if left <= 0:
            return "full"
        if used >= left // 2 or (left < self.buckets and used > self.limit // self.buckets):
            return "share"
        self.waiting.append(packet)
        if not used:
            self.turns.append(bucket)
        return None

    def dequeue(self, now: int) -> Packet | None:
        if not self.waiting:
            return None
        bucket = self.turns.popleft()
        first, *others = (packet for packet in self.waiting if self.bucket(packet) == bucket)
        self.waiting.remove(first)
        if others:
            self.turns.append(bucket)
        return first


class LinuxSfq(Scheduler):
    """net/sched/sch_sfq.c, for flows that do not share a queue."""

    quantum: int
    depth: int
    flows: int

    def __init__(self, limit: Any, drop: Drop) -> None:
        super().__init__(limit, drop)
        self.turns: deque[tuple[int, bool]] = deque()
        self.allot: dict[tuple[int, bool], int] = {}
        self.came: dict[tuple[int, bool], int] = {}  # when a queue came to its length
        self.changes = 0

    def of(self, key: tuple[int, bool]) -> list[Packet]:
        return [packet for packet in self.waiting if packet.key == key]

    def changed(self, key: tuple[int, bool]) -> None:
        self.changes += 1
        self.came[key] = self.changes

    def admit(self, now: int, packet: Packet) -> str | None:
        own = len(self.of(packet.key))
        if not own and len(self.turns) == min(self.flows, self.limit):
            return "share"
        if own == self.depth:
            return "share"
        self.waiting.append(packet)
        self.changed(packet.key)
        if not own:
            self.turns.append(packet.key)
            self.allot[packet.key] = self.quantum
        if len(self.waiting) <= self.limit:
            return None
        longest = max(self.turns, key=lambda key: (len(self.of(key)), self.came[key]))
        last = self.of(longest)[-1]
        self.waiting.remove(last)
        self.changed(longest)
        if last is packet:
            return "share"
        self.drop(last, "pushed-out")
        return None

    def dequeue(self, now: int) -> Packet | None:
        if not self.waiting:
            return None
        while self.allot[self.turns[0]] <= 0:
            self.allot[self.turns[0]] += self.quantum
            self.turns.rotate(-1)
        key = self.turns[0]
        first, *others = self.of(key)
        self.waiting.remove(first)
        self.changed(key)
        if others:
            self.allot[key] -= first.size
        else:
            self.turns.popleft()
        return first


class SharedBuffer(Scheduler, StepMarking):
    """`ports` are the queues of the same switch, this one among them."""

    alpha: float
    ports: list[Queue]

    def admit(self, now: int, packet: Packet) -> str | None:
        free = self.limit - sum(port.bytes() for port in self.ports)
        if packet.size > free:
            return "full"
        if self.bytes() >= free * Fraction(self.alpha):
            return "share"
        return super().admit(now, packet)

    def fits(self, packet: Packet) -> bool:
        return True


@dataclass
class CoDelState:
    """The pseudocode of RFC 8289, appendix A."""

    target: int
    interval: int
    ecn: bool
    take: Callable[[], Packet | None]
    """Takes the next packet out of the queue."""
    waiting: Callable[[], int]
    """What is left in the queue, to compare with `most`."""
    most: int
    drop: Callable[[Packet, str], None]
    first_above: int = 0
    next_drop: int = 0
    count: int = 0
    last_count: int = 0
    dropping: bool = False

    def next_packet(self, now: int) -> tuple[Packet | None, bool]:
        packet = self.take()
        if packet is None:
            self.first_above = 0
            return None, False
        if now - packet.arrived < self.target or self.waiting() <= self.most:
            self.first_above = 0
            return packet, False
        if self.first_above == 0:
            self.first_above = now + self.interval
            return packet, False
        return packet, now >= self.first_above

    def law(self, t: int) -> int:
        root = math.isqrt(self.count << 32)  # in units of 2^-16
        return t + (self.interval << 16) // root

    def removes(self, packet: Packet) -> bool:
        """Marks the packet, or drops it."""
        if self.ecn and packet.can_mark:
            packet.marked = True
            return False
        self.drop(packet, "early")
        return True

    def dequeue(self, now: int) -> Packet | None:
        packet, ok = self.next_packet(now)
        if self.dropping:
            if not ok:
                self.dropping = False
            while self.dropping and now >= self.next_drop:
                self.count += 1
                assert packet is not None
                if not self.removes(packet):
                    self.next_drop = self.law(self.next_drop)
                    return packet
                packet, ok = self.next_packet(now)
                if not ok:
                    self.dropping = False
                else:
                    self.next_drop = self.law(self.next_drop)
        elif ok:
            assert packet is not None
            if self.removes(packet):
                packet, ok = self.next_packet(now)
            self.dropping = True
            delta = self.count - self.last_count
            recent = now - self.next_drop < 16 * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.next_drop = self.law(now)
            self.last_count = self.count
        return packet


class CoDel(Scheduler):
    target: int
    interval: int
    ecn: bool
    state: CoDelState | None = None

    def dequeue(self, now: int) -> Packet | None:
        def take() -> Packet | None:
            return self.waiting.popleft() if self.waiting else None

        if self.state is None:
            self.state = CoDelState(
                self.target, self.interval, self.ecn, take, self.bytes, self.largest, self.drop
            )
        return self.state.dequeue(now)


class FqCoDel(Scheduler):
    """RFC 8290, for flows that do not share a queue."""

    target: int
    interval: int
    ecn: bool
    quantum: int

    def __init__(self, limit: Any, drop: Drop) -> None:
        super().__init__(limit, drop)
        self.new: deque[tuple[int, bool]] = deque()
        self.old: deque[tuple[int, bool]] = deque()
        self.credit: dict[tuple[int, bool], int] = {}
        self.states: dict[tuple[int, bool], CoDelState] = {}

    def of(self, key: tuple[int, bool]) -> list[Packet]:
        return [packet for packet in self.waiting if packet.key == key]

    def state(self, key: tuple[int, bool]) -> CoDelState:
        def take() -> Packet | None:
            if not self.of(key):
                return None
            first = self.of(key)[0]
            self.waiting.remove(first)
            return first

        if key not in self.states:
            self.states[key] = CoDelState(
                self.target,
                self.interval,
                self.ecn,
                take,
                lambda: sum(p.size for p in self.of(key)),
                self.largest,
                self.drop,
            )
        return self.states[key]

    def admit(self, now: int, packet: Packet) -> str | None:
        self.waiting.append(packet)
        if packet.key not in self.new and packet.key not in self.old:
            self.new.append(packet.key)
            self.credit[packet.key] = self.quantum
        while self.length(self.waiting) > self.limit:
            fattest = max([*self.new, *self.old], key=lambda key: self.length(self.of(key), False))
            half = self.length(self.of(fattest), False) // 2
            dropped: list[Packet] = []
            while (len(dropped) < 64 and self.length(dropped, False) < half) or not dropped:
                head = self.of(fattest)[0]
                self.waiting.remove(head)
                self.state(fattest).count += 1
                if head is packet:
                    return "share"
                dropped.append(head)
                self.drop(head, "pushed-out")
        return None

    def dequeue(self, now: int) -> Packet | None:
        while self.new or self.old:
            turns = self.new or self.old
            key = turns[0]
            if self.credit[key] <= 0:
                self.credit[key] += self.quantum
                turns.popleft()
                self.old.append(key)
                continue
            packet = self.state(key).dequeue(now)
            if packet is None:
                is_new = turns is self.new
                turns.popleft()
                if is_new:
                    self.old.append(key)
                continue
            self.credit[key] -= packet.size
            return packet
        return None
