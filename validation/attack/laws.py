"""Laws that hold for the result of every scenario that runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

_ROUNDING = 1e-9


def broken(text: str, *, late_s: float = 0.0) -> str:
    """The first law that a run's summary (`run --json`) breaks; empty if none.

    Its measurement may end so late.
    """
    try:
        summary = json.loads(text)
    except ValueError as error:
        return f"--json is not JSON: {error}"
    for where, number in _numbers(summary, ""):
        if not math.isfinite(number):
            return f"{where} = {number}"
        if number < 0 and not where.endswith("correlation"):
            return f"{where} = {number} is negative"
    for share in ("utilisation", "jain_index", "host_queue_drop_share"):
        number = summary.get(share)
        if number is not None and number > 1 + _ROUNDING:
            return f"{share} = {number}"
    measure = summary["measure"]
    if measure["to_s"] > summary["simulated_s"] + late_s + _ROUNDING:
        return f"measured until {measure['to_s']} s of {summary['simulated_s']} s"
    for name, of_class in summary["classes"].items():
        least, mean, most = (of_class[f"goodput_bps_{which}"] for which in ("min", "mean", "max"))
        if None not in (least, mean, most) and not (
            least <= mean * (1 + _ROUNDING) and mean <= most * (1 + _ROUNDING)
        ):
            return f"{name}: goodput {least}, {mean}, {most}"
    return ""


def _numbers(document: Any, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(document, dict):
        for key, below in document.items():
            yield from _numbers(below, f"{where}.{key}")
    elif isinstance(document, list):
        for index, below in enumerate(document):
            yield from _numbers(below, f"{where}.{index}")
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield where, float(document)
