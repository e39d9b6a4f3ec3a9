"""A folder for matplotlib's settings and its list of fonts, if the user's own cannot be written.

matplotlib itself then makes one in each process, with two warnings each, and lists the fonts anew.
Home folders that cannot be written are those of containers and of clusters' nodes: Linux.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_VARIABLE = "MPLCONFIGDIR"
# the folders that matplotlib uses on Linux, below the home folder
_USUAL = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}


def provide() -> None:
    """Names a temporary folder to matplotlib, and to the worker processes that start from here.

    It does nothing if matplotlib has been imported already, or knows a folder.
    """
    if os.environ.get(_VARIABLE) or "matplotlib" in sys.modules or sys.platform != "linux":
        return
    if not _has_usual_folders():
        with suppress(OSError):  # matplotlib says that there is no place for temporary files
            os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="fairport-matplotlib-")
            atexit.register(shutil.rmtree, os.environ[_VARIABLE], ignore_errors=True)


def _has_usual_folders() -> bool:
    """Whether matplotlib will find its usual folders, which are made as it makes them."""
    try:
        for name, below_home in _USUAL.items():
            folder = Path(os.environ.get(name) or Path.home() / below_home, "matplotlib")
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                return False
    except (OSError, RuntimeError):  # the latter for a user without a home folder
        return False
    return True
