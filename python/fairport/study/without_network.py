"""Published experiments without a network: each run is a draw, kept as a record like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import polars as pl

from fairport.enqueue_probability import enqueue_probability
from fairport.study.record import Record

if TYPE_CHECKING:
    from fairport.papers.catalogue import Entry


def records(entry: Entry, seeds: Sequence[int]) -> dict[str, list[Record]]:
    """By variant, in order of the seeds; one draw serves all variants."""
    draws = [
        {row["r_min_bytes"]: row for row in enqueue_probability(seed=seed).rows()} for seed in seeds
    ]
    tables = {field.name: pl.DataFrame() for field in fields(Record) if field.name != "summary"}
    return {
        variant.name: [
            Record(summary={"enqueue_probability": draw[variant.r_min_bytes or 1]}, **tables)
            for draw in draws
        ]
        for variant in entry.experiment.variant
    }
