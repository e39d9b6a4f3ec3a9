"""[queue]: the discipline of every switch port, and what all disciplines share.

A discipline is one class in `fifo_queues`, `early_drop_queues` or `scheduled_queues`, and one line
in `queues`. Its fields are what a scenario says, with units; its `job` is what the engine is told
(`QueueJob` of crates/plan/src/job/queue.rs).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

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
    """What every queue discipline has."""

    own_limits: ClassVar[bool] = True
    """Whether a link of a custom graph may give its ports a limit of their own, in bytes."""

    limit: PositiveLimit = Limit("128KiB")
    """Buffer of a port, in bytes ("16KiB") or in packets ("100 packets")."""

    @abstractmethod
    def job(self) -> dict[str, Any]:
        """The discipline as the engine takes it, without its kind."""

    @property
    def phase(self) -> str:
        """What of it decides phases, as a person reads it."""
        return f"{self.limit}"


class FifoQueue(QueueDiscipline):
    """A buffer that is served first in, first out."""

    count_in_service: bool = False
    """Whether the packet that is being sent still takes its place (not so in ns-2, ns-3, Linux)."""

    def buffer(self) -> dict[str, Any]:
        """The buffer as the engine takes it (`BufferJob`)."""
        in_packets = self.limit.in_packets
        return {
            "limit_bytes": None if in_packets else int(self.limit),
            "limit_packets": int(self.limit) if in_packets else None,
            "count_in_service": self.count_in_service,
        }

    @property
    def phase(self) -> str:
        """What of it decides phases, as a person reads it."""
        counts = "counts" if self.count_in_service else "does not count"
        return f"{self.limit}, the packet in service {counts}"


def threshold(length: Limit) -> dict[str, int]:
    """A queue length as the engine takes it (`ThresholdJob`)."""
    return {"packets" if length.in_packets else "bytes": int(length)}


def parts_per_billion(share: float) -> int:
    """A share as the engine takes it."""
    return round(share * _BILLION)


def in_order(field: str, lower: Limit, upper_name: str, upper: Limit) -> None:
    """Refuses `field` unless its value `lower` is below `upper`.

    Bytes and packets are not compared: how many bytes a packet has is the traffic's matter.
    """
    if lower.in_packets == upper.in_packets and lower >= upper:
        raise refuse(
            f"{lower} is not below `{upper_name}` = {upper}",
            f"give less than {upper}, or a larger {upper_name}",
            field=field,
            show_value=False,  # it may be a default
        )
