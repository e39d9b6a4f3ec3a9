"""Imports what draws, for a process that needs matplotlib for these figures alone.

Axes in three dimensions, a third of what matplotlib imports besides numpy, are left out, because
the figures are flat. So are the docstrings that matplotlib generates, which take as long again.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_flat = ModuleType("mpl_toolkits.mplot3d")
vars(_flat)["Axes3D"] = None  # matplotlib then works without it
sys.modules.setdefault(_flat.__name__, _flat)

from matplotlib import artist  # noqa: E402

_described = artist.kwdoc
artist.kwdoc = lambda artist: ""
try:
    for _name in ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"):
        import_module(_name)
    import_module("fairport.figures.drawing.style")
finally:
    artist.kwdoc = _described
