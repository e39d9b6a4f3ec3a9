"""What the traffic generator is asked to do, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairport.backends.linux.flows import FlowReport, HostAt, Stack
from fairport.backends.linux.observing import Observe, Sample


@dataclass(frozen=True)
class GeneratorTask:
    """The task of the generator's process; times are of the scenario's clock, in seconds."""

    job_json: str
    hosts: Mapping[int, HostAt]
    stacks: Sequence[Stack]
    seed: int
    stopping: frozenset[int]
    """Flows that stop before the end."""
    end_s: float
    listen: Sequence[tuple[int, int, int]]
    """Host, port and stack of each socket that waits for connections."""
    observe: Observe
    has_programs: bool = False
    """Whether any congestion control is one of our BPF programs."""


@dataclass
class GeneratorReport:
    """The outcome of the generator."""

    flows: list[FlowReport]
    samples: list[Sample]
    measure_from_s: float
    measure_to_s: float
    tables: Mapping[str, Mapping[str, np.ndarray]]
    """Rounds and requests."""
    late_s: float = 0.0
    """How long after the scenario's zero it began."""
    late_p99_s: float = 0.0
    """Of what was due at a time, such as a flow's start: how late 99 % of it was at most."""
    lost_datagrams: int = 0
    """Datagrams for which a host's socket had no room."""
