"""Disciplines that drop at random, of the second model (`reference_network`).

From docs/reference/queues.md and what it names: Floyd & Jacobson 1993, ns-2's red.cc and rio.cc,
Linux 3.2's include/net/red.h, RFC 8033. They compute the probability with which each packet is
chosen. Whether it was chosen is the run's own outcome, which the tests compare with these
probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reference_queues import Packet, Queue


class RandomQueue(Queue):
    """`is_chosen` is asked about a packet with the probability that it is dropped or marked."""

    is_chosen: Callable[[float], bool]
    ecn: bool
    byte_time_ps: Fraction
    """Of the line, by its nominal rate."""
    free_at = 0
    """When the line will have sent all packets that it was given."""
    mean_packet: int


@dataclass
class Ramp:
    """The probability of an early drop by the average queue, and the gaps between drops."""

    least: float
    most: float
    max_p: float
    gentle: bool
    variant: str
    """`floyd-jacobson`, `ns2` for RED, or `rio`."""
    mean_packet: int
    """0 if the thresholds are in packets."""
    count: int = -1
    count_bytes: int = 0
    is_above: bool = False

    def restart(self) -> None:
        self.count = self.count_bytes = 0

    def end(self) -> float:
        return 2 * self.most if self.gentle else self.most

    def base(self, average: float) -> float:
        """By the average alone."""
        if average >= self.end():
            return 1
        if average >= self.most:
            return self.max_p + (1 - self.max_p) * (average / self.most - 1)
        return self.max_p * (average - self.least) / (self.most - self.least)

    def marks(self, average: float) -> bool:
        """Whether a packet that is chosen may be marked."""
        if self.variant == "ns2":
            return self.base(average) < 0.1
        return self.variant == "floyd-jacobson" or average < self.most

    def probability(self, average: float, held: int, size: int) -> float | None:
        """With which a packet is chosen; None if all are dropped."""
        waits = self.variant != "floyd-jacobson"
        if average < self.least or (waits and held <= 1):
            self.is_above = False
            return 0
        if self.variant != "ns2" and average >= self.end():
            return None
        self.count, self.count_bytes = self.count + 1, self.count_bytes + size
        if not self.is_above:
            self.is_above = True
            self.count, self.count_bytes = int(waits), size
            if waits:
                return 0
        p = self.base(average)
        scale = size / self.mean_packet if self.mean_packet else 1
        if not waits:
            p = min(p * scale, 1)
            return min(p / (1 - self.count * p), 1) if self.count * p < 1 else 1
        count = self.count_bytes // self.mean_packet if self.mean_packet else self.count
        if count * p < 1:
            return 0
        p = p / (2 - count * p) if count * p < 2 else 1
        return min(p * scale, 1) if p < 1 else 1  # what is certain is not scaled


class AverageQueue(RandomQueue):
    """What RED and RIO share."""

    weight: float
    gentle: bool

    def rested(self, average: float, now: int) -> float:
        """The average after the time in which the line was idle."""
        idle = max(now - self.free_at, 0) // int(self.mean_packet * self.byte_time_ps)
        return average * (1 - self.weight) ** idle

    def sample(self, average: float, now: int, held: int) -> float:
        """The average with one more sample."""
        average = self.rested(average, now)
        return average + self.weight * (held - average)

    def decide(self, now: int, packet: Packet, ramp: Ramp, average: float, held: int) -> str | None:
        p = ramp.probability(average, held, packet.size)
        if not self.fits(packet):
            ramp.restart()
            return "full"
        if p is None:
            ramp.restart()
            return "early"
        if self.is_chosen(p):
            ramp.restart()
            packet.marked = self.ecn and packet.can_mark and ramp.marks(average)
            if not packet.marked:
                return "early"
        self.waiting.append(packet)
        return None


class Red(AverageQueue):
    min: Any
    max: Any
    max_p: float
    variant: str
    ramp: Ramp | None = None
    average = 0.0

    def admit(self, now: int, packet: Packet) -> str | None:
        in_packets = self.min.in_packets
        if self.ramp is None:
            mean = 0 if in_packets else int(self.mean_packet)
            thresholds = float(self.min), float(self.max)
            self.ramp = Ramp(*thresholds, self.max_p, self.gentle, self.variant, mean)
        held = self.length(self.packets(), in_packets)
        self.average = self.sample(self.average, now, held)
        return self.decide(now, packet, self.ramp, self.average, held)


class Rio(AverageQueue):
    short_min: Any
    short_max: Any
    short_max_p: float
    long_min: Any
    long_max: Any
    long_max_p: float
    ramps: dict[bool, Ramp] | None = None

    def __init__(self, limit: Any, drop: Any) -> None:
        super().__init__(limit, drop)
        self.averages = {False: 0.0, True: 0.0}

    def threshold(self, value: Any) -> float:
        return float(value)

    @property
    def counts_packets(self) -> bool:
        return bool(self.short_min.in_packets)

    def admit(self, now: int, packet: Packet) -> str | None:
        if self.ramps is None:
            mean = 0 if self.counts_packets else int(self.mean_packet)
            ends = {
                True: (self.short_min, self.short_max, self.short_max_p),
                False: (self.long_min, self.long_max, self.long_max_p),
            }
            self.ramps = {
                is_short: Ramp(
                    self.threshold(least), self.threshold(most), p, self.gentle, "rio", mean
                )
                for is_short, (least, most, p) in ends.items()
            }
        held = {}
        for is_short in (False, True):
            counted = [other for other in self.packets() if other.is_short or not is_short]
            held[is_short] = self.length(counted, self.counts_packets)
            average = self.averages[is_short]
            if packet.is_short or not is_short:
                self.averages[is_short] = self.sample(average, now, held[is_short])
            else:
                self.averages[is_short] = self.rested(average, now)
        own = packet.is_short
        return self.decide(now, packet, self.ramps[own], self.averages[own], held[own])


class RioPs(Rio):
    """The same, with thresholds that are shares of the limit."""

    def threshold(self, value: Any) -> float:
        return float(int(self.limit * Fraction(value).limit_denominator(10**9)))

    @property
    def counts_packets(self) -> bool:
        return self.in_packets


class LinuxRed(RandomQueue):
    """Integers. A number is drawn once per gap; p is the chance that it is reached now."""

    min: int
    max: int
    max_p: float
    weight: float
    average = 0
    count = -1
    passed = -1
    """The number drawn is greater."""
    dropped_at = 0

    def admit(self, now: int, packet: Packet) -> str | None:
        weight_log = math.ceil(-math.log2(self.weight))
        mask = 2 ** math.floor(1 - math.log2(self.max_p / (self.max - self.min))) - 1
        if not self.packets() and now > self.free_at:
            self.average = self.decayed(now, weight_log)
        else:
            self.average += self.bytes() - (self.average >> weight_log)
        if self.average < self.min << weight_log:
            self.count = -1
            return super().admit(now, packet)
        chosen = False
        if self.average >= self.max << weight_log:
            self.count, chosen = -1, True
        else:
            self.count += 1
            if self.count:
                reached = (self.average - (self.min << weight_log) >> weight_log) * self.count
                chosen = self.is_chosen(self.chance(reached, mask))
            if chosen or not self.count:
                self.count, self.passed = 0, -1
        if chosen and not (self.ecn and packet.can_mark):
            self.dropped_at = now
            return "early"
        packet.marked = chosen
        return super().admit(now, packet)

    def chance(self, reached: int, mask: int) -> float:
        before, self.passed = self.passed, max(self.passed, min(reached, mask))
        return (self.passed - before) / (mask - before)

    def decayed(self, now: int, weight_log: int) -> int:
        """red_calc_qavg_from_idle_time, with the table that tc makes (tc_red_eval_idle_damping)."""
        idle_us = (now - max(self.free_at, self.dropped_at)) // 10**6
        per_us = -math.log(1 - 2.0**-weight_log) / (int(self.mean_packet * self.byte_time_ps) / 1e6)
        cell_log = 0
        while 31 / per_us / 2**cell_log >= 512:
            cell_log += 1
        idle_us = min(idle_us, 255 << cell_log)
        cell = idle_us >> cell_log
        shift = 31 if cell == 255 else min(int((cell << cell_log) * per_us), 31)
        if shift:
            return self.average >> shift
        return self.average - min(self.average * idle_us >> cell_log, self.average >> 1)


class Pie(RandomQueue):
    """RFC 8033: appendix A, with 5.4 and 5.5 (appendix B)."""

    target: int
    update: int
    max_burst: int
    p = 0.0
    delay = 0
    accumulated = 0.0
    updated_at = 0
    burst: int | None = None

    def admit(self, now: int, packet: Packet) -> str | None:
        if self.burst is None:
            self.burst = int(self.max_burst)
        while self.updated_at + self.update <= now:
            self.updated_at += self.update
            self.calculate(max(0, self.free_at - self.updated_at))
        if not self.fits(packet):
            self.accumulated = 0
            return "full"
        if not self.burst and self.drop_early():
            packet.marked = self.ecn and packet.can_mark and self.p <= 0.1
            if not packet.marked:
                return "early"
        self.waiting.append(packet)
        return None

    def calculate(self, delay: int) -> None:
        assert self.burst is not None
        step = (0.125 * (delay - self.target) + 1.25 * (delay - self.delay)) / 1e12
        for bound, factor in zip(
            (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), (2048, 512, 128, 32, 8, 2), strict=True
        ):
            if self.p < bound:
                step /= factor
                break
        if self.p >= 0.1:
            step = min(step, 0.02)
        self.p += step
        if not delay and not self.delay:
            self.p *= 0.98
        self.p = min(max(self.p, 0), 1)
        self.burst = max(0, self.burst - self.update)
        if not self.p and max(delay, self.delay) < self.target / 2:
            self.burst = int(self.max_burst)
        self.delay = delay

    def drop_early(self) -> bool:
        is_light = self.delay < self.target / 2 and self.p < 0.2
        if is_light or self.bytes() <= 2 * self.mean_packet:
            return False
        if not self.p:
            self.accumulated = 0
        self.accumulated += self.p
        if self.accumulated < 0.85:
            return False
        if self.is_chosen(1 if self.accumulated >= 8.5 else self.p):
            self.accumulated = 0
            return True
        return False
