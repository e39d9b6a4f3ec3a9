"""Where to look: an output port, and a time around a blackout, a moment, or a flow's losses."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from fairport.errors import InputError, did_you_mean, require_known
from fairport.metrics import shown_blackout
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.result import Result
from fairport.scenario.units import Duration, UnitError

WORST = "worst"

# The view extends by this many lengths of the blackout to both sides of it, but is never shorter
# than the shortest view: about fifty full packets at 1 Gbit/s.
_LENGTHS_AROUND = 1.5
_SHORTEST_S = 600e-6
# The worst blackout is searched for after this share of the measurement. Before it, all flows are
# in their first slow start, which overflows every buffer.
_START_SHARE = 0.1
# It should last no longer than this many packets on the line. A longer one is interrupted by
# timeouts, and no picture of it can show single packets.
_AT_ONCE_PACKETS = 200


@dataclass(frozen=True, slots=True)
class Focus:
    """A port and a span of time."""

    port: str
    """The output port."""
    from_s: float
    to_s: float
    why: str
    """What can be seen there, as a clause."""
    ingress_port: str | None = None
    """The ingress port whose packets were dropped in a row."""
    dark_s: tuple[float, float] | None = None
    """The times of the first and the last of these drops."""
    flow: int | None = None
    """The flow that the user asked for."""


def focus(
    result: Result, around: str = WORST, port: str | None = None, span: str | None = None
) -> Focus:
    """What to look at in a run.

    `around` is `worst` (the longest blackout of the starved class, after the start), a time
    such as `2.5s`, or a flow: its number or its sending host. `port` is by default the bottleneck,
    `span` as long as the blackout needs. Raises InputError.
    """
    port = _port(result, port)
    wide = None if span is None else _time(span, "--span")
    if wide == 0:
        raise InputError("shows nothing", field="--span", value=span, remedy="give a longer one")
    drops = result.drops.filter(pl.col("port") == port)
    if around == WORST:
        return _around_worst(result, drops, port, wide)
    if re.fullmatch(r"[0-9.]+\s*[a-zµ]+", around):
        middle = _time(around, "--around")
        end = _end_s(result)
        if middle > end:
            raise InputError(
                f"is after the end of the run at {end:g} s",
                field="--around",
                value=around,
                remedy="give an earlier time",
            )
        from_s, to_s = _view(middle, wide or 2 * _SHORTEST_S, end)
        return Focus(port, from_s, to_s, f"around {around}")
    return _around_flow(result, drops, port, around, wide)


def _port(result: Result, port: str | None) -> str:
    known = result.ports["port"].to_list()
    if port is not None:
        require_known(port, known, "is not a port of this run", field="--port")
        return port
    observed = result.packets["port"].unique().to_list()
    worst = result.summary["bottleneck"]
    if worst is None:
        raise InputError(
            "is missing, and this run has no bottleneck: no port carries a flow",
            field="--port",
            remedy="name a port, such as --port s0:0",
        )
    name = str(worst["port"])
    return observed[0] if observed and name not in observed else name


def _packet_s(result: Result, port: str) -> float:
    """The average time of a packet at the port."""
    (row,) = result.ports.filter(port=port).iter_rows(named=True)
    busy_s = _end_s(result) * float(row["busy_share"])
    return busy_s / max(int(row["packets"]), 1)


def _around_worst(result: Result, drops: pl.DataFrame, port: str, wide: float | None) -> Focus:
    measure = result.summary["measure"]
    every = blackouts(drops).filter(pl.col("last_s") <= measure["to_s"])
    found = every
    after_start = measure["from_s"] + _START_SHARE * (measure["to_s"] - measure["from_s"])
    at_once = _AT_ONCE_PACKETS * _packet_s(result, port)
    only: list[str] = []
    for words, wanted in (
        ("after the start", pl.col("first_s") >= after_start),
        (f"within {_AT_ONCE_PACKETS} packets", pl.col("last_s") - pl.col("first_s") <= at_once),
    ):
        some = found.filter(wanted)
        if not some.is_empty():
            found, only = some, [*only, words]
    if found.is_empty():
        remedy = "give a time, such as --around 2.5s, or another --port"
        if not drops.is_empty():
            first_s = drops["time_s"].to_list()[0]  # they are in order of time
            remedy = f"the first drop there is at --around {first_s:.9g}s; or give another --port"
        raise InputError(
            f"finds no blackout at port {port}: it never dropped two packets of one ingress port "
            "in a row while it accepted others",
            field="--around",
            value=WORST,
            remedy=remedy,
        )
    known = found.sort("length", descending=True)["ingress_port"].unique(maintain_order=True)
    ingress, why = shown_blackout.of_the_starved(
        result.tables, result.summary, port, known.to_list()
    )
    longest = found.filter(ingress_port=ingress).sort("length", descending=True).row(0, named=True)
    # the report's tables count a longer one that is left out here
    is_longer = pl.col("length") > int(longest["length"])
    longer = every.filter(is_longer, ingress_port=ingress)
    of_those = "" if longer.is_empty() else f" {' and '.join(only)}"
    text = f"longest blackout of {ingress}{of_those}, {longest['length']} packets in a row: {why}"
    return _around_run(longest, port, ingress, text, wide or _as_needed(longest), _end_s(result))


def _around_flow(
    result: Result, drops: pl.DataFrame, port: str, name: str, wide: float | None
) -> Focus:
    of_flows = pl.col("flow").is_in(_flows(result, name).implode())
    runs = drop_runs(drops.filter(of_flows), "flow")
    if runs.is_empty():
        raise InputError(
            f"lost no packet at port {port}",
            field="--around",
            value=name,
            remedy="give another flow, a time such as 2.5s, or another --port",
        )
    longest = runs.sort("length", descending=True, maintain_order=True).row(0, named=True)
    flow = int(longest["flow"])
    ingress = drops.filter(flow=flow, time_s=longest["first_s"])["ingress_port"][0]
    length = (
        "a single packet" if longest["length"] == 1 else f"{longest['length']} packets in a row"
    )
    text = f"longest drop run of flow {flow}, {length}"
    wide = wide or _as_needed(longest)
    return _around_run(longest, port, ingress, text, wide, _end_s(result), flow)


def _around_run(
    run: dict[str, float],
    port: str,
    ingress: str,
    why: str,
    wide: float,
    end_s: float,
    flow: int | None = None,
) -> Focus:
    dark = (run["first_s"], run["last_s"])
    from_s, to_s = _view(sum(dark) / 2, wide, end_s)
    return Focus(port, from_s, to_s, why, ingress, dark, flow)


def _as_needed(run: dict[str, float]) -> float:
    """The width of a view that shows a blackout and what is around it."""
    length = run["last_s"] - run["first_s"]
    return length + max(2 * _LENGTHS_AROUND * length, _SHORTEST_S)


def _view(middle_s: float, wide_s: float, end_s: float) -> tuple[float, float]:
    """A view of this width around a moment, within the run."""
    from_s = max(min(middle_s - wide_s / 2, end_s - wide_s), 0.0)
    return from_s, min(from_s + wide_s, end_s)


def _end_s(result: Result) -> float:
    return float(result.manifest["simulated_s"])


def _flows(result: Result, name: str) -> pl.Series:
    """The flows with this number or of this sending host."""
    flows = result.flows
    if name.isdigit():
        found = flows.filter(flow=int(name)) if int(name) < 2**32 else flows.clear()
    else:
        found = flows.filter(src=name)
    if found.is_empty():
        raise InputError(
            "is neither `worst`, nor a time such as 2.5s, nor a flow of this run",
            field="--around",
            value=name,
            remedy=did_you_mean(name, [WORST, *flows["src"].unique().sort()]),
        )
    return found["flow"]


def _time(text: str, option: str) -> float:
    try:
        return Duration(text).seconds
    except UnitError as error:
        raise error.placed(InputError, file="", field=option, value=text) from None
