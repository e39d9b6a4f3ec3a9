"""A small drawing of the network: layers of switches above the hosts, and the bottleneck port."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING, Any

from fairport.figures import hop_classes
from fairport.layout.network import network, node_of

if TYPE_CHECKING:
    from fairport.result import Result

_WIDE, _LAYER, _MARGIN = 640, 64, 22
# Height of the arc of a link between switches of one layer that are not neighbours.
_ARC = 16
# With more links than this no drawing is readable.
_MOST_LINKS = 3_000
_LARGEST, _LEAST = 15.0, 2.5


def draw(result: Result) -> str:
    """The network as SVG; empty if it is not known or too large to be drawn.

    Hosts that send have the colour of their flows' hop class, or are grey if these are several;
    receivers are rings, and the link of the bottleneck port is thick.
    """
    if result.is_captured:
        return ""
    built = network(result.scenario)
    if len(built.links) > _MOST_LINKS:
        return ""
    layers = built.layers
    tall = 2 * _MARGIN + _LAYER * max(layers)
    places = {
        name: (_WIDE * (at + 0.5) / len(names), float(tall - _MARGIN - _LAYER * height))
        for height, names in layers.items()
        for at, name in enumerate(names)
    }
    apart = {places[names[0]][1]: _WIDE / len(names) for names in layers.values()}
    bottleneck = result.summary["bottleneck"]
    worst = bottleneck["port"] if bottleneck else ""
    lines: list[str] = []
    bold: list[str] = []
    for link in built.links:
        (x1, y1), (x2, y2) = (places[end] for end in link.ends)
        path = f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}"
        if y1 == y2 and abs(x1 - x2) > 1.5 * apart[y1]:
            # an arc, because a straight line would go through the nodes between
            path = f"M{x1:.0f} {y1:.0f}Q{(x1 + x2) / 2:.0f} {y1 - 2 * _ARC:.0f} {x2:.0f} {y2:.0f}"
        (bold if worst in link.ports else lines).append(path)
    shapes = [
        f'<path d="{"".join(lines)}" stroke="var(--edge)" fill="none"/>',
        f'<path d="{"".join(bold)}" stroke="var(--alarm)" stroke-width="4" fill="none"/>',
        *_nodes(result, layers, places, node_of(worst)),
    ]
    said = f"Network of {result.scenario.name}: {in_words(result)}"
    if worst:
        said += f". Bottleneck port: {worst}"
    return (
        f'<svg viewBox="0 0 {_WIDE} {tall}" role="img" aria-label="{html.escape(said)}">'
        + "".join(shapes)
        + "</svg>"
    )


def in_words(result: Result) -> str:
    """The topology in words: its kind, its settings, how many hosts and switches."""
    topology = result.scenario.topology
    given = topology.model_dump(mode="json", exclude={"kind"})
    settings = ", ".join(filter(None, map(_setting, given, given.values())))
    return f"{topology.kind} ({settings})" if settings else str(topology.kind)


def _setting(name: str, value: Any) -> str:
    """A field of a topology in words; empty for one that is off or too long."""
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else ""
    if isinstance(value, int | str):
        return f"{words} {value}"
    # the nodes of a graph; its links are drawn
    is_nodes = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return f"{len(value)} {words}" if is_nodes else ""


def _nodes(
    result: Result,
    layers: dict[int, list[str]],
    places: dict[str, tuple[float, float]],
    switch: str,
) -> list[str]:
    """Hosts as circles and switches as squares, with their names if there is room."""
    colours: dict[str, str] = {}
    for one in hop_classes.of(result.flows):
        senders = result.flows.filter(result.flows["flow"].is_in(one.flows))["src"]
        for name in senders.unique():
            colours[name] = "var(--edge)" if name in colours else one.look.colour
    receivers = set(result.flows["dst"].to_list())
    alike = Counter(_short(name) for names in layers.values() for name in names)
    shapes = []
    for height, names in layers.items():
        room = _WIDE / len(names)
        size = min(max(room * 0.36, _LEAST), _LARGEST)
        for name in names:
            x, y = places[name]
            colour = colours.get(name, "var(--edge)") if height == 0 else "var(--muted)"
            if name == switch:
                colour = "var(--alarm)"
            ring = name in receivers and name not in colours
            look = (
                f'fill="var(--card)" stroke="{"var(--ink)" if ring else colour}" '
                f'stroke-width="{3 if ring else 2 if size > 5 else 1}"'
            )
            if height == 0 and not ring and size <= 5:
                look = f'fill="{colour}"'
            title = f"<title>{html.escape(name)}</title>"
            if height == 0:
                shapes.append(
                    f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{size:.1f}" {look}>{title}</circle>'
                )
            else:
                half = size * 0.9
                shapes.append(
                    f'<rect x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" '
                    f'height="{2 * half:.1f}" rx="2" {look}>{title}</rect>'
                )
            # a label that two nodes would have is left to their tooltips
            if size >= 12 and alike[_short(name)] == 1:
                shapes.append(
                    f'<text x="{x:.0f}" y="{y + 3:.0f}" text-anchor="middle" font-size="9" '
                    f'fill="var(--ink)">{html.escape(_short(name))}</text>'
                )
    return shapes


def _short(name: str) -> str:
    """A name that fits into a node: "e0.1" for "edge0.1"."""
    letters = name.rstrip("0123456789.")
    return name if len(name) <= 4 else letters[:1] + name[len(letters) :]
