"""The network as a networkx graph: for GraphML and node-link JSON.

A node has `kind` ("host" or "switch") and, for hosts that forward packets, `forwards`. A link has
`rate`, `delay` and, if it has its own, `limit`, as texts with units; `number`, its place in the
order in which ports are numbered; and `ports`, the ports at its ends. A link of `fabric.failed` has
`failed`: without it the ports of other links would have other numbers.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from fairport.layout.network import Network
from fairport.layout.network import network as network_of
from fairport.scenario.units import Duration, Rate, Size

if TYPE_CHECKING:
    import networkx as nx


def graph_of(network: Network) -> nx.MultiGraph[str]:
    """The network as a multigraph, because several links may join two nodes."""
    import networkx as nx

    graph: nx.MultiGraph[str] = nx.MultiGraph(name=network.scenario.name)
    for node in network.nodes:
        attributes: dict[str, Any] = {"kind": "host" if node.is_host else "switch"}
        if node.is_host and node.forwards:
            attributes["forwards"] = True
        graph.add_node(node.name, **attributes)
    whole = network_of(network.scenario.patch({"fabric.failed": []}))
    working = {link.ports for link in network.links}
    for number, link in enumerate(whole.links):
        attributes = {
            "rate": str(Rate.of(link.rate_bps)),
            "delay": str(Duration.of(link.delay_ps)),
            "number": number,
            "ports": " ".join(link.ports),
        }
        if link.limit_bytes is not None:
            attributes["limit"] = str(Size.of(link.limit_bytes))
        if link.ports not in working:
            attributes["failed"] = True
        graph.add_edge(*link.ends, key=number, **attributes)
    return graph


def graphml(network: Network) -> str:
    """GraphML."""
    import networkx as nx

    buffer = io.BytesIO()
    nx.write_graphml_xml(graph_of(network), buffer, prettyprint=True)
    return buffer.getvalue().decode().rstrip("\n") + "\n"


def node_link_json(network: Network) -> str:
    """Node-link JSON."""
    import networkx as nx

    document = nx.node_link_data(graph_of(network), edges="edges")
    return json.dumps(document, indent=1) + "\n"
