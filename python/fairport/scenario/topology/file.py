"""A network from a file. It is read with the scenario, and is then a graph in the scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationInfo

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

    def read(self, folder: Path) -> Graph:
        """The network in the file. Raises ScenarioError."""
        from fairport.scenario.topology.reading import read_graph

        return read_graph(folder / self.path)

    def job(self) -> dict[str, Any]:
        """The network in the file for the engine; `path` is relative to the working folder."""
        return self.read(Path()).job()


def taken_in(file: File, info: ValidationInfo) -> Graph:
    """Replaces the file by its graph, for a scenario that is being read."""
    return file.read((info.context or {}).get("folder", Path()))
