"""A network from a file, as a graph topology: GraphML and node-link JSON, as networkx writes them.

Nodes need `kind`, "host" or "switch"; links need `rate`, and may have `delay` and `limit`, as texts
with units. `number` and `ports`, which Fairport writes, preserve the numbers of ports; without them
links are numbered in the order of the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from pydantic import ValidationError

from fairport.errors import ScenarioError, did_you_mean
from fairport.scenario.problems import refused
from fairport.scenario.source import Source
from fairport.scenario.topology.graph import Graph, GraphLink

if TYPE_CHECKING:
    import networkx as nx

_KINDS = ("host", "switch")


def read_graph(path: Path) -> Graph:
    """The network in the file. Raises ScenarioError, which names the file."""
    import networkx as nx

    graph = _parsed(path)
    kinds = {node: _kind(path, node, data) for node, data in graph.nodes(data=True)}
    hosts = [str(node) for node, kind in kinds.items() if kind == "host"]
    if len(hosts) < 2:
        raise ScenarioError(
            f"holds {len(hosts)} hosts",
            file=str(path),
            remedy='give at least 2 nodes the kind "host"',
        )
    links = [_link(path, *edge) for edge in _in_order(graph)]
    apart = set(graph.nodes) - nx.node_connected_component(graph, next(iter(graph.nodes)))
    if apart:
        first, other = next(iter(graph.nodes)), next(node for node in graph if node in apart)
        raise ScenarioError(
            f"is not connected with `{first}`: no path of links leads there",
            file=str(path),
            field="node",
            value=str(other),
            remedy="add the link that is missing, or leave the node out",
        )
    return Graph(
        kind="graph",
        hosts=hosts,
        hosts_forward=any(data.get("forwards") for _, data in graph.nodes(data=True)),
        switches=[str(node) for node, kind in kinds.items() if kind == "switch"],
        links=links,
    )


def _parsed(path: Path) -> nx.MultiGraph[Any]:
    import networkx as nx

    try:
        text = path.read_text(encoding="utf-8")
        match path.suffix:
            case ".graphml":
                graph = nx.parse_graphml(text, force_multigraph=True)
            case ".json":
                graph = _node_link(json.loads(text))
            case suffix:
                raise ScenarioError(
                    "has a format that Fairport does not read",
                    file=str(path),
                    value=suffix,
                    remedy="give a .graphml file, or node-link JSON as .json",
                )
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or 'unknown reason').lower()}"
        remedy = "a path is relative to the folder of the scenario's file"
        raise ScenarioError(problem, file=str(path), remedy=remedy) from None
    except (
        ParseError,
        ValueError,
        RecursionError,
        KeyError,
        TypeError,
        AttributeError,
        nx.NetworkXException,
    ) as error:
        raise ScenarioError(
            f"is not {'GraphML' if path.suffix == '.graphml' else 'node-link JSON'}: {error}",
            file=str(path),
            remedy=f"`fairport topology export two-switch --format {path.suffix[1:]}` shows what is"
            " expected",
        ) from None
    # a link is the same in both directions, even if the file gives it a direction
    return nx.MultiGraph(graph)


def _node_link(document: Any) -> nx.MultiGraph[Any]:
    """The graph of a JSON document. Raises ValueError."""
    import networkx as nx

    if not isinstance(document, dict):
        raise ValueError("it holds no object with the lists `nodes` and `edges`")
    edges = "edges" if "edges" in document else "links"
    for name, keys in (("nodes", ("id",)), (edges, ("source", "target"))):
        rows = document.get(name)
        if not isinstance(rows, list):
            raise ValueError(f"it has no list `{name}`")
        for number, row in enumerate(rows):
            lacks = [key for key in keys if not isinstance(row, dict) or key not in row]
            if lacks:
                raise ValueError(f"{name}.{number} has no `{lacks[0]}`")
    return nx.node_link_graph(document, multigraph=True, edges=edges)


def _kind(path: Path, node: Any, data: dict[str, Any]) -> str:
    kind = data.get("kind")
    if kind in _KINDS:
        return str(kind)
    if not data:
        problem = "is at an end of a link and is not described, or has no `kind`"
        remedy = 'give the node the attribute kind = "host" or "switch", or fix the link\'s end'
        raise ScenarioError(problem, file=str(path), field="node", value=str(node), remedy=remedy)
    where = f"node {node}: kind"
    if kind is None:
        raise ScenarioError(
            "is missing", file=str(path), field=where, remedy='give it "host" or "switch"'
        )
    raise ScenarioError(
        "is not one of host, switch",
        file=str(path),
        field=where,
        value=kind,
        remedy=did_you_mean(str(kind), _KINDS),
    )


def _in_order(graph: nx.MultiGraph[Any]) -> list[tuple[Any, Any, dict[str, Any]]]:
    edges = list(graph.edges(data=True))
    if all(isinstance(data.get("number"), int) for _, _, data in edges):
        edges.sort(key=lambda edge: edge[2]["number"])
    return edges


def _link(path: Path, a: Any, b: Any, data: dict[str, Any]) -> GraphLink:
    where = f"{path}: link {a} - {b}"
    first = str(data.get("ports", "")).partition(" ")[0].rpartition(":")[0]
    ends = [str(b), str(a)] if first == str(b) else [str(a), str(b)]
    if "rate" not in data:
        raise ScenarioError(
            "is missing", file=where, field="rate", remedy='give the link a rate, such as "1Gbps"'
        )
    document: dict[str, Any] = {"ends": ends}
    document |= {name: data[name] for name in ("rate", "delay", "limit") if name in data}
    try:
        return GraphLink.model_validate(document)
    except ValidationError as error:
        raise refused(error, document, Source(where), ScenarioError) from None
