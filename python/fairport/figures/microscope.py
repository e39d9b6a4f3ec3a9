"""Every packet around a moment at one output port: arrivals with their fate, queue, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairport.figures import findings, hop_classes
from fairport.figures.drawing import style, times
from fairport.microscope import Focus, Slide
from fairport.quantities import counted

SUBJECT = "Every packet"
CAPTION = (
    "Above: every packet that arrived for the port, by the port through which it came in; a bar "
    "is a packet that was accepted, a cross one that was dropped, a ring one that was marked. "
    "Middle: bytes in the buffer when each packet arrived. Below: congestion windows of the "
    "senders or, for captures, their data in flight."
)
MARKED = style.GREEN
# If there are more ingress ports than this, those with most packets are shown.
MOST_PORTS = 8
# The windows of the first flows in focus have a colour of their own.
_COLOURS = (style.ORANGE, style.BLUE, "#e69f00")
_OTHER: dict[str, Any] = {
    **{"color": style.MUTED, "linewidth": 0.6, "alpha": 0.6},
    **{"zorder": 1, "label": "_"},
}


def draw(slide: Slide) -> Figure:
    """Arrivals by ingress port, the queue, the windows: one time axis."""
    focus = slide.focus
    ports = _ports(slide)
    to_x = _clock(slide)
    heights = [0.1 + 0.36 * len(ports), 0.85] + ([0.95] if slide.windows.height else [])
    gaps = [0.12, 0.12][: len(heights) - 1]
    with style.applied():
        dropped = slide.packets.filter(fate="dropped").height
        title = findings.packets(focus, dropped, slide.packets.height)
        subject = f"{SUBJECT} at port {focus.port}"
        picture, rows = style.panels(title, subject, slide.result.title, heights, gaps)
        panels = [row[0] for row in rows]
        _arrivals(panels[0], slide, ports, to_x)
        style.panel_title(
            panels[0], "Packets", detail="bar: accepted, cross: dropped, ring: marked"
        )
        _queue(panels[1], slide, to_x)
        style.y_label(picture, panels[1:2], "queue (kB)")
        if slide.windows.height:
            _windows(panels[2], slide, to_x)
            style.y_label(picture, panels[2:], f"{slide.windows_name} (kB)")
        for panel in panels:
            panel.set_xlim(to_x(focus.from_s), to_x(focus.to_s))
            if focus.dark_s is not None:
                first, last = (to_x(time) for time in focus.dark_s)
                panel.axvspan(first, last, color=style.BAND, alpha=0.25, linewidth=0, zorder=0)
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=False)
        shown_s = focus.to_s - focus.from_s
        times.name_axis(panels[-1], shown_s, f" from {_origin(slide):.6f} s")
        hidden = slide.packets["ingress_port"].n_unique() - len(ports)
        if hidden:
            style.note(picture, f"not shown: {counted(hidden, 'ingress port')}")
    return picture


def _origin(slide: Slide) -> float:
    """The beginning of the view, to the microsecond."""
    return int(slide.focus.from_s * 1e6) / 1e6


def _clock(slide: Slide) -> Callable[[Any], Any]:
    origin = _origin(slide)
    return lambda time_s: time_s - origin


def _ports(slide: Slide) -> list[str]:
    """The ingress ports: the one in focus and those with most packets, in order."""
    counts = slide.packets.group_by("ingress_port").len()
    most = counts.sort("len", "ingress_port", descending=[True, False])["ingress_port"]
    first = [slide.focus.ingress_port] if slide.focus.ingress_port else []
    return sorted(list(dict.fromkeys([*first, *most]))[:MOST_PORTS])


def _arrivals(panel: Axes, slide: Slide, ports: list[str], to_x: Callable[[Any], Any]) -> None:
    above: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    of_ports = hop_classes.ingress_looks(slide.result, ports, slide.packets)
    for place, port in enumerate(ports):
        colour = of_ports[port].colour
        looks: dict[str, tuple[str, dict[str, Any]]] = {
            "passed": ("|", {"markersize": 8}),
            "marked": ("o", {"markersize": 5, "color": MARKED, "fillstyle": "none"}),
            "dropped": ("x", {"markersize": 5, "color": style.INK}),
        }
        mine = slide.packets.filter(ingress_port=port)
        fates = {
            "passed": mine.filter(pl.col("fate").is_in(["forwarded", "waiting"])),
            "marked": mine.filter(fate="marked"),
            "dropped": mine.filter(fate="dropped"),
        }
        for fate, (marker, look) in looks.items():
            times = to_x(fates[fate]["time_s"].to_numpy())
            panel.plot(times, [-place] * len(times), marker, **{"color": colour} | look)
        flows = counted(mine["flow"].n_unique(), "flow")
        text = f"from {port}: {flows}, {fates['dropped'].height} of {mine.height} dropped"
        if fates["marked"].height:
            text += f", {fates['marked'].height} marked"
        text = style.fitting(text, style.panel_in(), 7)
        panel.annotate(text, (0, -place), (3, 6), fontsize=7, color=colour, **above)
    panel.set(yticks=range(0, -len(ports), -1), yticklabels=[], ylim=(0.6 - len(ports), 0.9))
    panel.grid(visible=False)


def _queue(panel: Axes, slide: Slide, to_x: Callable[[Any], Any]) -> None:
    times = to_x(slide.packets["time_s"].to_numpy())
    kilobytes = slide.packets["queue_bytes"].to_numpy() / 1e3
    panel.plot(times, kilobytes, color=style.MUTED, linewidth=0.9, drawstyle="steps-post")
    dropped = (slide.packets["fate"] == "dropped").to_numpy()
    panel.plot(times[dropped], kilobytes[dropped], "x", color=style.INK, markersize=3.5)
    panel.set_ylim(0, max(kilobytes.max(), 1) * 1.15)


def _windows(panel: Axes, slide: Slide, to_x: Callable[[Any], Any]) -> None:
    """Draws the windows, those of the flows in focus in colour."""
    chosen = slide.concerned[: len(_COLOURS)]
    names = {row["flow"]: _name(row) for row in slide.flows.iter_rows(named=True)}
    top = 0.0
    others = 0
    for (flow,), samples in slide.windows.group_by("flow", maintain_order=True):
        samples = _in_view(samples, slide.focus)
        if samples.is_empty():
            continue
        kilobytes = samples["bytes"].to_numpy() / 1e3
        top = max(top, kilobytes.max())
        look = _OTHER
        if flow in chosen:
            colour = _COLOURS[chosen.index(flow)]
            look = {"color": colour, "linewidth": 1.3, "label": names[flow], "zorder": 3}
        else:
            others += 1
        panel.plot(to_x(samples["time_s"].to_numpy()), kilobytes, drawstyle="steps-post", **look)
    if others:
        panel.plot([], [], **_OTHER | {"label": counted(others, "other flow")})
    labels = panel.get_legend_handles_labels()[1]
    wide = max((style.width_in(label, 7) for label in labels), default=0.0)
    columns = 2 if wide < style.panel_in() / 2 - style.HANDLE_IN else 1
    panel.set_ylim(0, top * (1.2 + 0.32 / columns * min(len(chosen) + bool(others), 4)))
    panel.legend(loc="upper right", borderaxespad=0, fontsize=7, ncols=columns)


def _in_view(samples: pl.DataFrame, focus: Focus) -> pl.DataFrame:
    """The samples in view, and one to each side of it, so that the line crosses it."""
    time = pl.col("time_s")
    return pl.concat(
        [
            samples.filter(time < focus.from_s).tail(1),
            samples.filter(time.is_between(focus.from_s, focus.to_s)),
            samples.filter(time > focus.to_s).head(1),
        ]
    )


def _name(flow: dict[str, Any]) -> str:
    """A flow in the legend, with its hop count if that is known."""
    ends = " to ".join(style.fitting(flow[end], 1.3, 7) for end in ("src", "dst"))
    hops = "" if flow["hops"] is None else f", {counted(flow['hops'], 'hop')}"
    return f"flow {flow['flow']}: {ends}{hops}"
