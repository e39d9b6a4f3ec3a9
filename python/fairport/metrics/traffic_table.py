"""The summary's numbers of one [[traffic]] under flat names, and the table of them for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SIZES = ("small", "medium", "large")

# Keys of `fairport.quantities`, with the number's place in an entry of the summary's `traffic`.
_NUMBERS: dict[str, tuple[str, ...]] = {
    "flows": ("flows",),
    "goodput_bps_total": ("goodput_bps_total",),
    "goodput_bps_min": ("goodput_bps_min",),
    "jain_index": ("jain_index",),
    "rounds_started": ("rounds", "started"),
    "rounds_done": ("rounds", "done"),
    "round_time_median_s": ("rounds", "time_s", "median"),
    "round_time_p99_s": ("rounds", "time_s", "p99"),
    "round_goodput_bps": ("rounds", "goodput_bps"),
    "transfers": ("transfers",),
    "unfinished": ("unfinished",),
    "fct_median_s": ("fct_s", "median"),
    "fct_p99_s": ("fct_s", "p99"),
    **{
        f"{size}_fct_{part}_s": (f"{size}_fct_s", part)
        for size in _SIZES
        for part in ("median", "p99")
    },
    "slowdown_median": ("slowdown", "median"),
    "slowdown_p99": ("slowdown", "p99"),
    "response_median_s": ("requests", "time_s", "median"),
    "response_p99_s": ("requests", "time_s", "p99"),
    "loss_share": ("loss_share",),
    "delay_mean_s": ("delay_s", "mean"),
    "delay_p99_s": ("delay_s", "p99"),
}
# comparisons and studies have them; a run's table is wide enough
_NOT_SHOWN = frozenset(
    {"small_fct_median_s"}
    | {f"{size}_fct_{part}_s" for size in _SIZES[1:] for part in ("median", "p99")}
)


Row = tuple[str, list[Any], list[bool]]
"""A part's name, its numbers, and which of them are lower bounds."""


def table(summary: Mapping[str, Any]) -> tuple[list[str], list[Row]]:
    """The columns, by the names of `fairport.quantities`, and a row for each part.

    There are no rows if the only traffic is long-lived flows, because the table by hop class says
    everything.
    """
    entries = summary.get("traffic", [])
    if len(entries) <= 1 and all("jain_index" in entry for entry in entries):
        return [], []
    columns = [
        name
        for name in _NUMBERS
        if name not in _NOT_SHOWN and any(number(entry, name) is not None for entry in entries)
    ]
    return columns, [
        (
            f"{entry['index']}: {entry['kind']}",
            [number(entry, name) for name in columns],
            [is_bound(entry, name) for name in columns],
        )
        for entry in entries
    ]


def flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that an entry has, by the names of `fairport.quantities`."""
    found = {name: number(entry, name) for name in _NUMBERS}
    return {name: value for name, value in found.items() if value is not None}


def is_bound(entry: Mapping[str, Any], name: str) -> bool:
    """Whether the number of that name is a quantile of which only a lower bound is known."""
    *path, part = _NUMBERS[name]
    found: Any = entry
    for key in path:
        found = found.get(key) if found else None
    return isinstance(found, Mapping) and part in (found.get("bounds") or ())


def number(entry: Mapping[str, Any], name: str) -> Any:
    """The number of that name in an entry; None if it does not apply."""
    found: Any = entry
    for part in _NUMBERS[name]:
        found = found.get(part) if found else None
    # long-lived flows and datagrams have no transfers
    return None if name in ("transfers", "unfinished") and not entry["transfers"] else found
