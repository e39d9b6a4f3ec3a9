"""What papers measured, as data: one folder per paper, and in it one folder per experiment.

This file answers what the rest of the program asks without running anything; `papers.catalogue`
reads and checks the files.
"""

from __future__ import annotations

import statistics
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from fairport._toml import loads

EXPERIMENT = "experiment.toml"


def experiment_names() -> list[str]:
    """The experiments there are, such as "prakash2012/fifteen-to-one", in their papers' order."""
    return [
        f"{paper.name}/{name}"
        for paper in sorted(resources.files(__name__).iterdir(), key=lambda place: place.name)
        if (paper / "paper.toml").is_file()
        for name in loads((paper / "paper.toml").read_text(encoding="utf-8"))["experiments"]
    ]


def folder(name: str) -> Traversable:
    """Where an experiment's files are. Raises KeyError for an unknown one."""
    if name not in experiment_names():
        raise KeyError(name)
    paper, _, experiment = name.partition("/")
    return resources.files(__name__) / paper / experiment


def published(name: str) -> dict[str, Any] | None:
    """The published figures of an experiment's last variant, with the summary's names for them.

    `classes` has `goodput_bps_mean`, `_min`, `_max` and `throughput_ratio` (to the class with most
    hops, the peers in each of these papers), also where the paper shows single flows
    (`goodput_bps`). `source` is the paper, `title` the experiment. None when there are none;
    raises KeyError for an unknown experiment.
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
    paper = loads(
        (resources.files(__name__) / name.partition("/")[0] / "paper.toml").read_text("utf-8")
    )
    source = f"{paper['authors']}: {paper['title']}, {paper['venue']} {paper['year']}"
    figures: dict[str, Any] = known[-1] | known[-1].get("measures", {})
    return figures | {"id": name, "title": experiment["title"], "source": source}
