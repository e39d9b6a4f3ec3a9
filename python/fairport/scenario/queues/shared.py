"""[queue]: the discipline of every switch port, and what all disciplines share.

A discipline is one class in `fifo`, `early_drop` or `scheduled`, with its name in the union at the
end of that file. Its fields are those of a scenario, with units; its `job` is the configuration
that the engine reads (`Config` in the discipline's file in crates/net).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator

from fairport.scenario.base import PositiveLimit, Section, refuse
from fairport.scenario.units import Limit

_BILLION = 10**9


def _share(value: float) -> float:
    if not 1 / _BILLION <= value <= 1:
        raise refuse("is not above 0 and at most 1", "give a share such as 0.1")
    return value


Share = Annotated[float, AfterValidator(_share)]
"""A probability or a share, above 0 and at most 1."""


class QueueDiscipline(Section):
    """The fields of every queue discipline."""

    own_limits: ClassVar[bool] = True
    """Whether a link of a custom graph may give its ports a limit of their own, in bytes."""

    limit: PositiveLimit = Limit("128KiB")
    """Buffer of a port, in bytes ("16KiB") or in packets ("100 packets")."""

    kind: str
    """The queue discipline."""

    implementation: Literal["switch", "tc"] = "switch"
    """On the Linux backend: Fairport's own switch, or bridges with the kernel's disciplines (`tc`),
    for trees of at most 200 Mbit/s. The simulation is the same for both."""

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it: here what most disciplines have."""
        return {"kind": self.kind, "limit": length(self.limit)}

    @property
    def port_limit(self) -> Limit:
        """The most that may wait at one port."""
        return self.limit

    @property
    def phase(self) -> str:
        """The parameters that decide phases, as a person reads them."""
        return f"{self.limit}"


class FifoQueue(QueueDiscipline):
    """A buffer that is served first in, first out."""

    count_in_service: bool = False
    """Whether the packet that is being sent still takes its place in the buffer. In ns-2, ns-3 and
    Linux it does not."""

    def job(self) -> dict[str, Any]:
        """The fields that all these disciplines have, as the engine reads them."""
        return {**super().job(), "count_in_service": self.count_in_service}

    @property
    def phase(self) -> str:
        """The parameters that decide phases, as a person reads them."""
        counts = "counts" if self.count_in_service else "does not count"
        return f"{self.limit}, the packet in service {counts}"


def length(limit: Limit) -> dict[str, int]:
    """A length of a queue as the engine reads it (`Limit`)."""
    return {"packets" if limit.in_packets else "bytes": int(limit)}


def parts_per_billion(share: float) -> int:
    """A share as the engine reads it."""
    return round(share * _BILLION)


def in_order(field: str, lower: Limit, upper_name: str, upper: Limit) -> None:
    """Refuses `field` unless its value `lower` is below `upper`.

    Bytes and packets are not compared, because the size of packets depends on the traffic.
    """
    if lower.in_packets == upper.in_packets and lower >= upper:
        raise refuse(
            f"{lower} is not below `{upper_name}` = {upper}",
            f"give less than {upper}, or a larger {upper_name}",
            field=field,
            show_value=False,  # the lower value may be a default
        )
