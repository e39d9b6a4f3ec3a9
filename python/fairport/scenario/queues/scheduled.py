"""The queue disciplines that decide when a packet leaves: which is next, and which is dropped.

The packet that is being sent never counts in their limits.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveDuration, PositiveLimit, PositiveSize, refuse
from fairport.scenario.queues.shared import QueueDiscipline, in_order, length
from fairport.scenario.units import Duration, Limit, Size

_LARGEST_COUNT = 1 << 16
Count = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]


def _in_packets(queue: QueueDiscipline) -> int:
    if not queue.limit.in_packets:
        raise refuse(
            "is counted in bytes",
            'this discipline counts packets: write "40 packets"',
            field="limit",
        )
    return int(queue.limit)


def _bytes(size: Size | None) -> int | None:
    return None if size is None else int(size)


class Sfq(QueueDiscipline):
    """Stochastic fair queueing as in ns-2: buckets take turns packet by packet."""

    own_limits: ClassVar[bool] = False

    kind: Literal["sfq"]
    """Stochastic fair queueing as ns-2 has it."""
    limit: PositiveLimit = Limit("40 packets")
    """Buffer of all buckets together, in packets (ns-2's `maxqueue_`)."""
    buckets: Count = 4
    """Number of buckets to which pairs of addresses are hashed. 4 is the outcast paper's; ns-2's
    own default is 16."""
    hash_seed: int | None = Field(default=None, ge=0, lt=2**63)
    """Seed of the hash, the same at every switch; another seed distributes the flows over the
    buckets differently. By default it is the run's, so that several seeds have several
    distributions."""
    placed: list[list[str]] = Field(default=[])
    """Names of hosts: packets from the hosts of the n-th list go into the n-th bucket, whatever the
    hash says."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _in_packets(self)
        if len(self.placed) > self.buckets:
            raise refuse(
                f"has {len(self.placed)} lists for {self.buckets} buckets",
                "give at most one list per bucket",
                field="placed",
                show_value=False,
            )
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            "kind": self.kind,
            "limit_packets": _in_packets(self),
            "buckets": self.buckets,
            "seed": self.hash_seed,
            "placed": self.placed,
        }


class LinuxSfq(QueueDiscipline):
    """Stochastic fair queueing as in Linux: turns in bytes, drops from the longest queue's tail."""

    own_limits: ClassVar[bool] = False

    kind: Literal["linux-sfq"]
    """Stochastic fair queueing as Linux has it (`tc qdisc add .. sfq`)."""
    limit: PositiveLimit = Limit("127 packets")
    """Buffer of all queues together, in packets."""
    depth: Count = 127
    """Most packets of one queue."""
    divisor: Count = 1024
    """Size of the hash table."""
    flows: Count = 128
    """Most queues that may hold packets at the same time, at most `limit`, as in Linux."""
    quantum: PositiveSize | None = None
    """Bytes of a queue's turn. The default is one packet of the MTU."""
    perturb: Duration = Duration("0s")
    """How often flows are hashed anew; 0 for never."""

    @model_validator(mode="after")
    def _counts_packets(self) -> Self:
        _in_packets(self)
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            "kind": self.kind,
            "limit_packets": _in_packets(self),
            "depth_packets": self.depth,
            "divisor": self.divisor,
            "flows": self.flows,
            "quantum_bytes": _bytes(self.quantum),
            "perturb_ps": int(self.perturb),
        }


class Drr(QueueDiscipline):
    """Deficit round robin: one queue per flow, with turns of equal bytes."""

    kind: Literal["drr"]
    """Deficit round robin (Shreedhar & Varghese 1995) over flows."""
    quantum: PositiveSize | None = None
    """Bytes of a flow's turn. The default is one packet of the MTU."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {**super().job(), "quantum_bytes": _bytes(self.quantum)}


class PortFair(QueueDiscipline):
    """Port-fair: one buffer that the ingress ports share equally when it is full."""

    kind: Literal["port-fair"]
    """One buffer that the ingress ports share equally when it is full: the port that holds most
    loses its last packet to one that holds less. First in, first out."""


class _Controlled(QueueDiscipline):
    """Settings of CoDel."""

    target: PositiveDuration = Duration("5ms")
    """Acceptable time in the queue (RFC 8289: 5 ms, for paths of the Internet)."""
    interval: PositiveDuration = Duration("100ms")
    """How long the target must be exceeded before a packet is dropped: a long round trip (RFC 8289:
    100 ms)."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.target >= self.interval:
            raise refuse(
                f"{self.target} is not below `interval` = {self.interval}",
                "give a target of 5 to 10 % of the interval (RFC 8289 3.2)",
                field="target",
                show_value=False,
            )
        return self

    def job(self) -> dict[str, Any]:
        """The fields that CoDel and FQ-CoDel share, as the engine reads them."""
        times = {"target_ps": int(self.target), "interval_ps": int(self.interval)}
        return {**super().job(), **times}


class CoDel(_Controlled):
    """CoDel: drops at the head while packets have waited longer than a target for too long."""

    kind: Literal["codel"]
    """CoDel (RFC 8289)."""
    limit: PositiveLimit = Limit("1000 packets")
    """Buffer of a port, in bytes or in packets; the default is Linux's."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them. Off in Linux."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {**super().job(), "ecn": self.ecn}


class FqCoDel(_Controlled):
    """FQ-CoDel: flows are hashed to queues that take turns, each under CoDel."""

    kind: Literal["fq-codel"]
    """FQ-CoDel (RFC 8290)."""
    limit: PositiveLimit = Limit("10240 packets")
    """Buffer of all queues together, in bytes or in packets; the default is RFC 8290's."""
    queues: Count = 1024
    """Number of queues to which flows are hashed."""
    quantum: PositiveSize | None = None
    """Bytes of a queue's turn. The default is one packet of the MTU."""
    ecn: bool = True
    """Mark packets that can be marked instead of dropping them. On in Linux."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            **super().job(),
            "ecn": self.ecn,
            "queues": self.queues,
            "quantum_bytes": _bytes(self.quantum),
        }


class StrictPriority(QueueDiscipline):
    """Two queues: packets of short flows always go first."""

    kind: Literal["strict-priority"]
    """A pair of queues in strict priority: packets of short flows go first, as the [classifier]
    counts them, which it needs."""
    limit: PositiveLimit = Limit("64KiB")
    """Buffer of each of the two queues, in bytes or in packets."""


class SharedBuffer(QueueDiscipline):
    """One memory for all ports of a switch, with dynamic thresholds."""

    own_limits: ClassVar[bool] = False

    kind: Literal["shared-buffer"]
    """A shared memory with dynamic thresholds (Choudhury & Hahne 1998)."""
    limit: PositiveLimit = Limit("512KiB")
    """Memory of a switch, in bytes."""
    alpha: float = Field(default=1.0, ge=0.001, le=1000)
    """A packet is admitted while its port's queue is shorter than alpha times the free memory."""
    mark_above: PositiveLimit | None = None
    """K: a packet that can be marked is marked if at least this much waits at its port before it,
    in bytes or in packets. Without it nothing is marked."""

    @model_validator(mode="after")
    def _counts_bytes(self) -> Self:
        if self.limit.in_packets:
            raise refuse(
                "is counted in packets",
                'a shared memory is given in bytes, such as "512KiB"',
                field="limit",
            )
        if self.mark_above is not None:
            in_order("mark_above", self.mark_above, "limit", self.limit)
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        marks = {} if self.mark_above is None else {"mark_above": length(self.mark_above)}
        return {"kind": self.kind, "memory_bytes": int(self.limit), "alpha": self.alpha, **marks}

    @property
    def port_limit(self) -> Limit:
        """The most that may wait at one port while nothing waits at the others."""
        return Limit(f"{int(self.limit * self.alpha / (1 + self.alpha))}B")

    @property
    def phase(self) -> str:
        """The parameters that decide phases, as a person reads them."""
        marks = "" if self.mark_above is None else f"; K = {self.mark_above}"
        return f"{super().phase}, alpha = {self.alpha:g}{marks}"


# every discipline of this file, with its kind
Queues = (
    Annotated[Sfq, Tag("sfq")]
    | Annotated[LinuxSfq, Tag("linux-sfq")]
    | Annotated[Drr, Tag("drr")]
    | Annotated[PortFair, Tag("port-fair")]
    | Annotated[CoDel, Tag("codel")]
    | Annotated[FqCoDel, Tag("fq-codel")]
    | Annotated[StrictPriority, Tag("strict-priority")]
    | Annotated[SharedBuffer, Tag("shared-buffer")]
)
