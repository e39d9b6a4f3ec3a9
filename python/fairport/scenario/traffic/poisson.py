"""Flows that arrive as a Poisson process between random pairs, with sizes from a CDF."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from fairport.scenario.base import PositiveRate, refuse
from fairport.scenario.selectors import Selector
from fairport.scenario.traffic.base import Ends, TrafficError, TrafficSection
from fairport.scenario.traffic.sizes import Sizes, distribution

_MILLION = 10**6
_LARGEST_LOAD = 100.0


def _load(load: float) -> float:
    if not 1 / _MILLION <= load <= _LARGEST_LOAD:
        raise refuse("is not a load above 0", "give a share of the capacity, such as 0.6")
    return load


class Poisson(TrafficSection):
    """Flows between random pairs: Poisson arrivals, sizes from a distribution."""

    kind: Literal["poisson"]
    """The workload."""
    senders: Selector = Field(default="all", alias="from")
    """Who sends; each flow's sender is drawn uniformly."""
    receivers: Selector = Field(default="all", alias="to")
    """Who receives; each flow's receiver is drawn uniformly among those that are not its sender."""
    load: Annotated[float, AfterValidator(_load)]
    """Offered payload as a share of `capacity`: load * capacity / (8 * mean size) flows arrive per
    second. The mean is that of the sizes that are drawn. If fewer hosts receive than send, or if
    links differ, a load below 1 may be more than some link carries: then the run has a caveat with
    the numbers."""
    overload: bool = False
    """Allows a load above 1, at which queues and flow completion times grow without bound."""
    capacity: PositiveRate | None = None
    """Capacity at load 1; default: the rates of the senders' links together."""
    sizes: Sizes = "web-search"
    """"web-search" and "data-mining" (in bytes), "web-search-packets" and "data-mining-packets" (in
    packets of 1460 B); a file with a size and the share of flows up to that size on each line;
    "20kB" for a fixed size; or "2kB..200kB" for uniform sizes."""
    count: int | None = Field(default=None, ge=1, lt=2**63, alias="flows")
    """Number of flows; default: as many as arrive until the end."""

    @property
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive."""
        return self.senders, self.receivers

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`PoissonJob`)."""
        if self.load > 1 and not self.overload:
            raise TrafficError(
                "is more than the network can carry",
                field="load",
                value=self.load,
                remedy="give at most 1, or set `overload = true` (`fairport run --overload`)",
            )
        return {
            "load_ppm": round(self.load * _MILLION),
            "capacity_bps": None if self.capacity is None else int(self.capacity),
            "sizes": distribution(self.sizes).job(),
            "flows": self.count,
        }
