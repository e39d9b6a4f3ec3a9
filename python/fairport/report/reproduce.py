"""The page of `reproduce`: figure by figure, ours beside the published numbers, and every claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.figures import style
from fairport.report.inline import embed
from fairport.report.template import fill_page
from fairport.study.model_version import model_version
from fairport.study.reproduce import totals

if TYPE_CHECKING:
    from fairport.papers.model import Platform
    from fairport.study.reproduce import Reproduced


def page(done: Sequence[Reproduced], pictures: Mapping[str, Sequence[tuple[str, Path]]]) -> str:
    """The whole page as text; `pictures` are titles and SVG files by experiment."""
    by_paper = groupby(done, key=lambda one: one.entry.name.partition("/")[0])
    return fill_page(
        "reproduce.html",
        quick=any(one.quick for one in done),
        totals=totals(done),
        papers=[_paper(name, list(members), pictures) for name, members in by_paper],
        version=model_version(),
    )


def _paper(
    name: str, done: Sequence[Reproduced], pictures: Mapping[str, Sequence[tuple[str, Path]]]
) -> dict[str, Any]:
    paper = done[0].entry.paper
    on = {
        name: [one for one in done if one.entry.platform == platform]
        for name, platform in paper.platform.items()
    }
    return {
        "id": name,
        "paper": paper,
        "platforms": [_platform(paper.platform[name], on[name]) for name in on if on[name]],
        "totals": totals(done),
        "experiments": [_experiment(one, pictures[one.entry.name]) for one in done],
    }


def _platform(platform: Platform, done: Sequence[Reproduced]) -> dict[str, Any]:
    return {
        "platform": platform,
        "settings": [f"{path} = {value}" for path, value in platform.settings.items()],
        "experiments": [(one.entry.name.partition("/")[2], _anchor(one)) for one in done],
    }


def _experiment(one: Reproduced, pictures: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    experiment, seeds = one.entry.experiment, one.seeds
    each = "without a network"
    if not experiment.model:
        each = f"{one.entry.scenario(one.entry.variants[0], quick=one.quick).duration} each"
    scenarios = style.count(len(one.entry.variants), "scenario")
    known = [variant.published for variant in one.entry.variants if variant.published]
    return {
        "name": one.entry.name,
        "anchor": _anchor(one),
        "title": experiment.title,
        "shows": experiment.shows,
        "pictures": [
            embed(svg, f"{_anchor(one)}-{index}", f"{title}, {one.entry.name}")
            for index, (title, svg) in enumerate(pictures)
        ],
        "checked_claims": one.checked_claims,
        "linux": one.linux,
        "read": sorted({published.read for published in known}),
        "runs": f"{scenarios}, seeds {seeds[0]} to {seeds[-1]}, {each}",
    }


def _anchor(one: Reproduced) -> str:
    return one.entry.name.replace("/", "-")
