"""The groups of flows that a run's panels name and colour: hop classes, or several traffics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from fairport.figures import hop_classes
from fairport.figures.drawing import style
from fairport.metrics import fairness
from fairport.quantities import counted

if TYPE_CHECKING:
    from fairport.result import Result

# Of traffics; that of the hop class is left out, so that a colour means one thing on a page.
_COLOURS = (style.BLUE, "#d55e00", style.GREEN, "#8a6d00")


@dataclass(frozen=True, slots=True)
class Group:
    """Flows that share a name and a colour."""

    name: str
    colour: str
    flows: list[int]

    @property
    def label(self) -> str:
        """The title of a panel, e.g. "6-hop (12 flows)"."""
        return f"{self.name} ({counted(len(self.flows), 'flow')})"


def groups(result: Result) -> list[Group]:
    """The hop classes; if there is one, and several [[traffic]], these."""
    return traffics(result) or _of_classes(hop_classes.of(result.flows))


def compared(result: Result) -> list[Group]:
    """The same of the flows that are compared."""
    flows = set(fairness.compared(result.flows)["flow"])
    parts = [
        replace(one, flows=[flow for flow in one.flows if flow in flows])
        for one in traffics(result)
    ]
    parts = [one for one in parts if one.flows]
    return parts if len(parts) > 1 else _of_classes(hop_classes.compared(result))


def _of_classes(classes: list[hop_classes.HopClass]) -> list[Group]:
    return [Group(one.name, one.look.colour, one.flows) for one in classes]


def traffics(result: Result) -> list[Group]:
    """The flows of each [[traffic]], if they are the groups of the page; else an empty list."""
    classes = hop_classes.of(result.flows)
    parts = result.summary.get("traffic", [])
    if len(classes) != 1 or not 1 < len(parts) < len(_COLOURS):
        return []
    colours = [one for one in _COLOURS if one != classes[0].look.colour]
    found = []
    for entry, colour in zip(parts, colours, strict=False):
        flows = result.flows.filter(pl.col("traffic") == entry["index"])
        controls = flows["congestion_control"].drop_nulls().unique().sort().to_list()
        name = f"{entry['index']}: {entry['kind']}"
        if controls:
            name += f" with {' and '.join(controls)}"
        found.append(Group(name, colour, flows["flow"].to_list()))
    return found if sum(len(one.flows) for one in found) == result.flows.height else []
