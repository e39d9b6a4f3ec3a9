"""Reads numbers from the files of `fairport/papers`, without running or checking anything.

Scenarios and printed tables use this module; `papers.catalogue` reads and checks whole files.
"""

from __future__ import annotations

import statistics
from importlib import resources
from typing import TYPE_CHECKING, Any

from fairport._toml import loads

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


def published_figures(name: str) -> dict[str, Any] | None:
    """The published figures of an experiment's last variant, with the summary's names for them.

    `classes` has `goodput_bps_mean`, `_min`, `_max` and `throughput_ratio` (relative to the class
    with most hops, which are the peers in each of these papers), even if the paper shows single
    flows (`goodput_bps`). `source` is the paper, `title` the experiment. None if there are no
    figures; raises KeyError for an unknown experiment.
    """
    place = folder(name)
    experiment: dict[str, Any] = loads((place / EXPERIMENT).read_text(encoding="utf-8"))
    variants: list[dict[str, dict[str, Any]]] = experiment.get("variant", [])
    known = [one["published"] for one in variants if "published" in one]
    if not known or "classes" not in known[-1]:
        return None
    classes: dict[str, dict[str, Any]] = known[-1]["classes"]
    for one in classes.values():
        flows = one.get("goodput_bps")
        if flows:
            one["goodput_bps_mean"] = statistics.fmean(flows)
            one["goodput_bps_min"], one["goodput_bps_max"] = min(flows), max(flows)
    peers = classes[max(classes, key=lambda name: int(name.split("-")[0]))]["goodput_bps_mean"]
    for one in classes.values():
        one["throughput_ratio"] = one["goodput_bps_mean"] / peers
    paper = loads((papers_folder() / name.partition("/")[0] / PAPER).read_text("utf-8"))
    source = f"{paper['authors']}: {paper['title']}, {paper['venue']} {paper['year']}"
    figures: dict[str, Any] = known[-1] | known[-1].get("measures", {})
    return figures | {"id": name, "title": experiment["title"], "source": source}
