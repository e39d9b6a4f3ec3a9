"""Reads numbers from the files of `fairport/papers`, without running or checking anything.

Scenarios and printed tables use this module; `papers.catalogue` reads and checks whole files.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from fairport.toml.parser import loads

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # from Python 3.11 on

EXPERIMENT = "experiment.toml"
PAPER = "paper.toml"

_names: dict[str, list[str]] = {}


def papers_folder() -> Traversable:
    """The folder that contains the papers' folders."""
    return resources.files("fairport") / "papers"


def experiment_names() -> list[str]:
    """All experiments, such as "prakash2012/fifteen-to-one".

    Papers are in the order of importance (their `place`), experiments in the paper's order.
    """
    papers = papers_folder()
    # every scenario that names an experiment asks for it, and the files are part of the program
    if str(papers) not in _names:
        _names[str(papers)] = _listed(papers)
    return list(_names[str(papers)])


def _listed(papers: Traversable) -> list[str]:
    known = [
        (loads((paper / PAPER).read_text(encoding="utf-8")), paper.name)
        for paper in papers.iterdir()
        if (paper / PAPER).is_file()
    ]
    ordered = sorted(known, key=lambda one: (one[0]["place"], one[1]))
    return [
        f"{name}/{experiment}" for paper, name in ordered for experiment in paper["experiments"]
    ]


def folder(name: str) -> Traversable:
    """The folder of an experiment. Raises KeyError for an unknown one."""
    if name not in experiment_names():
        raise KeyError(name)
    paper, _, experiment = name.partition("/")
    return papers_folder() / paper / experiment


def published_beside(summary: Mapping[str, Any], name: str | None) -> dict[str, Any] | None:
    """The published figures of an experiment, if the run with this summary has the same flows.

    A scenario may be patched to another network: a share of the line among other flows cannot be
    compared. With the flows of another variant, the figures are those of that variant.
    """
    if name is None:
        return None
    ours = {hops: one["flows"] for hops, one in summary["classes"].items()}
    return published_figures(name, ours)


def published_figures(name: str, ours: Mapping[str, int] | None = None) -> dict[str, Any] | None:
    """The published figures of an experiment's last variant, with the summary's names for them.

    `ours` has the number of flows by hop class: then the figures are those of the last variant that
    has as many.

    `classes` has `flows` if known, `goodput_bps_mean`, `_min`, `_max` and `throughput_ratio`
    (relative to the class with most hops, which are the peers in each of these papers), even if the
    paper shows single flows (`goodput_bps`). `source` is the paper, `title` the experiment. None if
    there are no figures; raises KeyError for an unknown experiment.
    """
    place = folder(name)
    experiment: dict[str, Any] = loads((place / EXPERIMENT).read_text(encoding="utf-8"))
    variants: list[dict[str, dict[str, Any]]] = experiment.get("variant", [])
    known = [one["published"] for one in variants if "published" in one]
    if ours is not None:
        known = [one for one in known if _has_flows(one.get("classes", {}), ours)]
    if not known or "classes" not in known[-1]:
        return None
    classes: dict[str, dict[str, Any]] = known[-1]["classes"]
    for one in classes.values():
        flows = one.get("goodput_bps")
        if flows:
            one["flows"] = len(flows)
            one["goodput_bps_mean"] = statistics.fmean(flows)
            one["goodput_bps_min"], one["goodput_bps_max"] = min(flows), max(flows)
    peers = classes[max(classes, key=lambda name: int(name.split("-")[0]))]["goodput_bps_mean"]
    for one in classes.values():
        one["throughput_ratio"] = one["goodput_bps_mean"] / peers
    paper = loads((papers_folder() / name.partition("/")[0] / PAPER).read_text("utf-8"))
    source = f"{paper['authors']}: {paper['title']}, {paper['venue']} {paper['year']}"
    figures: dict[str, Any] = known[-1] | known[-1].get("measures", {})
    return figures | {"id": name, "title": experiment["title"], "source": source}


def _has_flows(classes: Mapping[str, Mapping[str, Any]], ours: Mapping[str, int]) -> bool:
    """Whether the published classes are these, with as many flows where their number is known."""
    theirs = {
        hops: len(one.get("goodput_bps", [])) or one.get("flows") for hops, one in classes.items()
    }
    return set(theirs) == set(ours) and all(
        flows is None or flows == ours[hops] for hops, flows in theirs.items()
    )
