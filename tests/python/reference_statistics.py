"""The statistics of a summary, small and slow, to compare with: each as its source defines it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import fsum, isclose
from typing import Any

Row = dict[str, Any]
QUANTILES = {"median": 0.5, "p99": 0.99, "max": 1.0}


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return fsum(found) / len(found)


def jain(values: Iterable[float]) -> float | None:
    """Jain, Chiu & Hawe 1984; undefined if nobody gets anything."""
    found = list(values)
    squares = len(found) * fsum(x * x for x in found)
    return fsum(found) ** 2 / squares if squares else None


def kaplan_meier(times: Iterable[tuple[float, bool]], share: float) -> tuple[float, bool]:
    """The least time by which this share is over, and whether it is only a lower bound.

    A time is that of the end, or an age (False). Kaplan & Meier 1958, with whole numbers as far
    as they go.
    """
    found = sorted(times, key=lambda one: (one[0], not one[1]))
    left = 1.0
    for number, (time, over) in enumerate(found):
        at_risk = len(found) - number
        if over:
            left *= (at_risk - 1) / at_risk
            if left <= 1 - share + 1e-12:
                return time, False
    return found[-1][0], True


def quantiles(times: list[tuple[float, bool]], *names: str) -> Row:
    found = {name: kaplan_meier(times, QUANTILES[name]) for name in names}
    bounds = [name for name, (_, lower) in found.items() if lower]
    return {name: value for name, (value, _) in found.items()} | (
        {"bounds": bounds} if bounds else {}
    )


def drop_runs(drops: list[Row], by: str) -> list[list[Row]]:
    """Drops of consecutive arrivals at one output port: by "flow", by "ingress", of the "port"."""
    columns = {"flow": ("flow", "is_backward"), "ingress": ("ingress_port",), "port": ()}[by]

    def member(row: Row) -> tuple[Any, ...]:
        return (row["port"], *(row[column] for column in columns))

    found: list[list[Row]] = []
    for row in sorted(drops, key=lambda row: (*member(row), row[f"{by}_arrival"])):
        last = found[-1][-1] if found else None
        if (
            last
            and member(last) == member(row)
            and row[f"{by}_arrival"] == last[f"{by}_arrival"] + 1
        ):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def arrivals(drops: list[Row]) -> set[tuple[str, int]]:
    """The packets that were dropped, by port and number of arrival."""
    return {(row["port"], row["port_arrival"]) for row in drops}


def others_accepted(run: list[Row], dropped: set[tuple[str, int]]) -> int:
    """How many packets arrived at the port between a run's first and last, and were not dropped."""
    between = range(run[0]["port_arrival"], run[-1]["port_arrival"])
    return sum((run[0]["port"], arrival) not in dropped for arrival in between)


def blackouts(drops: list[Row]) -> list[list[Row]]:
    """Prakash et al. 2012: two or more drops in a row, with an accepted packet for each gap."""
    dropped = arrivals(drops)
    runs = [run for run in drop_runs(drops, "ingress") if len(run) >= 2]
    return [run for run in runs if others_accepted(run, dropped) >= len(run) - 1]


def weighted_mean(samples: list[tuple[float, int]]) -> float | None:
    count = sum(n for _, n in samples)
    return fsum(value * n for value, n in samples) / count if count else None


def weighted_quantile(samples: list[tuple[float, int]], share: float) -> float | None:
    """The least value with at least this share of the samples at it or below."""
    count, below = sum(n for _, n in samples), 0
    for value, n in samples:
        below += n
        if below >= share * count:
            return value
    return None


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ, by more than rounding."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            yield from differences(
                ours.get(key, "absent"), theirs.get(key, "absent"), f"{path}.{key}"
            )
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif all(isinstance(one, int | float) and not isinstance(one, bool) for one in (ours, theirs)):
        if not isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-15):
            yield f"{path}: {ours} is {theirs} in the summary"
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{path}: {ours} is {theirs} in the summary"
