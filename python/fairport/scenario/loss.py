"""[[loss]]: packets that are lost before they reach a queue."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import Section, check_span, refuse
from fairport.scenario.queues.shared import Share, parts_per_billion
from fairport.scenario.units import Duration


def _ports(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise refuse("is not a port", 'give a port such as "s0:0", a list of them, or "all"')
    return names


class Loss(Section):
    """A place where packets are lost before they reach the queue; they take no time on the link."""

    at: Annotated[list[str], BeforeValidator(_ports)] = Field(default=["all"])
    """Output ports, as in the table `ports`: "s0:0", a list of them, or "all" for those of
    switches."""

    kind: str
    """Which packets are lost."""

    def job(self) -> dict[str, Any]:
        """The fields that all losses have, as the engine reads them."""
        at = "all-of-switches" if self.at == ["all"] else {"named": self.at}
        return {"kind": self.kind, "at": at}


class RandomLoss(Loss):
    """Each packet is lost with the same probability, independently of the others."""

    kind: Literal["random"]
    """Which packets are lost."""
    probability: Share
    """Probability that a packet is lost."""

    def job(self) -> dict[str, Any]:
        """The losses as the engine reads them."""
        return {**super().job(), "probability_ppb": parts_per_billion(self.probability)}


class OnOffLoss(Loss):
    """A given number of losses in a row, then none for a while (Prakash 2012, the ON/OFF model)."""

    kind: Literal["on-off"]
    """Which packets are lost."""
    drops: int = Field(ge=1, lt=2**32)
    """Packets lost in a row, of any flow."""
    off: Duration
    """Shortest time from one run of losses to the next, and before the first."""

    def job(self) -> dict[str, Any]:
        """The losses as the engine reads them."""
        return {**super().job(), "drops": self.drops, "off_ps": int(self.off), "from_ps": 0}


class PeriodicLoss(Loss):
    """One packet in so many, of any flow: the losses of the square-root law of TCP's goodput."""

    kind: Literal["periodic"]
    """Which packets are lost."""
    every: int = Field(ge=1, lt=2**63)
    """Packets from one loss to the next: with 1000, the 1000th, the 2000th and so on are lost."""

    def job(self) -> dict[str, Any]:
        """The losses as the engine reads them."""
        return {**super().job(), "every": self.every}


class NumberedLoss(Loss):
    """Chosen packets, to see how TCP repairs just these."""

    kind: Literal["numbered"]
    """Which packets are lost."""
    packets: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(min_length=1)
    """Their numbers in the order of arrival at a port, from 1 on; a SYN counts, too."""

    def job(self) -> dict[str, Any]:
        """The losses as the engine reads them."""
        return {**super().job(), "packets": sorted(set(self.packets))}


class Outage(Loss):
    """All packets are lost for a while: a link that is down before routing avoids it."""

    kind: Literal["outage"]
    """Which packets are lost."""
    start: Duration = Field(alias="from")
    """Its start."""
    end: Duration | None = Field(default=None, alias="to")
    """Its end; default: the end of the run."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_span(self.start, self.end)
        return self

    def job(self) -> dict[str, Any]:
        """The losses as the engine reads them."""
        end = None if self.end is None else int(self.end)
        return {**super().job(), "from_ps": int(self.start), "to_ps": end}


AnyLoss = Annotated[
    RandomLoss | OnOffLoss | PeriodicLoss | NumberedLoss | Outage, Discriminator("kind")
]
