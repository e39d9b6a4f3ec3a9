"""The table by [[traffic]] that people read: one row per load, the columns that any of them has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A key of `fairport.quantities`, and where the number is in an entry of the summary's `traffic`.
_NUMBERS: dict[str, tuple[str, ...]] = {
    "flows": ("flows",),
    "goodput_bps_total": ("goodput_bps_total",),
    "goodput_bps_min": ("goodput_bps_min",),
    "jain_index": ("jain_index",),
    "rounds_started": ("rounds", "started"),
    "rounds_done": ("rounds", "done"),
    "round_time_median_s": ("rounds", "time_s", "median"),
    "round_time_p99_s": ("rounds", "time_s", "p99"),
    "transfers": ("transfers",),
    "unfinished": ("unfinished",),
    "fct_median_s": ("fct_s", "median"),
    "fct_p99_s": ("fct_s", "p99"),
    "small_fct_p99_s": ("small_fct_s", "p99"),
    "slowdown_median": ("slowdown", "median"),
    "slowdown_p99": ("slowdown", "p99"),
    "response_median_s": ("requests", "time_s", "median"),
    "response_p99_s": ("requests", "time_s", "p99"),
    "loss_share": ("loss_share",),
    "delay_mean_s": ("delay_s", "mean"),
    "delay_p99_s": ("delay_s", "p99"),
}


def table(summary: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """The columns, by the names of `fairport.quantities`, and of each load its name and numbers.

    Without rows where the one traffic is long-lived flows: the table by hop class says it all.
    """
    entries = summary.get("traffic", [])
    if len(entries) <= 1 and all("jain_index" in entry for entry in entries):
        return [], []
    columns = [
        name
        for name, path in _NUMBERS.items()
        if any(_at(entry, path) is not None for entry in entries)
    ]
    return columns, [
        (f"{entry['index']}: {entry['kind']}", [_at(entry, _NUMBERS[name]) for name in columns])
        for entry in entries
    ]


def flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of an entry that are there, by the names of `fairport.quantities`."""
    found = {name: _at(entry, path) for name, path in _NUMBERS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _at(entry: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = entry
    for part in path:
        found = found.get(part) if found else None
    # of long-lived flows and datagrams, none is a transfer
    return None if path[0] in ("transfers", "unfinished") and not entry["transfers"] else found
