"""One summary over the runs of several seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from fairport.metrics.caveats import caveats
from fairport.metrics.spread import FEWEST_FOR_QUARTILES, Spread
from fairport.metrics.verdict import PARITY

# For these keys the sum says more than the median.
_SUMMED = ("wall_s", "packet_hops")


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Consecutive seeds for people: "seed 1", "seeds 1 to 5"."""
    return f"seed{'s' if len(seeds) > 1 else ''} {first_to_last(seeds)}"


def first_to_last(seeds: Sequence[int]) -> str:
    """Consecutive seeds without the word: "1", "1 to 5"."""
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


def summarise(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The summary over several runs of one scenario.

    It has the keys of a single one, with medians for numbers, and `runs`: the summaries of each.
    `wall_s` and `packet_hops` are totals; `fingerprint` is null, because each run has its own;
    `outcast` is true if it is for more than half of the runs that have an answer.

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
    whole["verdict"]["sentence"] = sentence(summaries)
    whole["caveats"] = caveats(whole)
    whole["spread"] = ""
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
    if isinstance(first, int) and all(value == first for value in present):
        return first  # an index stays a whole number
    if isinstance(first, int | float):
        return statistics.median(present)
    if isinstance(first, dict):
        keys = dict.fromkeys(key for value in present for key in value)
        bounds = [key for key in keys if _is_lower_bound(key, present)]
        keys.pop("bounds", None)
        whole = {key: _over([value.get(key) for value in present]) for key in keys}
        return whole | ({"bounds": bounds} if bounds else {})
    if isinstance(first, list) and first and isinstance(first[0], dict):
        # one entry per [[traffic]], the same number in every run
        return [_over(list(entries)) for entries in zip(*present, strict=True)]
    # texts and lists: the value that all runs share
    return first if all(value == first for value in values) else None


def _is_lower_bound(name: str, runs: Sequence[dict[str, Any]]) -> bool:
    """Whether the median of this number over the runs is a lower bound.

    It is if it would be greater with greater values in the runs where the number is a lower bound.
    """
    known = [run for run in runs if run.get(name) is not None]
    is_bound = [name in (run.get("bounds") or ()) for run in known]
    if not any(is_bound):
        return False
    values: list[float] = [run[name] for run in known]
    most = [math.inf if lower else value for lower, value in zip(is_bound, values, strict=True)]
    return statistics.median(most) > statistics.median(values)


def sentence(summaries: Sequence[dict[str, Any]]) -> str:
    """The verdict over several runs."""
    found, ratios = headline(summaries), _ratios(summaries)
    if not found:
        typical = typical_run(summaries)
        return (
            f"Of {len(summaries)} runs, seed {typical['seeds'][0]} is nearest to the median total"
            f" goodput: {typical['verdict']['sentence']}"
        )
    if not ratios:
        return f"{found}."
    middle = ""
    if len(ratios) >= FEWEST_FOR_QUARTILES:
        spread = Spread.of(ratios)
        middle = f", the middle half {spread.q1:.2f} to {spread.q3:.2f}"
    return f"{found}{middle}; it ranges from {min(ratios):.2f} to {max(ratios):.2f}."


def headline(summaries: Sequence[dict[str, Any]]) -> str:
    """The beginning of that verdict, without a full stop; "" if no run has an answer."""
    verdicts = [summary["verdict"] for summary in summaries]
    known = [verdict["outcast"] for verdict in verdicts if verdict["outcast"] is not None]
    if not known:
        return ""
    found = f"{sum(known)} of {len(verdicts)} runs show an outcast"
    ratios = _ratios(summaries)
    if not ratios:
        return found
    ratio = statistics.median(ratios)
    favoured = " (the lone class is favoured)" if ratio >= 1 / PARITY else ""
    return f"{found}. The median throughput ratio is {ratio:.2f}{favoured}"


def typical_run(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The run that is nearest to the median ratio, or else to the median total goodput."""
    values = [summary["verdict"]["ratio"] for summary in summaries]
    if None in values:
        values = [summary["goodput_bps_total"] for summary in summaries]
    return summaries[values.index(statistics.median_low(values))]


def _ratios(summaries: Sequence[dict[str, Any]]) -> list[float]:
    ratios = [summary["verdict"]["ratio"] for summary in summaries]
    return [ratio for ratio in ratios if ratio is not None]
