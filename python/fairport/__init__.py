"""Fairport: a laboratory for TCP fairness in data-centre networks.

    import fairport as fp

    result = fp.run(fp.scenario("outcast"), seed=1)
    result.flows       # a polars DataFrame
    fp.plot(result, "bars").savefig("bars.png")
    fp.save(result, "results/outcast")

Heavy modules are imported when they are first used.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairport._core import CustomError as CustomError
    from fairport._core import __version__ as __version__
    from fairport.backends.progress import Done as Done
    from fairport.backends.protocol import Observation as Observation
    from fairport.backends.run import run as run
    from fairport.backends.run import run_many as run_many
    from fairport.errors import BackendError as BackendError
    from fairport.errors import InputError as InputError
    from fairport.errors import OutputError as OutputError
    from fairport.errors import ResourceError as ResourceError
    from fairport.errors import RunFolderError as RunFolderError
    from fairport.errors import ScenarioError as ScenarioError
    from fairport.figures import plot as plot
    from fairport.result import Result as Result
    from fairport.scenario.load import load as scenario
    from fairport.scenario.model import Scenario as Scenario
    from fairport.storage import load_run as load_run
    from fairport.storage import save as save
    from fairport.study.comparison.compare import compare as compare
    from fairport.study.comparison.result import Comparison as Comparison
    from fairport.study.fixes import Fix as Fix
    from fairport.study.fixes import FixError as FixError
    from fairport.study.making import Estimate as Estimate
    from fairport.study.making import Listeners as Listeners
    from fairport.study.making import Status as Status
    from fairport.study.precision import Precision as Precision
    from fairport.study.results import Study as Study
    from fairport.study.runs.execution import Executor as Executor
    from fairport.study.runs.store import Store as Store
    from fairport.study.runs.store import StoreWarning as StoreWarning
    from fairport.study.search import tune as tune
    from fairport.study.searched import Searched as Searched
    from fairport.study.sweep import sweep as sweep
    from fairport.study.validation import Validation as Validation

_HOME = {
    "BackendError": "fairport.errors",
    "Comparison": "fairport.study.comparison.result",
    "CustomError": "fairport._core",
    "Done": "fairport.backends.progress",
    "Estimate": "fairport.study.making",
    "Executor": "fairport.study.runs.execution",
    "Fix": "fairport.study.fixes",
    "FixError": "fairport.study.fixes",
    "InputError": "fairport.errors",
    "Listeners": "fairport.study.making",
    "Observation": "fairport.backends.protocol",
    "OutputError": "fairport.errors",
    "Precision": "fairport.study.precision",
    "ResourceError": "fairport.errors",
    "Result": "fairport.result",
    "RunFolderError": "fairport.errors",
    "Scenario": "fairport.scenario.model",
    "ScenarioError": "fairport.errors",
    "Searched": "fairport.study.searched",
    "Status": "fairport.study.making",
    "Store": "fairport.study.runs.store",
    "StoreWarning": "fairport.study.runs.store",
    "Study": "fairport.study.results",
    "Validation": "fairport.study.validation",
    "__version__": "fairport._core",
    "compare": "fairport.study.comparison.compare",
    "load_run": "fairport.storage",
    "plot": "fairport.figures",
    "run": "fairport.backends.run",
    "run_many": "fairport.backends.run",
    "save": "fairport.storage",
    "sweep": "fairport.study.sweep",
    "tune": "fairport.study.search",
}

__all__ = [*_HOME, "scenario"]


def __getattr__(name: str) -> Any:
    if name == "scenario":
        return importlib.import_module("fairport.scenario")
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
        return _in_a_notebook(name, found) if _shell is not None else found
    raise AttributeError(f"module `fairport` has no attribute `{name}`")


def _in_a_notebook(name: str, found: Any) -> Any:
    """The same call with a progress bar, for calls that may take long."""
    from fairport import notebook

    if name in ("sweep", "tune"):
        return notebook.watched(found, notebook.of_a_sweep, "listeners")
    progress = {"run": notebook.of_a_run, "compare": notebook.of_many_runs}.get(name)
    return notebook.watched(found, progress) if progress else found


def __dir__() -> list[str]:
    return sorted(__all__)


# If IPython runs this program, it has been imported before
_shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
if _shell is not None:
    from fairport import notebook

    notebook.set_up(_shell)
