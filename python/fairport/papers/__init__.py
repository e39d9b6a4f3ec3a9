"""What papers measured, as data: one folder a paper, one TOML file an experiment."""

from __future__ import annotations

import statistics
from importlib import resources
from typing import Any

from fairport._toml import loads


def experiment_names() -> list[str]:
    """The experiments there are, such as "prakash2012/p1"."""
    papers = (entry for entry in resources.files(__name__).iterdir() if entry.is_dir())
    return sorted(
        f"{paper.name}/{file.name.removesuffix('.toml')}"
        for paper in papers
        for file in paper.iterdir()
        if file.name.endswith(".toml")
    )


def published(name: str) -> dict[str, Any]:
    """The published figures of an experiment, with the summary's names for them.

    `classes` has `goodput_bps_mean`, `_min`, `_max` and `throughput_ratio` (to the class with most
    hops, the peers in each of these papers), also where the paper shows single flows
    (`goodput_bps`). Raises KeyError for an unknown one.
    """
    if name not in experiment_names():
        raise KeyError(name)
    paper, _, experiment = name.partition("/")
    text = (resources.files(__name__) / paper / f"{experiment}.toml").read_text(encoding="utf-8")
    document: dict[str, Any] = loads(text)
    classes: dict[str, dict[str, Any]] = document["classes"]
    for one in classes.values():
        flows = one.get("goodput_bps")
        if flows:
            one["goodput_bps_mean"] = statistics.fmean(flows)
            one["goodput_bps_min"], one["goodput_bps_max"] = min(flows), max(flows)
    peers = classes[max(classes, key=lambda name: int(name.split("-")[0]))]["goodput_bps_mean"]
    for one in classes.values():
        one["throughput_ratio"] = one["goodput_bps_mean"] / peers
    return document
