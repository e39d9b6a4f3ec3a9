"""What every topology has: its part of the engine's job, and its own values for links."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from fairport.scenario.base import PositiveLimit, Section, refuse
from fairport.scenario.units import Duration, Limit, Rate


def _in_bytes(limit: Limit) -> Limit:
    if limit.in_packets:
        raise refuse(
            "is counted in packets", 'a link\'s own buffer is given in bytes, such as "16KiB"'
        )
    return limit


LinkLimit = Annotated[PositiveLimit, AfterValidator(_in_bytes)]
"""A buffer that a link has of its own, in bytes."""


class TopologySection(Section):
    """A topology. Its fields are the engine's, unchanged, unless a topology says otherwise."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return self.model_dump()

    @property
    def has_forwarding_hosts(self) -> bool:
        """Whether hosts forward packets of others."""
        return False

    def fabric_rate_bps(self, link_rate_bps: int) -> int | None:
        """Rate of links between switches, if the topology sets it and not the scenario."""
        return None

    def link_rates(self, rate: Rate) -> set[Rate]:
        """The rates of its links; `rate` is that of links without their own."""
        return {rate}

    def link_delays(self, delay: Duration) -> set[Duration]:
        """The propagation delays of its links; `delay` is that of links without their own."""
        return {delay}

    def limits(self) -> dict[str, Limit]:
        """Buffers of single links, by their fields below `topology`."""
        return {}


# the engine's numbers have 32 bits
_COUNT_END = 2**32


def count(default: int = ..., least: int = 1) -> Any:  # type: ignore[assignment]
    """A field that counts hosts, switches or ports.

    The engine alone decides which counts it builds; `least` is for readers and editors.
    """
    return Field(default=default, ge=0, lt=_COUNT_END, json_schema_extra={"minimum": least})
