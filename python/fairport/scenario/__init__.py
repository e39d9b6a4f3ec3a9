"""Scenarios: models, units, loading, overrides and JSON Schema, with the only validator.

The package can be called: `fairport.scenario("outcast")` loads a scenario by name, path or
dictionary. (A submodule is an attribute of its package, so a function with the same name could not
exist beside it.)
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from fairport.scenario.load import builtin_names, builtin_use, load, parse, source_text
from fairport.scenario.model import Scenario
from fairport.scenario.patch import read_assignments
from fairport.scenario.schema import json_schema

__all__ = [
    "Scenario",
    "builtin_names",
    "builtin_use",
    "json_schema",
    "load",
    "parse",
    "read_assignments",
    "source_text",
]


class _Loader(ModuleType):
    def __call__(self, source: Any) -> Scenario:
        return load(source)


sys.modules[__name__].__class__ = _Loader
