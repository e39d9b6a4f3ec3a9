"""A network from a file, as a graph topology: GraphML and node-link JSON, as networkx writes them.

Nodes need `kind`, "host" or "switch"; links need `rate`, and may have `delay` and `limit`, as texts
with units. `number` and `ports`, which Fairport writes, preserve the numbers of ports; without them
links are numbered in the order of the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fairport.errors import ScenarioError, require_known
from fairport.scenario.checking import checked
from fairport.scenario.source import Source
from fairport.scenario.topology.graph import Graph, GraphLink
from fairport.scenario.topology.names import wrong_names

if TYPE_CHECKING:
    import networkx as nx

_KINDS = ("host", "switch")
_OF_LINKS = ("rate", "delay", "limit")
_XML_NODES = ".//{http://graphml.graphdrawing.org/xmlns}node"


def read_graph(path: Path) -> Graph:
    """The network in the file. Raises ScenarioError, which names the file."""
    import networkx as nx

    graph = _parsed(path)
    kinds = {node: _kind(path, node, data) for node, data in graph.nodes(data=True)}
    for place, problem, remedy in wrong_names(map(str, graph.nodes)):
        raise _wrong_node(path, list(graph.nodes)[place], problem, remedy)
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
        problem = f"is not connected with `{first}`: no path of links leads there"
        remedy = "add the link that is missing, or leave the node out"
        raise _wrong_node(path, other, problem, remedy)
    return Graph(
        kind="graph",
        hosts=hosts,
        hosts_forward=_hosts_forward(path, graph),
        switches=[str(node) for node, kind in kinds.items() if kind == "switch"],
        links=links,
    )


def _parsed(path: Path) -> nx.MultiGraph[Any]:
    import networkx as nx

    try:
        text = path.read_text(encoding="utf-8")
        match path.suffix:
            case ".graphml":
                _once(one.get("id") for one in ElementTree.fromstring(text).iterfind(_XML_NODES))
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
        ElementTree.ParseError,
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
    if graph.is_directed():
        _same_both_ways(path, graph)
    return nx.MultiGraph(graph)


def _same_both_ways(path: Path, graph: nx.MultiDiGraph[Any]) -> None:
    """Refuses two directions of a link that differ; of two equal ones, one is the link."""
    for a, b, key, data in graph.edges(keys=True, data=True):
        back = graph.get_edge_data(b, a, key) or {}
        for name in _OF_LINKS:
            if back and back.get(name) != data.get(name):
                raise ScenarioError(
                    f"differs from that of {b} - {a}, {back.get(name)}, and a link is the same"
                    " both ways",
                    file=f"{path}: link {a} - {b}",
                    field=name,
                    value=data.get(name),
                    remedy="give both directions the same, or the link only once",
                )


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
    _once(repr(row["id"]) for row in document["nodes"])
    return nx.node_link_graph(document, multigraph=True, edges=edges)


def _once(ids: Iterable[str | None]) -> None:
    """Refuses nodes of one id, which networkx would take for one node. Raises ValueError."""
    twice = next((one for one, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two nodes have the id {twice}")


def _kind(path: Path, node: Any, data: dict[str, Any]) -> str:
    kind = data.get("kind")
    if not data:
        problem = "is at an end of a link and is not described, or has no `kind`"
        remedy = 'give the node the attribute kind = "host" or "switch", or fix the link\'s end'
        raise _wrong_node(path, node, problem, remedy)
    where = f"node {node}: kind"
    if kind is None:
        raise ScenarioError(
            "is missing", file=str(path), field=where, remedy='give it "host" or "switch"'
        )
    problem = "is not one of host, switch"
    require_known(kind, _KINDS, problem, file=str(path), field=where, kind=ScenarioError)
    return str(kind)


def _hosts_forward(path: Path, graph: nx.MultiGraph[Any]) -> bool:
    """Whether hosts forward, which they do all or none of them; otherwise each has one link."""
    hosts = {node: data for node, data in graph.nodes(data=True) if data["kind"] == "host"}
    forwarding = [node for node, data in hosts.items() if data.get("forwards") in (True, "true")]
    if forwarding and len(forwarding) < len(hosts):
        other = next(node for node in hosts if node not in forwarding)
        problem = f"does not forward, and `{forwarding[0]}` does"
        raise _wrong_node(path, other, problem, "give all hosts `forwards`, or none of them")
    for node in () if forwarding else hosts:
        if graph.degree[node] > 1:
            problem = f"is a host with {graph.degree[node]} links"
            remedy = "give every host one link, or give all hosts `forwards` = true"
            raise _wrong_node(path, node, problem, remedy)
    return bool(forwarding)


def _wrong_node(path: Path, node: Any, problem: str, remedy: str) -> ScenarioError:
    return ScenarioError(problem, file=str(path), field="node", value=str(node), remedy=remedy)


def _in_order(graph: nx.MultiGraph[Any]) -> list[tuple[Any, Any, dict[str, Any]]]:
    edges = list(graph.edges(data=True))
    if all(isinstance(data.get("number"), int) for _, _, data in edges):
        edges.sort(key=lambda edge: edge[2]["number"])
    return edges


def _link(path: Path, a: Any, b: Any, data: dict[str, Any]) -> GraphLink:
    where = f"{path}: link {a} - {b}"
    first = str(data.get("ports", "")).partition(" ")[0].rpartition(":")[0]
    ends = [str(b), str(a)] if first == str(b) else [str(a), str(b)]
    if a == b:
        raise ScenarioError("joins a node to itself", file=where, remedy="join two nodes")
    if "rate" not in data:
        raise ScenarioError(
            "is missing", file=where, field="rate", remedy='give the link a rate, such as "1Gbps"'
        )
    document: dict[str, Any] = {"ends": ends}
    document |= {name: data[name] for name in _OF_LINKS if name in data}
    return checked(GraphLink.model_validate, document, Source(where), ScenarioError)
