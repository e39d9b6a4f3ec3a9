"""The engine: crates/python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

class JobError(ValueError):
    """A job that cannot be run."""

    field: str
    value: str
    problem: str
    remedy: str

class Simulation:
    """One run, built and routed."""

    def __init__(self, job_json: str) -> None: ...
    @property
    def hosts(self) -> list[str]: ...
    @property
    def ports(self) -> list[str]: ...
    @property
    def memory_bytes(self) -> int: ...
    def run(self, progress: Callable[[float, int], None] | None = None) -> dict[str, Any]: ...

def presets() -> list[str]: ...
def preset(name: str) -> dict[str, Any]: ...
def preset_sources(name: str) -> tuple[str, dict[str, str]]: ...
def enqueue_probability(
    mss_bytes: int, trials: int, seed: int
) -> dict[str, npt.NDArray[np.float64]]: ...
def run_script(text: str, stack: str | None = None) -> dict[str, Any]: ...
def topology_hosts(topology_json: str) -> list[str]: ...
