"""The network for Graphviz: one rank per layer, port numbers at the links' ends."""

from __future__ import annotations

import json

from fairport.layout.network import Network
from fairport.scenario.units import Duration, Rate


def dot(network: Network) -> str:
    """A DOT file; `dot -Tsvg` draws it."""
    lines = [
        f"graph {_quoted(network.scenario.name)} {{",
        "  graph [rankdir=BT, ranksep=1.2]",
        "  edge [fontsize=8]",
    ]
    for node in network.nodes:
        shape = "circle" if node.is_host else "box"
        lines.append(f"  {_quoted(node.name)} [shape={shape}]")
    for _, names in sorted(network.layers.items()):
        lines.append(f"  {{ rank=same; {'; '.join(map(_quoted, names))} }}")
    for link in network.links:
        ends = " -- ".join(_quoted(end) for end in link.ends)
        tail, head = (port.rpartition(":")[2] for port in link.ports)
        text = f"{Rate.of(link.rate_bps)} {Duration.of(link.delay_ps)}"
        lines.append(
            f"  {ends} [taillabel={_quoted(tail)}, headlabel={_quoted(head)},"
            f" tooltip={_quoted(text)}]"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """The text quoted for DOT, which quotes like JSON if there are no control characters."""
    return json.dumps(text, ensure_ascii=False)
