"""The first-in-first-out queues that drop or mark before the buffer is full."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveDuration, PositiveLimit, PositiveSize, refuse
from fairport.scenario.queue import FifoQueue, Share, in_order, parts_per_billion, threshold
from fairport.scenario.units import Duration, Limit, Size


class _AveragingQueue(FifoQueue):
    """What RED and RIO share: an average of the queue, and what is done by it."""

    weight: Share = 0.002
    """w_q: what a new sample counts in the average of the queue."""
    gentle: bool = True
    """Whether the probability climbs on to 1 between `max` and twice `max` (Floyd 2000) instead of
    jumping there at `max`."""
    ecn: bool = True
    """Mark packets that can be marked instead of dropping them early."""
    mean_packet: PositiveSize = Size("500B")
    """Typical size of a packet: how many could have been sent while the link was idle. Where the
    thresholds are in bytes, a packet's probability is scaled by its size over this. The default is
    ns-2's."""

    def average(self) -> dict[str, Any]:
        """The averaging as the engine takes it (`AverageJob`)."""
        return {
            "weight_ppb": parts_per_billion(self.weight),
            "gentle": self.gentle,
            "ecn": self.ecn,
            "mean_packet_bytes": int(self.mean_packet),
        }


class Red(_AveragingQueue):
    """Random early detection (Floyd & Jacobson 1993).

    The defaults are those of the outcast paper's ns-2 run (Prakash 2012), except `max_p`, which it
    does not state: 0.1 is ns-2's, and our choice.
    """

    kind: Literal["red"]
    """Drop early and at random, the more likely the longer the average queue."""
    variant: Literal["floyd-jacobson", "ns2", "linux"] = "ns2"
    """"floyd-jacobson": as the paper prints it. "ns2": the same with `wait`, so that drops are
    never close, and without a drop into a queue of one. "linux": integers with powers of two, as in
    Linux up to 3.2; needs thresholds in bytes, and is never gentle."""
    min: PositiveLimit = Limit("5 packets")
    """Average below which nothing is dropped early, in bytes or in packets."""
    max: PositiveLimit = Limit("15 packets")
    """Average at which packets are dropped with `max_p`, in the unit of `min`."""
    max_p: Share = 0.1
    """Probability of an early drop at `max`."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _same_unit("min", self.min, "max", self.max)
        in_order("min", self.min, "max", self.max)
        in_order("max", self.max, "limit", self.limit)
        if self.variant != "linux":
            return self
        if self.min.in_packets:
            raise refuse(
                f"{self.min} is in packets, and Linux' RED counts bytes",
                'give min and max in bytes, such as "7500B" and "22500B"',
                field="min",
                show_value=False,
            )
        if self.gentle and "gentle" in self.model_fields_set:
            raise refuse("is not known to Linux' RED", "leave it out", field="gentle")
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine takes it, without its kind."""
        return {
            "buffer": self.buffer(),
            "variant": self.variant,
            "ramp": _ramp(self.min, self.max, self.max_p),
            "average": self.average(),
        }


class _ShortAndLong(_AveragingQueue):
    """What RIO and RIO-PS share: two ramps, of which the engine's RIO makes the same."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine takes it: RIO's."""
        short, long = self.ramps()
        return {
            "kind": "rio",
            "buffer": self.buffer(),
            "short": short,
            "long": long,
            "average": self.average(),
        }

    @abstractmethod
    def ramps(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For packets of short flows, and for all others (`RampJob`)."""


class Rio(_ShortAndLong):
    """RED with In and Out (Clark & Fang 1998, as ns-2 has it).

    Short flows' packets, which the `[classifier]` tells, are judged by their own average, others
    by the average of all. The defaults are ns-2.35's.
    """

    kind: Literal["rio"]
    """RED with a favoured class: the packets of short flows."""
    gentle: bool = False
    """Whether the probability climbs on to 1 between `max` and twice `max` (Floyd 2000) instead of
    jumping there at `max`."""
    short_min: PositiveLimit = Limit("15 packets")
    """Average of short flows' packets below which none of them is dropped early."""
    short_max: PositiveLimit = Limit("30 packets")
    """Average of short flows' packets at which they are dropped with `short_max_p`."""
    short_max_p: Share = 0.02
    """Probability of an early drop at `short_max`."""
    long_min: PositiveLimit = Limit("5 packets")
    """Average of all packets below which none of a long flow is dropped early."""
    long_max: PositiveLimit = Limit("15 packets")
    """Average of all packets at which those of long flows are dropped with `long_max_p`."""
    long_max_p: Share = 0.2
    """Probability of an early drop at `long_max`."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _same_unit("short_min", self.short_min, "short_max", self.short_max)
        _same_unit("short_min", self.short_min, "long_min", self.long_min)
        _same_unit("long_min", self.long_min, "long_max", self.long_max)
        in_order("short_min", self.short_min, "short_max", self.short_max)
        in_order("long_min", self.long_min, "long_max", self.long_max)
        return self

    def ramps(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For packets of short flows, and for all others (`RampJob`)."""
        return (
            _ramp(self.short_min, self.short_max, self.short_max_p),
            _ramp(self.long_min, self.long_max, self.long_max_p),
        )


class RioPs(_ShortAndLong):
    """RIO with preferential treatment to short flows (Guo & Matta 2001).

    RIO with thresholds that are shares of the buffer. Needs a `[classifier]`.
    """

    kind: Literal["rio-ps"]
    """RIO whose favoured class are the packets of short flows, with Guo & Matta's thresholds."""
    weight: Share = 1 / 512
    """w_q: what a new sample counts in the averages."""
    short_min: Share = 0.15
    """Average of short flows' packets, as a share of `limit`, below which none is dropped early."""
    short_max: Share = 0.35
    """Average of short flows' packets, as a share of `limit`, at which they are dropped with
    `short_max_p`."""
    short_max_p: Share = 0.05
    """Probability of an early drop at `short_max`."""
    long_min: Share = 0.15
    """Average of all packets, as a share of `limit`, below which none of a long flow is dropped
    early."""
    long_max: Share = 0.5
    """Average of all packets, as a share of `limit`, at which those of long flows are dropped with
    `long_max_p`."""
    long_max_p: Share = 0.1
    """Probability of an early drop at `long_max`."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for group in ("short", "long"):
            lower, upper = getattr(self, f"{group}_min"), getattr(self, f"{group}_max")
            if lower >= upper:
                raise refuse(
                    f"{lower} is not below `{group}_max` = {upper}",
                    f"give less than {upper}, or a larger {group}_max",
                    field=f"{group}_min",
                    show_value=False,
                )
        return self

    def ramps(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For packets of short flows, and for all others (`RampJob`)."""
        return (
            self._shares(self.short_min, self.short_max, self.short_max_p),
            self._shares(self.long_min, self.long_max, self.long_max_p),
        )

    def _shares(self, lower: float, upper: float, max_p: float) -> dict[str, Any]:
        unit = "packets" if self.limit.in_packets else "bytes"
        return {
            "min": {unit: int(lower * self.limit)},
            "max": {unit: int(upper * self.limit)},
            "max_p_ppb": parts_per_billion(max_p),
        }


class Pie(FifoQueue):
    """Proportional integral controller enhanced (RFC 8033).

    The defaults are the RFC's, which are meant for the Internet: on a fast link the buffer may
    never hold `target`.
    """

    kind: Literal["pie"]
    """Drop early and at random, with a probability that a controller sets by the queueing delay."""
    target: PositiveDuration = Duration("15ms")
    """QDELAY_REF: the queueing delay aimed at."""
    update: PositiveDuration = Duration("15ms")
    """T_UPDATE: from one update of the probability to the next."""
    max_burst: Duration = Duration("150ms")
    """MAX_BURST: how long a queue that was short may grow unhindered."""
    ecn: bool = True
    """Mark packets that can be marked while the probability is at most 0.1."""
    mean_packet: PositiveSize = Size("1000B")
    """A queue of at most two packets of this size is left alone."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine takes it, without its kind."""
        return {
            "buffer": self.buffer(),
            "target_ps": int(self.target),
            "update_ps": int(self.update),
            "max_burst_ps": int(self.max_burst),
            "mean_packet_bytes": int(self.mean_packet),
            "ecn": self.ecn,
        }


class WeightedTailDrop(FifoQueue):
    """Weighted tail-drop, as Cisco's Catalyst 3750-E has it.

    A threshold a class is compared with the whole queue. The `[classifier]` gives the classes: 0
    for long flows, 1 for short ones.
    """

    kind: Literal["weighted-tail-drop"]
    """Drop-tail with a threshold for each traffic class."""
    thresholds: list[Share] = Field(default=[0.5, 1.0], min_length=1, max_length=4)
    """The share of `limit` that packets of class 0, 1, .. may fill; the last holds for all classes
    above it."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine takes it, without its kind."""
        shares = [*self.thresholds, *[self.thresholds[-1]] * (4 - len(self.thresholds))]
        unit = "packets" if self.limit.in_packets else "bytes"
        return {
            "buffer": self.buffer(),
            "thresholds": [{unit: int(share * self.limit)} for share in shares],
        }


def _ramp(lower: Limit, upper: Limit, max_p: float) -> dict[str, Any]:
    """Thresholds and probability as the engine takes them (`RampJob`)."""
    return {
        "min": threshold(lower),
        "max": threshold(upper),
        "max_p_ppb": parts_per_billion(max_p),
    }


def _same_unit(field: str, one: Limit, other_name: str, other: Limit) -> None:
    if one.in_packets != other.in_packets:
        raise refuse(
            f"{one} is not in the unit of `{other_name}` = {other}",
            "give all thresholds in bytes, or all in packets",
            field=field,
            show_value=False,  # it may be a default
        )
