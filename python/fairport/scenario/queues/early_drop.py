"""The first-in-first-out queues that drop or mark before the buffer is full."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag, model_validator
from typing_extensions import Self

from fairport.scenario.base import (
    PositiveDuration,
    PositiveLimit,
    PositiveSize,
    StepDuration,
    refuse,
)
from fairport.scenario.queues.shared import FifoQueue, Share, in_order, length, parts_per_billion
from fairport.scenario.units import Duration, Limit, Size


class _AveragingQueue(FifoQueue):
    """What RED and RIO share: an average of the queue, on which drops depend."""

    weight: Share = 0.002
    """w_q: weight of a new sample in the average of the queue."""
    gentle: bool = True
    """Whether the probability rises on to 1 between `max` and twice `max` (Floyd 2000) instead of
    jumping there at `max`."""
    ecn: bool = True
    """Mark packets that can be marked instead of dropping them early."""
    mean_packet: PositiveSize = Size("500B")
    """Typical size of a packet, from which follows how many packets could have been sent while the
    link was idle. If the thresholds are in bytes, a packet's probability is scaled by its size over
    this. The default is ns-2's."""

    def job(self) -> dict[str, Any]:
        """The fields that all these disciplines have, as the engine reads them."""
        return {
            **super().job(),
            "weight_ppb": parts_per_billion(self.weight),
            "gentle": self.gentle,
            "ecn": self.ecn,
            "mean_packet_bytes": int(self.mean_packet),
        }


class Red(_AveragingQueue):
    """Random early detection (Floyd & Jacobson 1993).

    The defaults are those of the outcast paper's ns-2 run (Prakash 2012), except `max_p`, which the
    paper does not state; 0.1 is ns-2's default.
    """

    kind: Literal["red"]
    """Drop early and at random, with a probability that grows with the average queue."""
    variant: Literal["floyd-jacobson", "ns2", "linux"] = "ns2"
    """"floyd-jacobson": as the paper prints it. "ns2": the same with `wait`, so that drops are
    never close together, and without a drop into a queue of one. "linux": integers with powers of
    two, as in Linux up to 3.2; needs thresholds in bytes, and is never gentle."""
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
                f"{self.min} is in packets, and Linux's RED counts bytes",
                'give min and max in bytes, such as "7500B" and "22500B"',
                field="min",
                show_value=False,
            )
        if self.gentle and "gentle" in self.model_fields_set:
            raise refuse("is not known to Linux's RED", "leave it out", field="gentle")
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it; there Linux's variant is a separate one."""
        job = {**super().job(), "max_p_ppb": parts_per_billion(self.max_p)}
        if self.variant == "linux":
            del job["gentle"]
            thresholds = {"min_bytes": int(self.min), "max_bytes": int(self.max)}
            return {**job, "kind": "red-linux", **thresholds}
        return {
            **job,
            "variant": self.variant,
            "min": length(self.min),
            "max": length(self.max),
        }


class Rio(_AveragingQueue):
    """RED with In and Out (Clark & Fang 1998, as ns-2 has it).

    Drops of short flows' packets, which the `[classifier]` names, depend on their own average,
    other drops on the average of all packets. The defaults are ns-2.35's.
    """

    kind: Literal["rio"]
    """RED with a favoured class: the packets of short flows."""
    gentle: bool = False
    """Whether the probability rises on to 1 between `max` and twice `max` (Floyd 2000) instead of
    jumping there at `max`."""
    short_min: PositiveLimit = Limit("15 packets")
    """Average of short flows' packets below which none of them is dropped early."""
    short_max: PositiveLimit = Limit("30 packets")
    """Average of short flows' packets at which they are dropped with `short_max_p`."""
    short_max_p: Share = 0.02
    """Probability of an early drop at `short_max`."""
    long_min: PositiveLimit = Limit("5 packets")
    """Average of all packets below which no packet of a long flow is dropped early."""
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

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            **super().job(),
            "short_min": length(self.short_min),
            "short_max": length(self.short_max),
            "short_max_p_ppb": parts_per_billion(self.short_max_p),
            "long_min": length(self.long_min),
            "long_max": length(self.long_max),
            "long_max_p_ppb": parts_per_billion(self.long_max_p),
        }


class RioPs(_AveragingQueue):
    """RIO with preferential treatment to short flows (Guo & Matta 2001).

    RIO with thresholds that are shares of the buffer. Needs a `[classifier]`.
    """

    kind: Literal["rio-ps"]
    """RIO that favours the packets of short flows, with Guo & Matta's thresholds."""
    weight: Share = 1 / 512
    """w_q: weight of a new sample in the averages."""
    short_min: Share = 0.15
    """Average of short flows' packets, as a share of `limit`, below which none is dropped early."""
    short_max: Share = 0.35
    """Average of short flows' packets, as a share of `limit`, at which they are dropped with
    `short_max_p`."""
    short_max_p: Share = 0.05
    """Probability of an early drop at `short_max`."""
    long_min: Share = 0.15
    """Average of all packets, as a share of `limit`, below which no packet of a long flow is
    dropped early."""
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

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        names = ("short_min", "short_max", "short_max_p", "long_min", "long_max", "long_max_p")
        shares = {f"{name}_ppb": parts_per_billion(getattr(self, name)) for name in names}
        return {**super().job(), **shares}


class Pie(FifoQueue):
    """Proportional integral controller enhanced (RFC 8033).

    The defaults are the RFC's, which are meant for the Internet: on a fast link the buffer may
    never hold `target`.
    """

    kind: Literal["pie"]
    """Drop early and at random, with a probability that a controller sets by the queueing delay."""
    target: PositiveDuration = Duration("15ms")
    """QDELAY_REF: the target of the queueing delay."""
    update: StepDuration = Duration("15ms")
    """T_UPDATE: time between two updates of the probability."""
    max_burst: Duration = Duration("150ms")
    """MAX_BURST: how long a queue that was short may grow without drops."""
    ecn: bool = True
    """Mark packets that can be marked while the probability is at most 0.1."""
    mean_packet: PositiveSize = Size("1000B")
    """A queue of at most two packets of this size is left alone."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            **super().job(),
            "target_ps": int(self.target),
            "update_ps": int(self.update),
            "max_burst_ps": int(self.max_burst),
            "mean_packet_bytes": int(self.mean_packet),
            "ecn": self.ecn,
        }


class WeightedTailDrop(FifoQueue):
    """Weighted tail-drop, as Cisco's Catalyst 3750-E has it.

    Each class has a threshold, which is compared with the whole queue. The `[classifier]` gives the
    classes: 0 for long flows, 1 for short ones.
    """

    kind: Literal["weighted-tail-drop"]
    """Drop-tail with a threshold for each traffic class."""
    thresholds: list[Share] = Field(default=[0.5, 1.0], min_length=1, max_length=4)
    """The share of `limit` that packets of class 0, 1, .. may fill; the last also applies to all
    classes above it."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        shares = [parts_per_billion(share) for share in self.thresholds]
        return {**super().job(), "thresholds_ppb": shares}


def _same_unit(field: str, one: Limit, other_name: str, other: Limit) -> None:
    if one.in_packets != other.in_packets:
        raise refuse(
            f"{one} is not in the unit of `{other_name}` = {other}",
            "give all thresholds in bytes, or all in packets",
            field=field,
            show_value=False,  # the lower threshold may be a default
        )


# every discipline of this file, with its kind
Queues = (
    Annotated[Red, Tag("red")]
    | Annotated[Rio, Tag("rio")]
    | Annotated[RioPs, Tag("rio-ps")]
    | Annotated[Pie, Tag("pie")]
    | Annotated[WeightedTailDrop, Tag("weighted-tail-drop")]
)
