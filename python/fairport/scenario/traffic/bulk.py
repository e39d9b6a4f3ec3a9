"""Bulk flows: senders that always have data to send, or that send a file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveSize, refuse
from fairport.scenario.traffic.base import Ends, ToOneReceiver, TrafficError
from fairport.scenario.units import Duration

_PERMUTATION = "permutation"


class ListedFlows(ToOneReceiver):
    """Flows that are known before the run: a number of flows per sender, at given times."""

    receiver: str = Field(alias="to")
    """The receiver; or "permutation": each host of `from` sends to exactly one other of them and
    receives from exactly one. The pairs are drawn from the seed; all permutations in which no host
    sends to itself are equally likely."""
    flows_per_sender: int = Field(default=1, alias="flows", ge=1, le=100_000)
    """Number of flows per sender."""
    size: PositiveSize | None = None
    """Bytes that each flow sends; default: it sends until the end."""
    start_jitter: Duration = Duration("1ms")
    """Each flow starts later by a time drawn uniformly between 0 and this."""
    start_interval: Duration = Duration("0s")
    """Each flow starts later than the one before by this, in the order of `from`."""
    stop_interval: Duration = Duration("0s")
    """Each flow stops earlier than the one before by this, so the last to start stops first."""

    @property
    def phase(self) -> str:
        """Its kind and start, as a person reads them."""
        jitter = f" + U(0, {self.start_jitter})" if self.start_jitter else ""
        steps = f", one every {self.start_interval}" if self.start_interval else ""
        return f"{self.start}{jitter}{steps}"

    @model_validator(mode="after")
    def _steps_back_from_a_stop(self) -> Self:
        if self.stop_interval and self.stop is None:
            raise refuse(
                "has no `stop` to count from",
                "say when the first flow stops",
                field="stop_interval",
            )
        return self

    def is_permutation(self, hosts: Sequence[str]) -> bool:
        """Whether each sender sends to exactly one other sender, drawn from the seed."""
        return self.receiver == _PERMUTATION and _PERMUTATION not in hosts

    def flows(self, ends: Ends) -> list[dict[str, Any]]:
        """The flows that are known before the run, as the engine reads them (`FlowJob`)."""
        pairs = zip(ends.senders, cycle(ends.receivers), strict=False)
        flows = [pair for pair in pairs for _ in range(self.flows_per_sender)]
        return [self._flow(ends, number, *pair) for number, pair in enumerate(flows)]

    def _flow(self, ends: Ends, number: int, sender: str, receiver: str) -> dict[str, Any]:
        start = int(self.start) + number * int(self.start_interval)
        stop = None if self.stop is None else int(self.stop) - number * int(self.stop_interval)
        if start >= ends.end:
            raise TrafficError(
                f"makes flow {number}, from `{sender}`, start at {Duration.of(start)}, and the run"
                f" ends at {ends.end}",
                field="start_interval",
                value=str(self.start_interval),
                remedy="use a shorter interval or a longer duration",
            )
        if stop is not None and stop <= start:
            field = "stop_interval" if self.stop_interval else "stop"
            raise TrafficError(
                f"makes flow {number}, from `{sender}`, stop before it starts at "
                f"{Duration.of(start)}",
                field=field,
                value=str(getattr(self, field)),
                remedy="use a later stop or shorter intervals",
            )
        return {
            "traffic": ends.index,
            "src": sender,
            "dst": receiver,
            "start_ps": start,
            "start_jitter_ps": int(self.start_jitter),
            "stop_ps": stop,
            "size_bytes": None if self.size is None else int(self.size),
            "udp": self.udp(),
            "sender_stack": ends.stack(sender),
            "receiver_stack": ends.stack(receiver),
        }

    def udp(self) -> dict[str, Any] | None:
        """The source of datagrams as the engine reads it (`UdpJob`); None for TCP."""
        return None


class Bulk(ListedFlows):
    """Senders that always have data to send, as iperf's, or that send a file of a given size."""

    kind: Literal["bulk"] = "bulk"
    """The workload."""
