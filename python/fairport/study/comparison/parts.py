"""The parts of a comparison's traffic, and the metrics that suit each: they follow the workload.

Long-lived flows are compared by the share that each gets, an incast by its rounds, transfers by
their completion times, requests by their response times, datagrams by loss and delay. A *part* is
one [[traffic]] of the scenario. All long-lived flows of the scenario together are one part, because
they share the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairport.errors import InputError, require_known
from fairport.metrics import traffic_table
from fairport.record import Record
from fairport.scenario import Scenario
from fairport.scenario.traffic.incast import Incast
from fairport.study.comparison.metrics import METRICS, OF_THE_RUN, RANKING_OF_THE_RUN, Groups

# metrics of each kind of traffic; the first one that the part has ranks it
_SHOWN: dict[str, tuple[str, ...]] = {
    "bulk": ("throughput_ratio", "jain_index", "goodput_bps_min"),
    "incast": ("rounds_done", "round_time_median_s", "round_time_p99_s"),
    # with every fix as many rounds are done, unless the run ends before
    "incast of given rounds": ("round_time_p99_s", "round_time_median_s", "rounds_done"),
    "request-response": ("response_p99_s", "response_median_s", "unfinished"),
    "udp": ("loss_share", "delay_p99_s", "delay_mean_s"),
    "transfers": (
        "small_fct_p99_s",
        "small_fct_median_s",
        "fct_p99_s",
        "slowdown_median",
        "slowdown_p99",
        "unfinished",
    ),
}


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One part of a comparison, or the whole run, and the metrics by which it is compared."""

    indices: tuple[int, ...]
    """Indices of the scenario's [[traffic]]; empty: the whole run."""
    kind: str
    metric: str | None
    """The metric that ranks the fixes; None: this part does not decide the ranking."""
    shown: tuple[str, ...]
    """The metrics that are shown."""

    @property
    def label(self) -> str:
        """Its name for people, such as "traffic 0 (incast)"."""
        if not self.indices:
            return "the run"
        numbers = ", ".join(map(str, self.indices))
        return f"traffic {numbers} ({self.kind})"

    @property
    def is_long_lived(self) -> bool:
        """Whether its flows have no end, so that they are compared by their shares."""
        return "jain_index" in self.shown

    def key(self, metric: str) -> str:
        """The name of the metric's column in a comparison's tables."""
        return f"traffic_{self.indices[0]}_{metric}" if _is_of_a_part(metric) else metric

    def values(self, record: Record) -> dict[str, float | None]:
        """The metrics of one run that `metrics_of` does not have, by their columns."""
        entry = record.summary["traffic"][self.indices[0]] if self.indices else {}
        found = {
            name: traffic_table.number(entry, name) for name in filter(_is_of_a_part, self.shown)
        }
        return {
            self.key(name): None if value is None else float(value) for name, value in found.items()
        }

    def is_bound(self, record: Record) -> bool:
        """Whether the number that ranks it in one run is a lower bound only."""
        if self.metric is None or not _is_of_a_part(self.metric) or not self.indices:
            return False
        return traffic_table.is_bound(record.summary["traffic"][self.indices[0]], self.metric)


def check(metric: str | None) -> None:
    """Raises InputError for a metric that does not exist."""
    if metric is not None:
        require_known(metric, METRICS, "is not a metric", field="metric")


def compared_parts(
    scenario: Scenario, record: Record, groups: Groups, metric: str | None
) -> list[ComparedPart]:
    """The parts of the traffic, from a run without a fix; `metric` replaces the usual choice.

    Datagrams decide the ranking only if there is nothing else. Raises InputError for a metric that
    no part of the scenario has, and if none has any.
    """
    entries = record.summary["traffic"]
    bulk = tuple(one["index"] for one in entries if _sort(one) == "bulk")
    parts = [_part(bulk, scenario, entries, groups)] if bulk else []
    parts += [
        _part((one["index"],), scenario, entries, groups) for one in entries if _sort(one) != "bulk"
    ]
    parts.sort(key=lambda part: part.indices)
    if metric is None:
        if not any(part.metric for part in parts):
            raise InputError(
                "has nothing to compare: no transfer began within the measurement",
                field=scenario.name,
                remedy='run it for longer, or with `measure.from = "0s"`',
            )
        only_udp = all(part.kind == "udp" for part in parts if part.metric)
        return [part if only_udp or part.kind != "udp" else _unranked(part) for part in parts]
    if metric in RANKING_OF_THE_RUN:
        return [*map(_unranked, parts), ComparedPart((), "run", metric, ())]
    chosen = [_by(part, metric, entries, groups) for part in parts]
    if not any(part.metric for part in chosen):
        known = dict.fromkeys(name for part in parts for name in part.shown)
        raise InputError(
            f"is not a metric of any [[traffic]] of {scenario.name}",
            field="metric",
            value=metric,
            remedy=f"choose one of {', '.join([*known, *RANKING_OF_THE_RUN])}",
        )
    return chosen


def _sort(entry: Mapping[str, Any]) -> str:
    if entry["kind"] in ("incast", "udp", "request-response"):
        return str(entry["kind"])
    return "bulk" if "jain_index" in entry else "transfers"


def _part(
    indices: tuple[int, ...],
    scenario: Scenario,
    entries: Sequence[Mapping[str, Any]],
    groups: Groups,
) -> ComparedPart:
    entry, traffic = entries[indices[0]], scenario.traffic[indices[0]]
    sort = _sort(entry)
    if isinstance(traffic, Incast) and traffic.rounds is not None:
        sort = "incast of given rounds"
    shown = tuple(name for name in _SHOWN[sort] if _is_there(name, entry, groups))
    kind = sort if sort == "bulk" else entry["kind"]
    return ComparedPart(indices, kind, shown[0] if shown else None, shown)


def _is_there(name: str, entry: Mapping[str, Any], groups: Groups) -> bool:
    """Whether the part has the metric in the scenario without a fix."""
    if name == "throughput_ratio":
        return bool(groups.lone)
    if name.startswith("round_time"):
        return True  # a fix may complete rounds although none was completed without it
    return not _is_of_a_part(name) or traffic_table.number(entry, name) is not None


def _is_of_a_part(name: str) -> bool:
    """Whether it is a number of one [[traffic]]; otherwise it is one of the run."""
    return name not in (*OF_THE_RUN, "goodput_bps_min")


def _unranked(part: ComparedPart) -> ComparedPart:
    return replace(part, metric=None)


def _by(
    part: ComparedPart, metric: str, entries: Sequence[Mapping[str, Any]], groups: Groups
) -> ComparedPart:
    """The part ranked by this metric; unranked if it does not have it."""
    if metric.startswith("round"):
        has = part.kind == "incast"
    elif metric in _SHOWN["bulk"]:
        has = part.is_long_lived and (metric != "throughput_ratio" or groups.lone != "")
    else:
        has = traffic_table.number(entries[part.indices[0]], metric) is not None
    if not has:
        return _unranked(part)
    shown = part.shown if metric in part.shown else (metric, *part.shown)
    return replace(part, metric=metric, shown=shown)
