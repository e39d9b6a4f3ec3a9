"""The network in layers, with the flows' paths drawn over it: it shows who shares which ports.

It is not a figure of a run: it needs no run, and can show one scenario under several routings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairport.figures import hop_classes
from fairport.figures.drawing import style, width
from fairport.figures.drawing.heading import heading
from fairport.quantities import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairport.layout import Network

_CAPTION = "circles: hosts, squares: switches, wider lines: more flows"
_PANEL_IN = 2.0
# a panel's share of the picture's width
_WIDE = 0.96
_HEAD_IN = 0.3
_FOOT_IN = 0.42
_GAP_IN = 0.34
# In a layer with at most this many nodes, names are written into the nodes of a picture of the
# usual width, in letters of this size at least.
_MOST_NAMED = 24
_SMALLEST_NAME_PT = 5.0
# Up to this many ingress ports of the bottleneck have their flows named one by one.
_SUMMED = 6
_SPREAD_POINTS = 2.2
_THICKEST_POINTS = 4.5
# The lines between two layers fill at most this share of the picture's width.
_FILLED = 0.8


def draw(*networks: Network) -> style.Picture:
    """One panel per network, named by its routing; a line's width grows with its flows."""
    panels = [(str(one.scenario.routing.kind), one) for one in networks]
    with style.applied():
        wide_in = width.of_picture(style.WIDTH_IN)
        caption = f"{_CAPTION}; {hop_classes.IN_BRACKETS}" if width.is_narrow() else _CAPTION
        head = heading(_title(panels), "Paths of the flows", caption, wide_in)
        top_in = head.tall_in + _HEAD_IN
        height = top_in + len(panels) * (_PANEL_IN + _GAP_IN) - _GAP_IN + _FOOT_IN
        picture = style.Picture(figsize=(wide_in, height))
        head.write(picture)
        for index, (title, network) in enumerate(panels):
            top = height - top_in - index * (_PANEL_IN + _GAP_IN)
            place = ((1 - _WIDE) / 2, (top - _PANEL_IN) / height, _WIDE, _PANEL_IN / height)
            axes = picture.add_axes(place)
            _draw_network(axes, network)
            style.panel_title(axes, title, detail=_expected(network))
        handles = _legend(panels[0][1])
        picture.legend(
            handles=handles, loc="lower left", ncols=len(handles), bbox_to_anchor=(0.01, 0.0)
        )
    return picture


def _title(panels: Sequence[tuple[str, Network]]) -> str:
    """Who shares the port that limits them; under several routings that differs, so the subject."""
    from fairport.layout.sharing import expected_bottleneck

    name, port = panels[0][1].scenario.name, expected_bottleneck(panels[0][1])
    if len(panels) > 1:
        return f"Paths of the flows of {name} under {len(panels)} routings"
    if port is None:
        return f"In {name}, no two flows share a port"
    inputs = counted(len(port.by_ingress), "ingress port")
    return f"In {name}, {counted(port.flows, 'flow')} share {port.port}, from {inputs}"


def _expected(network: Network) -> str:
    from fairport.layout.sharing import expected_bottleneck

    port = expected_bottleneck(network)
    if port is None:
        return ""
    counts = sorted(port.by_ingress.values())
    inputs = " + ".join(map(str, counts)) if len(counts) <= _SUMMED else str(sum(counts))
    return f"{port.port}: {inputs} flows from {counted(len(counts), 'ingress port')}"


def _places(network: Network) -> dict[str, tuple[float, float]]:
    return {
        name: ((i + 0.5) / len(names), float(height))
        for height, names in network.layers.items()
        for i, name in enumerate(names)
    }


def _classes(network: Network) -> list[hop_classes.HopClass]:
    import polars as pl

    hops = [flow.hops for flow in network.flows]
    return hop_classes.of(pl.DataFrame({"flow": range(len(hops)), "hops": hops}))


def _draw_network(axes: Axes, network: Network) -> None:
    from matplotlib.transforms import ScaledTranslation

    places = _places(network)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.35, max(y for _, y in places.values()) + 0.3)
    used = {port for flow in network.flows for port in flow.ports}
    for link in network.links:
        if used.isdisjoint(link.ports):
            xs, ys = zip(*(places[end] for end in link.ends), strict=True)
            axes.plot(xs, ys, color=style.GRID, linewidth=0.7, zorder=1)
    ends = {port: link.ends for link in network.links for port in link.ports}
    classes = _classes(network)
    through = [_flows_by_link(network, one, ends) for one in classes]
    # between two layers all lines together leave room, so that each host's can be seen
    wide: defaultdict[tuple[float, float], float] = defaultdict(float)
    for (a, b), flows in (item for one in through for item in one.items()):
        wide[places[a][1], places[b][1]] += _width_points(flows)
    for number, (one, of_class) in enumerate(zip(classes, through, strict=True)):
        aside = (number - (len(classes) - 1) / 2) * _SPREAD_POINTS / 72
        moved = axes.transData + ScaledTranslation(aside, 0, axes.figure.dpi_scale_trans)
        # a set's order differs from process to process
        for (a, b), flows in sorted(of_class.items()):
            (x1, y1), (x2, y2) = places[a], places[b]
            axes.plot(
                [x1, x2],
                [y1, y2],
                color=one.look.colour,
                linewidth=_width_points(flows) * min(1, _FILLED * _apart_points(1) / wide[y1, y2]),
                transform=moved,
                zorder=2 + (len(classes) - number) / 10,
            )
    _draw_nodes(axes, network, places)


def _flows_by_link(
    network: Network, one: hop_classes.HopClass, ends: dict[str, tuple[str, str]]
) -> Counter[tuple[str, str]]:
    """How many flows of the class pass each link."""
    through: Counter[tuple[str, str]] = Counter()
    for flow in one.flows:
        through.update({ends[port] for port in network.flows[flow].ports})
    return through


def _width_points(flows: int) -> float:
    return min(0.9 + 0.22 * flows, _THICKEST_POINTS)


def _draw_nodes(axes: Axes, network: Network, places: dict[str, tuple[float, float]]) -> None:
    layers = network.layers
    points = {height: _font_points(len(names)) for height, names in layers.items()}
    shown = {height: _names(names, points[height]) for height, names in layers.items()}
    for node in network.nodes:
        x, y = places[node.name]
        axes.text(
            x,
            y,
            shown[node.height].get(node.name, " "),  # matplotlib draws no box round an empty text
            ha="center",
            va="center",
            fontsize=points[node.height],
            zorder=4,
            bbox={
                "boxstyle": "circle,pad=0.25" if node.is_host else "square,pad=0.3",
                "facecolor": style.PAPER,
                "edgecolor": style.MUTED,
                "linewidth": 0.6,
            },
        )


def _apart_points(nodes: int) -> float:
    """The way from one of so many nodes of a layer to the next."""
    return 72 * _WIDE * width.of_picture(style.WIDTH_IN) / nodes


def _font_points(nodes: int) -> float:
    """The size of names in a layer, or of nodes without names, so that they do not overlap."""
    if nodes <= _most_named():
        return max(width.smallest_pt(), 6 if nodes <= _MOST_NAMED // 2 else 5)
    return min(5, 0.6 * _apart_points(nodes))


def _most_named() -> int:
    """How many nodes of a layer have room for their names in the smallest letters."""
    smaller = _SMALLEST_NAME_PT / width.smallest_pt()
    return int(_MOST_NAMED * smaller * width.of_picture(style.WIDTH_IN) / style.WIDTH_IN)


def _names(names: list[str], points: float) -> dict[str, str]:
    """The names of a layer's nodes as there is room for them; none if two would look the same."""
    if len(names) > _most_named():
        return {}
    padding_in = 2 * 0.3 * points / 72
    room_in = _apart_points(len(names)) / 72 - padding_in - 0.02
    shown = {name: style.fitting(name, room_in, points) for name in names}
    return shown if len(set(shown.values())) == len(names) else {}


def _legend(network: Network) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=one.look.colour, linewidth=2.5, label=one.label)
        for one in _classes(network)
    ]
