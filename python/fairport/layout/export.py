"""The formats in which a network can be exported, by name."""

from __future__ import annotations

from collections.abc import Callable

from fairport.errors import require_known
from fairport.layout.dot import dot
from fairport.layout.graph import graphml, node_link_json
from fairport.layout.mininet import mininet
from fairport.layout.network import Network

FORMATS: dict[str, Callable[[Network], str]] = {
    "graphml": graphml,
    "json": node_link_json,
    "dot": dot,
    "mininet": mininet,
}


def exported(network: Network, name: str) -> str:
    """The network as text in this format. Raises InputError for an unknown format."""
    require_known(name, FORMATS, "is not a format", field="--format")
    return FORMATS[name](network)
