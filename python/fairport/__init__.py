"""Fairport: a laboratory for TCP fairness in data-centre networks.

    import fairport as fp

    result = fp.run(fp.scenario("outcast"), seed=1)
    result.flows       # a polars DataFrame
    result.plot()

What is heavy is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairport._core import __version__ as __version__
    from fairport.backends.simulation import run as run
    from fairport.backends.simulation import run_many as run_many
    from fairport.errors import InputError as InputError
    from fairport.errors import ScenarioError as ScenarioError
    from fairport.result import Result as Result
    from fairport.scenario.load import load as scenario
    from fairport.scenario.model import Scenario as Scenario
    from fairport.storage import load_run as load_run
    from fairport.study.compare import compare as compare
    from fairport.study.comparison import Comparison as Comparison

_HOME = {
    "__version__": "fairport._core",
    "run": "fairport.backends.simulation",
    "run_many": "fairport.backends.simulation",
    "Comparison": "fairport.study.comparison",
    "InputError": "fairport.errors",
    "ScenarioError": "fairport.errors",
    "Result": "fairport.result",
    "Scenario": "fairport.scenario.model",
    "compare": "fairport.study.compare",
    "load_run": "fairport.storage",
}

__all__ = [
    "Comparison",
    "InputError",
    "Result",
    "Scenario",
    "ScenarioError",
    "__version__",
    "compare",
    "load_run",
    "run",
    "run_many",
    "scenario",
]


def __getattr__(name: str) -> Any:
    if name == "scenario":
        return importlib.import_module("fairport.scenario")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module `fairport` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(__all__)
