"""The groups of flows that a run's page names and colours: hop classes, or several traffics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fairport.figures import style

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


def groups(result: Result) -> list[Group]:
    """The hop classes; if there is one, and several [[traffic]], these."""
    return traffics(result) or [
        Group(one.name, one.look.colour, one.flows) for one in style.hop_classes(result.flows)
    ]


def traffics(result: Result) -> list[Group]:
    """The flows of each [[traffic]], if they are the groups of the page; else an empty list."""
    classes = style.hop_classes(result.flows)
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
