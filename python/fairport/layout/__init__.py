"""A scenario's network and its flows' paths, without a run: to look at and to export."""

from __future__ import annotations

from fairport.layout.network import Flow as Flow
from fairport.layout.network import LinkLayout as LinkLayout
from fairport.layout.network import Network as Network
from fairport.layout.network import Node as Node
from fairport.layout.network import network as network
