"""A network from a file: read when the scenario is, and from then on a graph of the scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationInfo

from fairport.scenario.topology.base import TopologySection
from fairport.scenario.topology.graph import Graph


class File(TopologySection):
    """A network from a file: GraphML (`.graphml`) or node-link JSON (`.json`), as networkx writes.

    The scenario takes it in as a graph when it is read, so a run can be repeated without the file.
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
        """Of the network in the file, with `path` relative to the working folder."""
        return self.read(Path()).job()


def taken_in(file: File, info: ValidationInfo) -> Graph:
    """The graph in place of its file, for a scenario that is being read."""
    return file.read((info.context or {}).get("folder", Path()))
