"""The looks of hop classes and of ingress ports: colour, hatch and marker.

Colours are those of Okabe & Ito (2008), which colour-blind readers can distinguish. A hop class has
the same colour in every figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.artist import Artist

from fairport.figures.drawing import width
from fairport.figures.drawing.style import BLUE, GREEN, MUTED, ORANGE, PAPER
from fairport.quantities import counted

if TYPE_CHECKING:
    import polars as pl

    from fairport.result import Result


@dataclass(frozen=True, slots=True)
class Look:
    """Colour of a hop class, and the hatch and marker that distinguish it in black and white."""

    colour: str
    hatch: str
    marker: str

    @property
    def bar(self) -> dict[str, Any]:
        """The fill of its bars; a hatch has the colour of the edge."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": PAPER, "linewidth": 0}


_LOOKS = {
    2: Look(ORANGE, "", "o"),
    3: Look(BLUE, "....", "D"),
    4: Look(GREEN, "/////", "s"),
    5: Look("#cc79a7", "xxxx", "v"),
    6: Look(BLUE, "", "^"),
}
_OTHER = Look("#8a6d00", "----", "P")


@dataclass(frozen=True, slots=True)
class HopClass:
    """A hop class with its look in figures."""

    hops: int | None
    """None if the backend cannot know it."""
    flows: list[int]
    look: Look

    @property
    def name(self) -> str:
        """The name in the summary, e.g. "6-hop"."""
        from fairport.metrics import fairness

        return fairness.class_name(self.hops)

    def mark(self, artists: Iterable[Artist], place: str) -> None:
        """Gives artists the id of the class, by which a page hides and shows them."""
        name = self.name.replace("-", "")
        for number, artist in enumerate(artists):
            artist.set_gid(f"class-{name}-{place}-{number}")

    @property
    def label(self) -> str:
        """The text in a legend, e.g. "6-hop (12 flows)"."""
        return f"{self.name} ({flows_in_legend(len(self.flows))})"


def flows_in_legend(count: int) -> str:
    """The number of flows in a legend; a narrow one has no room for the word."""
    return str(count) if width.is_narrow() else counted(count, "flow")


IN_BRACKETS = "in brackets: number of flows"
"""Explains the legend of a narrow picture."""


def of(flows: pl.DataFrame) -> list[HopClass]:
    """The hop classes of a table of flows, the shortest path first."""
    found = flows.group_by("hops", maintain_order=True).agg("flow").sort("hops")
    return [HopClass(hops, members, look_of(hops)) for hops, members in found.iter_rows()]


def look_of(hops: int | None) -> Look:
    """The look of a hop class."""
    return _OTHER if hops is None else _LOOKS.get(hops, _OTHER)


def compared(result: Result) -> list[HopClass]:
    """The hop classes of a run's summary, which are those of the compared flows."""
    from fairport.metrics import fairness

    return of(fairness.compared(result.flows))


# Hatches of ingress ports whose flows are of one class, in turn.
_HATCHES = ("", "....", "/////", "xxxx", "-----")
# For ingress ports with flows of several classes, each of which has its own colour. No port is
# black: a black cross is a drop.
_MIXED_PORTS = (MUTED, "#8f99a2", "#b9c0c6")


def ingress_looks(
    result: Result, ports: Sequence[str], packets: pl.DataFrame | None = None
) -> dict[str, Look]:
    """The look of ingress ports: that of their flows' hop class, or grey for several classes.

    So a colour means one class in all figures of a run. If several ports have the same class, the
    later ones are hatched. `packets` may show flows of ports that dropped nothing.
    """
    import polars as pl

    tables = [result.tables["drops"], result.tables["trace"]]
    tables += [] if packets is None else [packets]
    seen = pl.concat(table.select("ingress_port", "flow") for table in tables).unique()
    of_class = {flow: one for one in of(result.flows) for flow in one.flows}
    looks: dict[str, Look] = {}
    taken: dict[str, int] = {}
    for port in ports:
        flows = seen.filter(seen["ingress_port"] == port)["flow"]
        classes = {of_class[flow].hops: of_class[flow] for flow in flows if flow in of_class}
        if len(classes) == 1:
            look = next(iter(classes.values())).look
        else:
            mixed = sum(one.marker == "" for one in looks.values())
            look = Look(_MIXED_PORTS[mixed % len(_MIXED_PORTS)], "", "")
        number = taken.get(look.colour, 0)
        taken[look.colour] = number + 1
        looks[port] = Look(look.colour, _HATCHES[number % len(_HATCHES)], look.marker)
    return looks
