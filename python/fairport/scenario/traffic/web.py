"""Web sessions: users that fetch pages of several objects and think in between."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveDuration, PositiveSize, refuse
from fairport.scenario.selectors import Selector
from fairport.scenario.traffic.base import Ends, TrafficSection
from fairport.scenario.units import Duration, Size

_MOST_OBJECTS = 1_000_000
_MOST_PACKETS = 2**32


class Web(TrafficSection):
    """Users that fetch pages; the defaults are numbers of Guo and Matta's ns-2 script (2001)."""

    selector_fields: ClassVar[tuple[str, str]] = ("servers", "clients")

    kind: Literal["web"]
    """The workload."""
    servers: Selector
    """Who sends; each page comes from one of them, drawn uniformly."""
    clients: Selector
    """Who receives; the sessions are assigned to them in turn."""
    sessions: int = Field(default=150, ge=1, le=1_000_000)
    """Number of users."""
    session_gap: PositiveDuration = Duration("1s")
    """Mean of the exponential time between the first pages of two users."""
    think: PositiveDuration = Duration("8.2s")
    """Mean of the exponential time from a page to the user's next page."""
    think_from: Literal["end", "start"] = "end"
    """Whether this time begins with the arrival of the page's last object, or with the page itself:
    then a user's pages may overlap, as in ns-2 before November 2001."""
    object_gap: PositiveDuration = Duration("50ms")
    """Mean of the exponential time between the starts of two objects of a page."""
    objects: tuple[int, int] = (2, 7)
    """Fewest and most objects of a page; the number is drawn uniformly between them."""
    object_packets: tuple[int, int] = (4, 200_000)
    """Smallest and largest object, in packets; sizes between them have a Pareto distribution."""
    shape: float = Field(default=1.2, ge=0.1, le=10)
    """Shape of that distribution."""
    packet: PositiveSize = Size("500B")
    """Bytes of an object's packet."""

    @model_validator(mode="before")
    @classmethod
    def _lists_are_pairs(cls, data: Any) -> Any:
        # TOML has lists, and a strict model accepts them as tuples only if they are declared so
        if isinstance(data, dict):
            pairs = ("objects", "object_packets")
            data = {
                k: tuple(v) if k in pairs and isinstance(v, list) else v for k, v in data.items()
            }
        return data

    @model_validator(mode="after")
    def _ranges_rise(self) -> Self:
        for name, limit in (("objects", _MOST_OBJECTS), ("object_packets", _MOST_PACKETS)):
            least, most = getattr(self, name)
            if not 1 <= least <= most <= limit:
                raise refuse(
                    f"is not a smallest and a largest number from 1 to {limit}",
                    "give two such as [2, 7]",
                    field=name,
                )
        return self

    @property
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive."""
        return self.servers, self.clients

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`WebJob`)."""
        return {
            "sessions": self.sessions,
            "session_gap_mean_ps": int(self.session_gap),
            "think_mean_ps": int(self.think),
            "think_from_start": self.think_from == "start",
            "object_gap_mean_ps": int(self.object_gap),
            "objects": self.objects,
            "size_packets": self.object_packets,
            "shape_milli": round(self.shape * 1000),
            "packet_bytes": int(self.packet),
        }
