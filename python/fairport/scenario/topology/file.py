"""A network from a file. It is read with the scenario, and is then a graph in the scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationInfo

from fairport.scenario.named_files import absolute
from fairport.scenario.topology.base import TopologySection
from fairport.scenario.topology.graph import Graph


class File(TopologySection):
    """A network from a file: GraphML (`.graphml`) or node-link JSON (`.json`), as networkx writes.

    When the scenario is read, the network becomes a graph in it, so a run can be repeated without
    the file.
    """

    kind: Literal["file"]
    """A network from a file."""
    path: str
    """The file; relative to the folder of the scenario's own file."""

    def job(self) -> dict[str, Any]:
        """The network in the file for the engine; `path` is relative to the working folder."""
        return _read(self.path).job()


def taken_in(file: File, info: ValidationInfo) -> Graph:
    """Replaces the file by its graph, for a scenario that is being read."""
    return _read(absolute(file.path, info))


def _read(path: str) -> Graph:
    from fairport.scenario.topology.reading import read_graph

    return read_graph(Path(path))
