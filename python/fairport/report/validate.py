"""The page of a validation: simulation and Linux, measure by measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.figures import validate as figure
from fairport.metrics.repeats import first_to_last
from fairport.metrics.spread import FEWEST_FOR_QUARTILES, shown_of_row
from fairport.quantities import of_number
from fairport.report.inline import embed
from fairport.report.template import fill_page
from fairport.scenario.phase import phase_parameters
from fairport.study.runs.model_version import model_version
from fairport.study.validation import COMPARED, LINUX, NAMES, SIDES, SIMULATION

if TYPE_CHECKING:
    from fairport.study.validation import Validation

_RULE = (
    "Both sides agree if the medians of the lone flow's ratio are within a factor of 2 or 0.05, and"
    " those of the peers' goodput within 15 %."
)


def page(found: Validation, svg: Path) -> str:
    """The whole page as text; `svg` is the figure, with a PNG of the same name beside it."""
    machine, seeds = found.profile.machine, found.seeds
    runs = {side: found.side(side)["valid_runs"] for side in SIDES}
    return fill_page(
        "validate.html",
        name=found.scenario.name,
        description=found.scenario.description,
        conclusion=found.conclusion,
        rule=_RULE,
        sides=[NAMES[side] for side in SIDES],
        spread="quartiles"
        if min(runs.values()) >= FEWEST_FOR_QUARTILES
        else "least and greatest value",
        rows=[_row(found, key) for key in COMPARED],
        picture=embed(svg, "validate", found.conclusion),
        caption=figure.CAPTION,
        invalid=[(one["seed"], "; ".join(one["faults"])) for one in found.invalid],
        conditions=list(phase_parameters(found.simulated).items()),
        facts=[
            ("Seeds", f"{first_to_last(seeds)}, the same on both sides"),
            ("Length", f"{found.scenario.duration} per run"),
            ("Valid runs", f"{runs[SIMULATION]} in simulation, {runs[LINUX]} on Linux"),
            ("Machine", f"{machine.cpu}, {machine.processors} processors"),
            ("Kernel", f"Linux {machine.kernel}, HZ = {machine.hz}"),
            ("Version", f"fairport {model_version()}"),
        ],
    )


def _row(found: Validation, key: str) -> dict[str, Any]:
    quantity = of_number(key)
    return {
        "title": quantity.title,
        "unit": quantity.unit,
        "cells": [shown_of_row(found.side(side), key, quantity) for side in SIDES],
    }
