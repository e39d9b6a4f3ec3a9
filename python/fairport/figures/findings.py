"""What the figures of a run show, in one sentence each: their titles.

The words and numbers are those of the verdict and the summary, so that no title says more than
they do. A title is about the lone class and its peers; without a lone class, about all flows. It
has no full stop, and is true of this run alone: of one seed it claims nothing about others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport.metrics import fairness, repeats, traffic_parts
from fairport.metrics.verdict import headline, lone_and_peers, ratio_in_words, subject
from fairport.quantities import QUANTITIES, Quantity, of_number, three_digits

if TYPE_CHECKING:
    from fairport.microscope import Focus
    from fairport.result import Result

NO_SAMPLES = "The run ended before its first sample"
# a shorter run of drops is repaired by fast retransmit, as in the verdict
_LONG_RUN = 3


def goodput(result: Result) -> str:
    """Who gets how much."""
    flows = fairness.compared(result.flows)
    if flows.is_empty() or fairness.is_endless(flows):
        return headline(result.summary["classes"], fairness.established(flows))
    # a transfer's goodput is its size's as much as the network's, so there is no one to compare
    total = QUANTITIES["goodput_bps_total"].with_unit(result.summary["goodput_bps_total"])
    return f"All TCP flows together get {total}"


def goodput_by_span(result: Result, rates: Mapping[int, float], span: str) -> str:
    """The same, and how it was in another span, by the rates of the flows that have samples."""
    said, flows = goodput(result), fairness.compared(result.flows)
    lone, peers = _lone_and_peers(result)
    if not lone or not fairness.established(flows)[lone] or not rates:
        return said
    means = dict(
        flows.filter(pl.col("flow").is_in(list(rates)))
        .select(fairness.hop_class(), rate=pl.col("flow").replace_strict(rates))
        .group_by("hop_class")
        .agg(pl.col("rate").mean())
        .iter_rows()
    )
    if result.summary["classes"][lone]["throughput_ratio"] is None or lone not in means:
        return said
    if not means.get(peers):
        return said
    return f"{said}, {ratio_in_words(means[lone] / means[peers])} it {span}"


def window(result: Result, means: Mapping[str, float | None]) -> str:
    """The mean congestion windows; `means` by hop class, in bytes.

    One class may hold flows of different kinds, whose common mean no flow has: the title then says
    how far their own means are apart.
    """
    samples = result.series.join(fairness.compared(result.flows), on="flow", how="semi")
    mean = pl.col("cwnd_bytes").mean()
    of_flows = sorted(samples.group_by("flow").agg(mean)["cwnd_bytes"].drop_nulls().to_list())
    if len(means) == 1 and len(of_flows) > 1:
        quantity = QUANTITIES["cwnd_bytes"].at_size(of_flows[-1])
        least, most = (short(quantity, of_flows[end]) for end in (0, -1))
        if least != most:
            return f"The flows' mean congestion windows are {least} to {most}"
    return _class_by_class(result, means, "cwnd_bytes", "congestion window")


def round_trips(result: Result) -> str:
    """The mean round-trip times."""
    classes = result.summary["classes"]
    return _class_by_class(
        result, {name: one["rtt_mean_s"] for name, one in classes.items()}, "rtt_s", "RTT"
    )


def _class_by_class(result: Result, means: Mapping[str, float | None], key: str, what: str) -> str:
    """A mean of the lone class and its peers, or the range over the classes."""
    known = {name: value for name, value in means.items() if value is not None}
    if not result.summary["classes"]:
        return headline({}, {})
    if not known:
        is_sampled = result.series.height or not result.scenario.probes.flows
        return f"There is no sample of the {what}" if is_sampled else NO_SAMPLES
    quantity = QUANTITIES[key].at_size(max(known.values()))
    lone, peers = _lone_and_peers(result)
    if lone in known and peers in known:
        whose, verb = subject(lone, result.summary["classes"][lone]["flows"])
        its = verb("its", "their")
        return (
            f"{whose}{_genitive(verb)} mean {what} is {short(quantity, known[lone])},"
            f" that of {its} {peers} peers {short(quantity, known[peers])}"
        )
    least, most = (pick(known, key=known.__getitem__) for pick in (min, max))
    if len(known) == 1:
        return f"The mean {what} is {short(quantity, known[least])}"
    return (
        f"The mean {what} is {short(quantity, known[least])} ({least}) to"
        f" {short(quantity, known[most])} ({most})"
    )


def _lone_and_peers(result: Result) -> tuple[str, str]:
    """As in the verdict: transfers are not compared, so that they have no lone class."""
    is_compared = fairness.is_endless(fairness.compared(result.flows))
    return lone_and_peers(result.summary["classes"]) if is_compared else ("", "")


def short(quantity: Quantity, value: float) -> str:
    """The value with its unit, in three significant digits."""
    return f"{three_digits(value * quantity.factor)} {quantity.unit}".rstrip()


def drop_runs(result: Result, runs: pl.DataFrame) -> str:
    """How many of the drops are in long runs; `runs` are those by flow at the bottleneck."""
    if runs.is_empty():
        is_inferred = bool(result.flows["drops"].sum())
        return "The order of the drops is not known" if is_inferred else "No packet was dropped"
    lone, peers = _lone_and_peers(result)
    of_flows = fairness.compared(result.flows).select("flow", fairness.hop_class())
    by_class = {
        name: _in_long_runs(rows)
        for (name,), rows in runs.join(of_flows, on="flow").group_by("hop_class")
    }
    long = "in runs of three or more"
    if not lone or not by_class.keys() & {lone, peers}:
        dropped, share = _in_long_runs(runs)
        return f"{share:.0f} % of the {dropped:,} drops are {long} of one flow"
    whose, verb = subject(lone, result.summary["classes"][lone]["flows"])
    its = f"{verb('its', 'their')} {peers} peers"
    (ours, share), (theirs, other) = (by_class.get(name, (0, 0.0)) for name in (lone, peers))
    if not ours or not theirs:
        number = [f"{count:,} packets" if count else "no packet" for count in (ours, theirs)]
        return f"{whose} lost {number[0]} at the bottleneck, {its} {number[1]}"
    return (
        f"{share:.0f} % of {whose[0].lower()}{whose[1:]}{_genitive(verb)} drops are {long},"
        f" {other:.0f} % of {its}'"
    )


def _genitive(verb: Callable[[str, str], str]) -> str:
    """The ending of a subject that owns something; `verb` chooses singular or plural."""
    return verb("'s", "'")


def _in_long_runs(runs: pl.DataFrame) -> tuple[int, float]:
    """The number of drops, and the share of them in runs of three or more, in per cent."""
    length = pl.col("length")
    dropped, in_long = runs.select(
        length.sum(), length.filter(length >= _LONG_RUN).sum().alias("in_long")
    ).row(0)
    return dropped, 100 * in_long / dropped


def blackout(ingress_port: str, dropped: int, accepted: int) -> str:
    """A blackout: packets of one ingress port are lost in a row, those of others are not."""
    others = f", and {accepted} from other ports accepted" if accepted else ""
    return f"{dropped} packets in a row from {ingress_port} are dropped{others}"


def queue(result: Result) -> str:
    """How full the bottleneck's buffer is, in the words of the summary."""
    worst = result.summary["bottleneck"]
    if worst is None:
        return "No port carries a flow"
    mean, most = (
        short(QUANTITIES["queue_bytes"].at_size(value), value)
        for value in (worst["queue_mean_bytes"], float(worst["queue_max_bytes"]))
    )
    return f"The bottleneck's queue holds {mean} on average, {most} at most"


def transfers(result: Result, count: int) -> str:
    """How much longer transfers took than in the empty network; `count` are those that count."""
    found: Any = result.summary["fct"]
    if not found or not found["all"]["completed"]:
        return traffic_parts.completed(0, count)
    return traffic_parts.slowdown("The transfers'", _quantiles(found["all"], "slowdown_{}"))


def requests(result: Result) -> str:
    """How many requests were answered, and how soon."""
    found: Any = result.summary["requests"]
    times = _quantiles(found, "response_{}_s")
    return traffic_parts.answered(found["answered"], found["requests"], times)


def _quantiles(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Two quantiles of the summary by their parts, as an entry of a [[traffic]] has them."""
    keys = {part: key.format(part) for part in ("median", "p99")}
    bounds = [part for part, key in keys.items() if key in found.get("bounds", ())]
    return {part: found[key] for part, key in keys.items()} | {"bounds": bounds}


def seeds(summary: Mapping[str, Any], panels: Sequence[tuple[str, Sequence[Any]]]) -> str:
    """The verdict over the seeds; if it has no answer, the spread of the first number drawn."""
    said = repeats.headline(summary["runs"])
    if said or not panels:
        return said
    key, (lane, *_) = panels[0]
    quantity = of_number(key).at_size(max(lane.values))
    least, most = (short(quantity, pick(lane.values)) for pick in (min, max))
    span = least if least == most else f"{least} to {most}"
    return f"{quantity.heading} ({lane.label}): {span} over {len(lane.values)} seeds"


def packets(focus: Focus, dropped: int, of: int) -> str:
    """What there is to see at a port around a moment."""
    if focus.dark_s is not None:
        return focus.why[0].upper() + focus.why[1:]
    return f"{focus.port} dropped {dropped:,} of the {of:,} packets that came {focus.why}"
