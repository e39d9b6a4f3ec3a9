"""What the page holds of one run, for its scripts: flows, series, queues, decisions, blackouts.

Columns are lists; a value that does not exist is null. Rates, sizes and times are in base units.
Series are combined into longer steps if they have more points than a browser draws at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairport import headers
from fairport.figures import hop_classes, over_time
from fairport.figures.groups import Group, groups
from fairport.figures.queue import buffer_limit, occupancy
from fairport.metrics import fairness, shown_blackout

if TYPE_CHECKING:
    from fairport.result import Result

# Columns of the series that have a panel, and how their values are combined into longer steps.
_SERIES = ("goodput_bps", "cwnd_bytes", "rtt_mean_s")
# Most points of one quantity (flows times steps) that a browser draws at once.
_MOST_POINTS = 100_000
_FEWEST_STEPS = 250
# Lines of at least so many flows are in the page.
_FEWEST_LINES = 40
_MOST_DECISIONS = 40_000
_MOST_STEPS_OF_QUEUE = 2_000
_MOST_QUEUES = 6
_MOST_PACKETS = 4_000
_MOST_EVENTS = 2_000

# The decisions that are drawn as marks; if there are too many, the first kinds are kept.
_MARKS = ("rto", "undo", "ecn-reduction", "enter-recovery", "slow-start-end")
_FLOW_COLUMNS = (
    "flow",
    "src",
    "dst",
    "traffic",
    "workload",
    "congestion_control",
    "start_s",
    "size_bytes",
    "goodput_bps",
    "timeouts",
    "timeout_period_s",
    "drops",
    "retransmits",
    "rtt_mean_s",
    "fct_s",
    "ideal_fct_s",
)


def document(result: Result, tables: dict[str, Any]) -> dict[str, Any]:
    """The run as the scripts read it; `tables` are the printed cells of the page's tables."""
    classes = groups(result)
    return {
        "seed": result.seed,
        "end": over_time.end_s(result),
        "mss": _mss_bytes(result),
        "rtt": rtt_in_words(result),
        "classes": [{"name": one.name, "colour": one.colour} for one in classes],
        "flows": _flows(result, classes),
        "series": _series(result, classes),
        "queues": _queues(result),
        "decisions": _decisions(result),
        "blackouts": _blackouts(result),
        "events": {"rounds": _rounds(result), "requests": _requests(result)},
        "tables": tables,
    }


def rtt_in_words(result: Result) -> str:
    """What the column `rtt_mean_s` holds; of datagrams it is the delay of one way."""
    return "RTT" if "tcp" in result.flows["protocol"] else "one-way delay"


def _mss_bytes(result: Result) -> int:
    given = result.scenario.tcp.mss
    return int(given) if given else int(result.scenario.link.mtu) - headers.IPV4_TCP


def _flows(result: Result, classes: list[Group]) -> dict[str, list[Any]]:
    flows = result.flows.sort("flow")
    of_class = {flow: place for place, one in enumerate(classes) for flow in one.flows}
    columns = {name: _short(flows[name]) for name in _FLOW_COLUMNS}
    return columns | {"class": [of_class[flow] for flow in columns["flow"]]}


def _series(result: Result, classes: list[Group]) -> dict[str, Any]:
    """Lines of flows on one grid of times; for many flows of a class, their band, too."""
    compared = fairness.compared(result.flows)
    # of UDP alone, nothing is compared, but all is shown
    shown = (result.flows if compared.is_empty() else compared)["flow"]
    rows = result.series.filter(pl.col("flow").is_in(shown.implode()))
    found: dict[str, Any] = {"times": [], "step": 0.0, "flows": [], "bands": {}}
    if rows.is_empty():
        return found | {name: [] for name in _SERIES}
    flows = rows["flow"].unique().sort().to_list()
    stamps = rows["time_s"].n_unique()
    steps = max(min(stamps, _MOST_POINTS // len(flows)), min(stamps, _FEWEST_STEPS))
    kept = flows[: max(_MOST_POINTS // steps, _FEWEST_LINES)]
    share = -(-stamps // steps)
    bands = [_needs_band(one, set(flows), set(kept)) for one in classes]
    interval = result.scenario.probes.series_interval.seconds
    found |= {"step": interval * share, "flows": kept}
    for name in _SERIES:
        times, values = over_time.grid(result, flows, name, most_points=steps)
        found["times"] = _digits(times)
        found[name] = [_digits(values[:, place]) for place in range(len(kept))]
        found["bands"][name] = [
            _band(values, flows, one) if needed else None
            for one, needed in zip(classes, bands, strict=True)
        ]
    return found


def _needs_band(one: Group, sampled: set[int], kept: set[int]) -> bool:
    """Whether the lines of a class would cover each other, or not all are in the page."""
    mine = sampled.intersection(one.flows)
    return len(mine) > over_time.MAX_LINES or not mine <= kept


def _band(values: over_time.Floats, flows: list[int], one: Group) -> dict[str, Any]:
    mine = values[:, np.isin(flows, one.flows)]
    low, high = over_time.middle_90(mine)
    return {"mean": _digits(over_time.mean(mine)), "low": _digits(low), "high": _digits(high)}


def _queues(result: Result) -> dict[str, Any]:
    """Occupancy of the bottleneck port and of those with most drops, in steps."""
    worst = result.summary["bottleneck"]
    if worst is None:
        return {"ports": [], "limit": None}
    by_drops = result.ports.sort("drops", "port", descending=[True, False])
    names = dict.fromkeys([worst["port"], *by_drops["port"].head(_MOST_QUEUES)])
    ports = []
    for name in names:
        steps = occupancy(result, name, _MOST_STEPS_OF_QUEUE)
        if steps.is_empty():
            continue
        columns = {"times": "time_s", "low": "low", "mean": "mean", "high": "high"}
        ports.append({"port": name} | {key: _short(steps[one]) for key, one in columns.items()})
    limit = buffer_limit(result)
    return {
        "ports": ports,
        "limit": {"bytes": limit.bytes, "text": limit.text} if limit else None,
    }


def _decisions(result: Result) -> dict[str, Any]:
    """Decisions of TCP: those kinds that fit completely, and the kinds that are left out."""
    rows = result.tables["decisions"].filter(pl.col("what").is_in(_MARKS))
    counts = dict(rows["what"].value_counts().iter_rows())
    kept: list[str] = []
    for kind in _MARKS:
        if sum(counts.get(one, 0) for one in [*kept, kind]) <= _MOST_DECISIONS:
            kept.append(kind)
    rows = rows.filter(pl.col("what").is_in(kept)).sort("time_s", "flow")
    causes = rows["cause"].unique().sort().to_list()
    return {
        "kinds": kept,
        "causes": causes,
        "left_out": {kind: count for kind, count in counts.items() if kind not in kept},
        "time": [round(time, 6) for time in rows["time_s"].to_list()],
        "flow": rows["flow"].to_list(),
        "what": [kept.index(kind) for kind in rows["what"].to_list()],
        "cause": [causes.index(cause) for cause in rows["cause"].to_list()],
        "before": rows["cwnd_before_bytes"].to_list(),
        "after": rows["cwnd_after_bytes"].to_list(),
    }


def _blackouts(result: Result) -> dict[str, Any] | None:
    """The recorded blackouts, packet by packet; that of the starved class is shown first."""
    first = shown_blackout.shown(result.tables, result.summary)
    if first is None:
        return None
    known = result.trace["blackout_of"].unique(maintain_order=True).to_list()
    found = []
    for name in known:
        one = shown_blackout.shown(result.tables, result.summary, name)
        assert one is not None, "it is among those that were recorded"
        packets = one.packets.head(_MOST_PACKETS)
        begin = packets["time_s"][0]
        found.append(
            {
                "ingress": name,
                "from": begin,
                "part": one.part,
                "packets": {
                    "ingress": packets["ingress_port"].to_list(),
                    "us": _micro(packets["time_s"] - begin),
                    "out_us": _micro(packets["depart_s"] - begin),
                    "dropped": (packets["fate"] == "dropped").to_list(),
                    "flow": packets["flow"].to_list(),
                    "seq": packets["seq"].to_list(),
                },
            }
        )
    looks = hop_classes.ingress_looks(result, sorted(result.trace["ingress_port"].unique()))
    return {
        "port": first.port,
        "shown": first.ingress_port,
        "why": first.why,
        "colours": {port: look.colour for port, look in looks.items()},
        "list": found,
    }


def _rounds(result: Result) -> dict[str, list[Any]]:
    rows = result.rounds.head(_MOST_EVENTS)
    names = ("traffic", "round", "flow", "start_s", "bytes", "completion_s")
    return {name: _short(rows[name]) for name in names}


def _requests(result: Result) -> dict[str, list[Any]]:
    rows = result.requests.sort("response_s", descending=True, nulls_last=False).head(_MOST_EVENTS)
    names = ("traffic", "flow", "request", "start_s", "response_bytes", "response_s")
    return {name: _short(rows[name]) for name in names}


def _micro(times: pl.Series) -> list[float | None]:
    return [None if time is None else round(time * 1e6, 3) for time in times.to_list()]


def _short(column: pl.Series) -> list[Any]:
    """Values for JSON; numbers with a fraction are rounded to six digits."""
    return _digits(column.to_numpy()) if column.dtype.is_float() else column.to_list()


def _digits(values: Any) -> list[float | None]:
    """A number with six significant digits, whole numbers in full; null if it is not known."""
    exact = np.asarray(values, dtype=np.float64)
    size = np.abs(np.where(np.isfinite(exact) & (exact != 0), exact, 1.0))
    places = 5 - np.floor(np.log10(size))
    # powers of ten up to 10^22 are exact, and so the quotient is the double nearest to the decimal
    up, down = 10.0 ** np.clip(places, 0, 22), 10.0 ** np.clip(-places, 0, 22)
    short = np.where(exact == np.trunc(exact), exact, np.rint(exact / down * up) / up * down)
    return [
        None if value != value else int(value) if value.is_integer() else value
        for value in short.tolist()
    ]
