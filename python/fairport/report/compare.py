"""The page of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from fairport.figures import compared as figure
from fairport.metrics.repeats import first_to_last
from fairport.metrics.spread import shown_of_row
from fairport.report.inline import embed
from fairport.report.template import fill_page
from fairport.scenario.phase import phase_parameters
from fairport.study.runs.model_version import model_version

if TYPE_CHECKING:
    from fairport.study.comparison.result import Comparison

TEMPLATE = "compare.html"


def page(comparison: Comparison, svg: Path) -> str:
    """The whole page as text; `svg` is the figure, with a PNG of the same name beside it."""
    seeds = comparison.seeds
    several = len(seeds) > 1
    return fill_page(
        TEMPLATE,
        **_table(comparison),
        ranking=comparison.ranking,
        conclusion=comparison.conclusion,
        name=comparison.scenario.name,
        description=comparison.scenario.description,
        picture=embed(svg, "compare", comparison.conclusion),
        caption=figure.CAPTION,
        fixes=[
            (one.fix, tomli_w.dumps({"patch": one.fix.patch}))
            for one in comparison.candidates
            if one.fix is not None
        ],
        ranking_note=comparison.ranking_note,
        caveats=[*comparison.caveats, *filter(None, [comparison.host_queue_drops])],
        several=several,
        table_title=f"Median and {comparison.spread_name} over the seeds"
        if several
        else f"Seed {seeds[0]} only, so the spread is not known",
        measures=[(one.quantity.title, one.metric.text) for one in comparison.columns],
        conditions=list(phase_parameters(comparison.scenario).items()),
        facts=[
            ("Seeds", f"{first_to_last(seeds)}, the same for every fix"),
            ("Simulated", f"{comparison.scenario.duration} per run"),
            ("Runs", str(comparison.runs.height)),
            ("Version", f"fairport {model_version()}"),
        ],
    )


def _table(comparison: Comparison) -> dict[str, Any]:
    several = len(comparison.parts) > 1
    return {
        "columns": [
            (
                f"{one.part}: {one.quantity.title}" if one.part and several else one.quantity.title,
                one.quantity.unit,
            )
            for one in comparison.columns
        ],
        "rows": [_row(row, comparison) for row in _by_rank(comparison)],
    }


def _by_rank(comparison: Comparison) -> list[dict[str, Any]]:
    """The rows in the order of the ranking and the figure: first that without a fix."""
    ranks = {one.fix: one.rank for one in comparison.ranking} | {"none": 0}
    rows = comparison.table.to_dicts()
    return sorted(rows, key=lambda row: ranks.get(row["fix"], len(rows)))


def _row(row: dict[str, Any], comparison: Comparison) -> dict[str, Any]:
    return {
        "fix": row["fix"],
        "needs": ", ".join(row["needs"]),
        "not_applicable": row["not_applicable"],
        "cells": [shown_of_row(row, one.key, one.quantity) for one in comparison.columns],
    }
