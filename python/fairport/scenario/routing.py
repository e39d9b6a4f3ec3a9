"""routing: how paths are chosen, by a policy's name or by a table with its settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from fairport.scenario.base import Section


class RoutingPolicy(Section):
    """A routing policy. The engine knows it by the same name, unless it says otherwise."""

    kind: str

    def job(self) -> Any:
        """The policy as the engine reads it."""
        return self.kind


class DestinationSuffix(RoutingPolicy):
    """Shortest paths; the last bits of the destination's address choose one (Prakash 2012)."""

    kind: Literal["destination-suffix"]
    """Shortest paths; the destination chooses one."""


class Ecmp(RoutingPolicy):
    """Shortest paths; a hash of the flow's addresses, protocol and ports chooses one."""

    kind: Literal["ecmp"]
    """Shortest paths; a hash of the flow chooses one."""
    hash: Literal["seeded", "shared", "ripl"] = "seeded"
    """"seeded": every switch has its own hash, drawn from the scenario's seed. "shared": all
    switches have the same, so flows that came to one switch choose alike there (polarisation).
    "ripl": the CRC-32 of RipL-POX, the controller of the Mininet reproductions,
    over whole paths."""

    def job(self) -> Any:
        """The policy as the engine reads it."""
        names = {"seeded": self.kind, "shared": "ecmp-shared-hash", "ripl": "ripl-hash"}
        return names[self.hash]


class SpanningTree(RoutingPolicy):
    """One tree of links for all traffic, as between switches that learn addresses."""

    kind: Literal["spanning-tree"]
    """One tree for all traffic."""


class EqualLength(RoutingPolicy):
    """Every packet goes up to a core switch, even within a pod or a rack (Prakash 2012)."""

    kind: Literal["equal-length"]
    """Paths that always pass a core switch."""
    core: int | None = Field(default=None, ge=0, lt=2**32)
    """The number of the core for all packets; without it, a core is chosen as `per` says."""
    per: Literal["flow", "packet"] = "flow"
    """"flow": a hash of the flow chooses its core and its paths up and down. "packet": each packet
    draws one of all paths through a core."""

    def job(self) -> Any:
        """The policy as the engine reads it."""
        return {self.kind: {"core": self.core, "per": self.per}}


class Spray(RoutingPolicy):
    """Every packet takes a shortest path, each with equal probability (Dixit 2013)."""

    kind: Literal["spray"]
    """Shortest paths; each packet draws one."""


class TwoLevel(RoutingPolicy):
    """The two-level look-up of Al-Fares 2008, for fat-trees."""

    kind: Literal["two-level"]
    """Down by prefix, up by the host's part of the destination's address and the switch."""


_Policy = DestinationSuffix | Ecmp | SpanningTree | EqualLength | Spray | TwoLevel
_Name = Literal["destination-suffix", "ecmp", "spanning-tree", "equal-length", "spray", "two-level"]


def _table(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Routing = Annotated[
    _Policy,
    Field(discriminator="kind"),
    BeforeValidator(_table, json_schema_input_type=_Name | _Policy),
]
