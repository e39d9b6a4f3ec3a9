"""One summary over the runs of several seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

# Of these the sum says more than the median.
_SUMMED = ("wall_s", "packet_hops")


def summarise(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The summary over several runs of one scenario.

    It has the keys of a single one, with medians for numbers, and `runs`: the summaries of each.
    `wall_s` and `packet_hops` are totals; `fingerprint` is null, because each run has its own;
    `outcast` is what holds for more than half of the runs.

    A run that is not valid is left out and listed in `invalid_runs`. If none is valid, the summary
    is that of the last run.
    """
    seeds = list(dict.fromkeys(seed for summary in summaries for seed in summary["seeds"]))
    valid = [summary for summary in summaries if summary["valid"]]
    invalid = [
        {"seed": summary["seeds"][0], "faults": summary.get("faults") or []}
        for summary in summaries
        if not summary["valid"]
    ]
    if not valid:
        whole = dict(summaries[-1])
    elif len(seeds) == 1:
        whole = dict(valid[0])
    else:
        whole = _over_runs(valid)
    return whole | ({"invalid_runs": invalid} if invalid else {})


def _over_runs(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = _over(list(summaries))
    whole["seeds"] = [seed for summary in summaries for seed in summary["seeds"]]
    for key in _SUMMED:
        whole[key] = sum(summary[key] for summary in summaries)
    whole["packet_hops_per_s"] = (
        whole["packet_hops"] / whole["wall_s"] if whole["wall_s"] > 0 else None
    )
    whole["fingerprint"] = None
    whole["verdict"]["sentence"] = _sentence([summary["verdict"] for summary in summaries])
    whole["files"] = []
    whole["runs"] = list(summaries)
    return whole


def _over(values: list[Any]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    first = present[0]
    if isinstance(first, bool):
        return sum(present) * 2 > len(present)
    if isinstance(first, int | float):
        return statistics.median(present)
    if isinstance(first, dict):
        return {key: _over([value.get(key) for value in present]) for key in first}
    # texts and lists: the value that all share
    return first if all(value == first for value in present) else None


def _sentence(verdicts: Sequence[dict[str, Any]]) -> str:
    outcasts = sum(verdict["outcast"] for verdict in verdicts)
    ratios = sorted(verdict["ratio"] for verdict in verdicts if verdict["ratio"] is not None)
    spread = (
        f"; the throughput ratio is {statistics.median(ratios):.2f} in the median,"
        f" {ratios[0]:.2f} to {ratios[-1]:.2f}"
        if ratios
        else ""
    )
    return f"{outcasts} of {len(verdicts)} runs show an outcast{spread}."
