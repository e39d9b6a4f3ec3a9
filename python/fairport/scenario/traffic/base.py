"""What all kinds of [[traffic]] share, and how it becomes a part of the engine's job."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.errors import InputError
from fairport.scenario.base import Section, refuse
from fairport.scenario.selectors import Selector
from fairport.scenario.tcp import TcpSettings
from fairport.scenario.units import Duration


class TrafficError(InputError):
    """An impossible flow, with the field of its traffic that makes it impossible."""


@dataclass(frozen=True)
class Ends:
    """The hosts that a traffic's selectors select, and what a kind must know about them."""

    index: int
    """Index of the traffic in the scenario."""
    senders: Sequence[str]
    receivers: Sequence[str]
    """In a permutation, in another order than the senders; the engine draws the pairs."""
    end: Duration
    """The end of the run."""
    stack: Callable[[str], int]
    """The stack that a host uses for this traffic, as an index into the job's."""


class TrafficSection(Section):
    """The fields of every kind of traffic."""

    selector_fields: ClassVar[tuple[str, str]] = ("from", "to")
    """The names of the fields that select the senders and the receivers."""

    kind: str
    """The workload."""
    start: Duration = Duration("0s")
    """When it begins."""
    stop: Duration | None = None
    """When it ends; default: with the run."""
    tcp: TcpSettings | None = None
    """Settings of TCP for these flows, at both ends."""

    @property
    @abstractmethod
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive."""

    def check_hosts(self, hosts: Sequence[str]) -> None:
        """Raises TrafficError if hosts that it names without selectors are not among these."""

    @property
    def phase(self) -> str:
        """Its kind and start, as a person reads them."""
        return f"{self.kind} {self.start}"

    def is_permutation(self, hosts: Sequence[str]) -> bool:
        """Whether each sender sends to exactly one other sender, drawn from the seed."""
        return False

    def flows(self, ends: Ends) -> list[dict[str, Any]]:
        """The flows that are known before the run, as the engine reads them (`FlowJob`)."""
        return []

    def workload(self, ends: Ends) -> dict[str, Any] | None:
        """The workload that starts flows during the run, as the engine reads it (`WorkloadJob`)."""
        pattern = self.workload_pattern(ends)
        if pattern is None:
            return None

        def jobs(hosts: Sequence[str]) -> list[dict[str, Any]]:
            return [{"host": host, "stack": ends.stack(host)} for host in hosts]

        return {
            "traffic": ends.index,
            "start_ps": int(self.start),
            "stop_ps": None if self.stop is None else int(self.stop),
            "senders": jobs(ends.senders),
            "receivers": jobs(ends.receivers),
            "pattern": {"kind": self.kind, **pattern},
        }

    def workload_pattern(self, ends: Ends) -> dict[str, Any] | None:
        """What the workload does during the run (`WorkloadPattern`); None without a workload."""
        return None

    @model_validator(mode="after")
    def _stops_after_it_starts(self) -> Self:
        if self.stop is not None and self.stop <= self.start:
            raise refuse("is not after `start`", "give a later time", field="stop")
        return self


class ToOneReceiver(TrafficSection):
    """Traffic from some hosts to one."""

    senders: Selector = Field(alias="from")
    """The senders: a host, a range "h4..h15", "all" (every host but the receiver), or a list of
    these."""
    receiver: str = Field(alias="to")
    """The receiver."""

    @property
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive."""
        return self.senders, self.receiver
