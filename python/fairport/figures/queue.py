"""Occupancy of the bottleneck port, and every packet around one blackout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairport.figures import findings, hop_classes, over_time
from fairport.figures.drawing import style, times, width
from fairport.metrics import shown_blackout
from fairport.metrics.drop_runs import blackouts
from fairport.quantities import QUANTITIES, counted, three_digits

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Queue of the bottleneck port"
CAPTION = (
    "Above: bytes in the buffer over the whole run; the line is the mean, the band reaches from "
    "the least to the greatest sample of each step. Below: every packet around one blackout, by "
    "the port through which it came in, and how long the accepted ones waited for the wire. It is "
    "the longest recorded blackout of the ingress port that the class with the lowest throughput "
    "ratio uses, within the measurement. Of a longer drop run, as much is recorded as lies within "
    "64 arrivals at the port. While packets of that port are dropped one after the other, packets "
    "of other ports are accepted."
)


# If there are more ingress ports than this, those with most packets around the blackout are shown.
MOST_PORTS = 6


_QUEUE = QUANTITIES["queue_bytes"]
# If the limit is above the fullest buffer by more than this factor, it would flatten the line.
_FAR = 3
# For these disciplines `limit` is not what one port holds.
_LIMITS_OF_THEIR_OWN = ("shared-buffer", "custom")


def draw(result: Result, blackout_of: str | None = None) -> Figure:
    """Occupancy over the run; arrivals by ingress port with their fate; waiting times.

    `blackout_of` is the ingress port whose longest blackout is shown, by default that of the
    starved class.
    """
    shown = shown_blackout.shown(result.tables, result.summary, blackout_of)
    if shown is None:
        picture, [[panel]] = style.frame(result, findings.queue(result), SUBJECT, [1.1])
        marks = _whole_run(picture, panel, result)
        style.note(picture, f"{marks}; {_without(result)}" if marks else _without(result))
        return picture
    timed = shown.packets.with_columns(
        since_s=pl.col("time_s") - pl.col("time_s").first(),
        wait_s=pl.col("depart_s") - pl.col("time_s"),
    )
    trace = _of_few_ports(timed, shown.ingress_port)
    ports = trace["ingress_port"].n_unique()
    hidden = shown.packets["ingress_port"].n_unique() - ports
    heights = [1.1, 0.1 + 0.34 * ports, 0.75]
    run = shown.run
    accepted = shown.packets.filter(
        pl.col("fate") != "dropped", pl.col("time_s").is_between(run.first_s, run.last_s)
    )
    title = findings.blackout(shown.ingress_port, run.length, accepted.height)
    picture, rows = style.frame(result, title, SUBJECT, heights, [0.7, 0.12])
    panels = [row[0] for row in rows]
    marks = _whole_run(picture, panels[0], result)
    looks = hop_classes.ingress_looks(result, sorted(trace["ingress_port"].unique()))
    _blackout(panels[1], panels[2], trace, looks)
    origin_s: Any = trace["time_s"][0]
    for panel in panels[1:]:
        first_s, last_s = run.first_s - origin_s, run.last_s - origin_s
        panel.axvspan(first_s, last_s, color=style.MUTED, alpha=0.18, linewidth=0)
    detail = f"shaded: blackout of {shown.ingress_port}; x: dropped" if not marks else ""
    style.panel_title(panels[1], f"Arrivals at {shown.port}", detail=detail)
    unit = times.label_axis(panels[2], trace["wait_s"].max() or 0.0)  # type: ignore[arg-type]
    style.y_label(picture, panels[2:], f"wait ({unit})")
    others = f"; not shown: packets from {counted(hidden, 'other port')}" if hidden else ""
    part = f"; {shown.part}" if shown.part else ""
    said = f"longest recorded blackout of {shown.ingress_port}: {shown.why}"
    if marks:
        said = f"{marks}; x: dropped; shaded: blackout of {shown.ingress_port}"
    style.note(picture, said + part + others)
    return picture


def _without(result: Result) -> str:
    """Why there is no blackout to show."""
    worst = result.summary["bottleneck"]
    found = blackouts(result.drops).filter(port=worst["port"]).height if worst else 0
    if not found:
        return "no blackout: no port lost packets in a row while others were accepted"
    return f"{counted(found, 'blackout')}, none recorded packet by packet"


def _of_few_ports(trace: pl.DataFrame, kept: str) -> pl.DataFrame:
    """The packets of the port `kept` and of the others with most of them."""
    others = (
        trace.filter(pl.col("ingress_port") != kept)
        .group_by("ingress_port")
        .len()
        .sort("len", "ingress_port", descending=[True, False])
        .head(MOST_PORTS - 1)["ingress_port"]
    )
    return trace.filter(pl.col("ingress_port").is_in([kept, *others]))


@dataclass(frozen=True, slots=True)
class BufferLimit:
    """What the buffer of the bottleneck port holds."""

    bytes: float
    """The limit in bytes; a limit in packets counts packets of the largest size that was
    dropped."""
    text: str
    """The limit as the scenario writes it."""


def buffer_limit(result: Result) -> BufferLimit | None:
    """The limit of the bottleneck port, if the scenario gives all switch ports the same."""
    scenario = result.scenario
    own = scenario.topology.limits() or scenario.fabric.limit is not None
    if result.is_captured:
        return None  # the scenario of captures is a guess
    if own or scenario.queue.kind in _LIMITS_OF_THEIR_OWN or not result.summary["bottleneck"]:
        return None
    limit = scenario.sized_queue().limit
    if not limit.in_packets:
        return BufferLimit(float(limit), str(limit))
    sizes = result.drops.filter(port=result.summary["bottleneck"]["port"])["size_bytes"]
    most: Any = sizes.max()
    return BufferLimit(float(limit) * most, str(limit)) if most else None


def occupancy(result: Result, port: str, most_steps: int) -> pl.DataFrame:
    """A port's queue over the run in at most so many steps.

    Columns: `time_s`, and `low`, `mean` and `high` in bytes.
    """
    rows = result.queue.filter(port=port).sort("time_s")
    share = max(1, -(-rows.height // most_steps))
    held = pl.col("bytes")
    return (
        rows.with_row_index("row")
        .group_by(pl.col("row") // share, maintain_order=True)
        .agg(pl.col("time_s").mean(), low=held.min(), mean=held.mean(), high=held.max())
        .drop("row")
    )


def _whole_run(picture: style.Picture, panel: Axes, result: Result) -> str:
    """Draws the occupancy; returns what its lines are, if the panel's title has no room for it."""
    worst = result.summary["bottleneck"]
    steps = occupancy(result, worst["port"] if worst else "", over_time.MAX_POINTS)
    if worst is None or steps.is_empty():
        style.say(panel, f"no samples of {worst['port']}" if worst else "no port carries a flow")
        return ""
    limit = buffer_limit(result)
    quantity = _QUEUE.at_size(worst["queue_max_bytes"])
    style.y_label(picture, [panel], quantity.label)
    moments, low, mean, high = steps.with_columns(pl.exclude("time_s") * quantity.factor)
    panel.fill_between(moments, low, high, color=style.MUTED, alpha=0.3, linewidth=0)
    panel.plot(moments, mean, color=style.INK, linewidth=1)
    top = worst["queue_max_bytes"] * quantity.factor
    panel.axhline(top, **style.DOTTED)
    band, detail = "band: min to max", f"dotted: fullest ({three_digits(top)} {quantity.unit})"
    held = limit.bytes * quantity.factor if limit else 0.0
    if limit and held > _FAR * top:
        detail += f"; limit {limit.text}, far above"
    elif limit:
        panel.axhline(held, color=style.INK, linewidth=0.9, linestyle=(0, (5, 2)))
        detail += f", dashed: limit ({limit.text})"
        top = max(top, held)
    # a queue that is always empty needs an axis, too
    tall = max(top, high.to_numpy().max()) or 1.0
    panel.set(xlim=(0, over_time.end_s(result)), ylim=(0, 1.12 * tall))
    panel.yaxis.set_major_formatter("{x:,g}")
    times.name_axis(panel, over_time.end_s(result))
    is_narrow = width.is_narrow()
    style.panel_title(panel, worst["port"], detail=band if is_narrow else f"{band}, {detail}")
    return detail if is_narrow else ""


def _blackout(
    arrivals: Axes, waits: Axes, trace: pl.DataFrame, looks: Mapping[str, hop_classes.Look]
) -> None:
    ports = sorted(trace["ingress_port"].unique())
    above: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    for place, port in enumerate(ports):
        colour = looks[port].colour
        mine = trace.filter(pl.col("ingress_port") == port)
        dropped = mine.filter(pl.col("fate") == "dropped")
        passed = mine.filter(pl.col("fate") != "dropped")
        arrivals.plot(passed["since_s"], [-place] * passed.height, "|", color=colour, markersize=7)
        arrivals.plot(dropped["since_s"], [-place] * dropped.height, "x", color=style.INK, ms=5)
        waits.plot(passed["since_s"], passed["wait_s"], ".", color=colour, markersize=4)
        flows = counted(mine["flow"].n_unique(), "flow")
        text = f"from {port}: {flows}, {dropped.height} of {mine.height} dropped"
        text = style.fitting(text, style.panel_in(), 7)
        arrivals.annotate(text, (0, -place), (3, 5), fontsize=7, color=colour, **above)
    arrivals.set(yticks=range(0, -len(ports), -1), yticklabels=[], ylim=(0.7 - len(ports), 0.85))
    arrivals.sharex(waits)
    arrivals.tick_params(labelbottom=False)
    waits.set_ylim(0, waits.get_ylim()[1] * 1.05)
    length_s: Any = trace["since_s"].max()
    times.name_axis(waits, length_s, f" from {trace['time_s'][0]:.6f} s")
