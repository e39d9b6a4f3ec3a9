"""What a backend is. Read this before you write one.

A backend takes a scenario with a seed and fills the tables of a run (`fairport.tables`). Everything
else is written once, for all backends: metrics, summary, manifest, figures, report, studies.

To add a backend:

1. Write `backends/NAME.py` with a class that has the members of `Backend`, and an instance of it
   called `BACKEND`. No base class is needed.
2. Add its name to `_MODULES` in `backends/__init__.py`. `--backend NAME`,
   `fp.run(.., backend=NAME)` and the store of runs then know it.

A run goes through three steps, each with one duty:

- `Backend.prepare(scenario, seed)` checks everything that can be checked without running: it raises
  ScenarioError for a scenario that this backend cannot run, with the field of the scenario's file.
  It leaves nothing behind on the machine (no namespaces, no files), because not every prepared run
  is run.
- `Prepared.estimate` and `Prepared.key` describe the run. A study asks for them for every scenario
  before its first run, so nothing large is built for them.
- `Prepared.run(report)` runs it once and returns what it recorded. It cleans up after itself even
  when it raises. `report` may raise KeyboardInterrupt: then the run ends at once.

Columns that a backend cannot know are null; `fairport.tables` says which columns may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairport.errors import InputError
from fairport.scenario import Scenario

if TYPE_CHECKING:
    from fairport.backends.progress import Report
    from fairport.scenario.lower import Job
    from fairport.tables import Tables


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will need, estimated before it starts."""

    memory_bytes: int
    """Memory of this process at the end of the run."""
    wall_s: float | None
    """Time that the run will take; None if it is not known in advance, as in a simulation."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of a run."""

    tables: Tables
    """Every table of `fairport.tables.SCHEMA`; one that the backend cannot fill has no rows."""
    fingerprint: str
    """Hash of the run's packet facts, 16 hexadecimal digits."""
    started: datetime
    wall_s: float
    simulated_s: float
    """Duration of the run, in the time of its clock."""
    measure_from_s: float
    measure_to_s: float
    packet_hops: int
    """Packets times the links that they were sent over."""
    decisions_left_out: int = 0
    """Number of TCP decisions for which the table `decisions` had no room: the last ones."""
    ignored_settings: Sequence[str] = ()
    """Fields of the scenario that this backend's hosts do not follow, such as "tcp.rack"."""
    fullest_link: Mapping[str, Any] | None = None
    """What the plan says of the port that the traffic fills most: the summary's `FullestLink`."""
    events: int | None = None
    """Events of an event-driven engine; None for other backends."""
    valid: bool = True
    """False if the run took place but its numbers must not be used (an overloaded host)."""
    faults: Sequence[str] = ()
    """Why it is not valid, one sentence each."""
    health: Mapping[str, float] = field(default_factory=dict)
    """What a backend in real time measured about itself, by names that end in a unit."""


BOTTLENECK = "bottleneck"
"""Name for the port through which the data of most flows pass."""
EVERY_PORT = "*"
"""Name for all ports."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a run keeps of single packets, besides its tables. It does not change the run.

    `captures` are the ports whose packets are written as captures, into the folder that
    `folder(seed)` gives; `packets` are those for which the table `packets` has one row per packet.
    Ports are named as in the tables; "bottleneck" and "*" (all ports) are names, too.
    """

    captures: Sequence[str] = ()
    """Ports whose arriving and leaving packets are written as captures (pcapng)."""
    snap_bytes: int = 0
    """Bytes of each frame in the captures, if more than its headers."""
    folder: Callable[[int], Path] | None = None
    """The folder for the captures of the run with this seed, which exists. None: no captures."""
    packets: Sequence[str] = ()
    """Ports for which the table `packets` has one row per packet."""
    window_s: tuple[float, float] = (0.0, math.inf)
    """Only packets that arrive between these times have a row."""

    def __post_init__(self) -> None:
        for name in ("captures", "packets"):
            ports = getattr(self, name)
            if isinstance(ports, str):
                raise InputError(
                    "is a text, not a list of ports",
                    field=name,
                    value=ports,
                    remedy=f'write {name}=["{ports}"]',
                )
        if self.folder is not None and not callable(self.folder):
            raise InputError(
                "is not a function from a seed to an existing folder",
                field="folder",
                value=self.folder,
                remedy=f"write folder=lambda seed: Path({str(self.folder)!r})",
            )
        try:
            begin_s, end_s = self.window_s
            is_one = bool(0 <= begin_s < end_s)
        except (TypeError, ValueError):
            is_one = False
        if not is_one:
            raise InputError(
                "is not an interval of the run",
                field="window_s",
                value=self.window_s,
                remedy="give its begin and its end in seconds, such as (0.05, 0.06)",
            )

    def require_folder(self) -> None:
        """Raises InputError if there are captures and no folder for them."""
        if self.captures and self.folder is None:
            raise InputError(
                "is missing, and captures are files",
                field="folder",
                remedy="give a function from a seed to an existing folder, such as"
                ' folder=lambda seed: Path("captures")',
            )


class Prepared(Protocol):
    """A scenario with its seed, checked and ready to be run once."""

    @property
    def scenario(self) -> Scenario:
        """The scenario, with the seed of this run."""

    @property
    def job(self) -> Job:
        """The scenario, lowered: who sends to whom, with which stack."""

    @property
    def key(self) -> str:
        """The key of all that decides the result, except the seed and the version.

        The store of runs finds a result by it, and it is the name of a folder: the backend's name,
        `-`, a hash of 32 hexadecimal digits, and what else decides on that backend (letters, digits
        and `-._+`, such as a kernel's release). The scenario's name and comments are not part of
        it.
        """

    @property
    def is_kept(self) -> bool:
        """Whether the store of runs may keep the result.

        False if more than the key decides it, such as the user's own code.
        """

    @property
    def estimate(self) -> Estimate:
        """What the run will need."""

    def run(self, report: Report | None = None, *, threads: int = 1) -> Recorded:
        """Runs it, once. It may use up to `threads` threads, if that changes no result."""

    def observing(self, observation: Observation) -> Prepared:
        """The same run, which also keeps single packets.

        Raises InputError for a port that does not exist, or if the backend cannot keep packets.
        """


class Backend(Protocol):
    """What runs scenarios."""

    @property
    def name(self) -> str:
        """The name for `--backend` and in the manifest."""

    @property
    def is_real_time(self) -> bool:
        """Whether runs take place in real time: then they run one at a time, and may be invalid."""

    def prepare(self, scenario: Scenario, seed: int) -> Prepared:
        """Checks a scenario with this seed. Raises ScenarioError."""
