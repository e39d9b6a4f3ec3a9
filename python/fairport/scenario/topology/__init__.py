"""[topology]: hosts, switches and the links between them; and [fabric], the links between switches.

Each topology has a section; docs/reference/topologies.md shows each, with its counts.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from fairport.scenario.topology.base import TopologySection as TopologySection
from fairport.scenario.topology.bcube import BCube
from fairport.scenario.topology.dancehall import Dancehall
from fairport.scenario.topology.fabric import Fabric as Fabric
from fairport.scenario.topology.fat_tree import FatTree as FatTree
from fairport.scenario.topology.file import File, taken_in
from fairport.scenario.topology.graph import Graph as Graph
from fairport.scenario.topology.graph import GraphLink as GraphLink
from fairport.scenario.topology.small import Dumbbell, Star, Testbed, TwoSwitch
from fairport.scenario.topology.trees import LeafSpine, ThreeTier, Vl2

Topology = Annotated[
    FatTree
    | LeafSpine
    | ThreeTier
    | Vl2
    | BCube
    | Star
    | Dumbbell
    | Dancehall
    | Testbed
    | TwoSwitch
    | Graph
    | Annotated[File, AfterValidator(taken_in)],
    Field(discriminator="kind"),
]
