"""[measure] and [probes]: the span of the measurement, and what is sampled how often."""

from __future__ import annotations

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import Section, StepDuration, check_span
from fairport.scenario.units import Duration


class Measure(Section):
    """The span over which goodput, RTT and classes are measured."""

    start: Duration | None = Field(default=None, alias="from")
    """Its start; default: when all flows without end that are known before the run are established
    (a lost SYN costs seconds), or 0 if some of them is not before the measurement's end, or if
    there are none. A transfer counts if it begins within the measurement."""
    end: Duration | None = Field(default=None, alias="to")
    """Its end; default: the end of the run."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_span(self.start, self.end)
        return self


class Probes(Section):
    """How often time series are sampled, and of what. Sampling does not change a run."""

    series_interval: StepDuration = Duration("10ms")
    """Time between the rows of a flow in the table `series`."""
    queue_interval: StepDuration = Duration("1ms")
    """Time between the rows of a port in the table `queue`."""
    flows: int = Field(default=1000, ge=0, lt=2**32)
    """Number of flows with rows in the tables `series` and `rtt`: those with the lowest numbers.
    The others have a row in `flows` only."""
    ports: int = Field(default=100, ge=0, lt=2**32)
    """Number of ports with rows in the table `queue`: those that the data of most flows may share.
    If no two flows share a port, those that their data may pass."""
