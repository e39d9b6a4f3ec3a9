"""Backends: what runs a scenario and fills the tables. `protocol` says what one is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fairport.errors import require_known

if TYPE_CHECKING:
    from fairport.backends.protocol import Backend

DEFAULT = "simulation"

# A backend is the object BACKEND of its module, imported when it is asked for.
_MODULES = {
    "simulation": "fairport.backends.simulation",
    "linux": "fairport.backends.linux.backend",
}


def names() -> list[str]:
    """The names of all backends."""
    return list(_MODULES)


def get(name: str = DEFAULT) -> Backend:
    """The backend of this name. Raises InputError for an unknown one."""
    require_known(name, _MODULES, "is not a backend of this version", field="backend")
    backend: Backend = import_module(_MODULES[name]).BACKEND
    return backend
