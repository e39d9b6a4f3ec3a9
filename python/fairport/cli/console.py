"""The two streams: data on stdout, everything else on stderr.

NO_COLOR and pipes are respected, by rich.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# What goes into a pipe is read by programs, line by line, so nothing is folded there.
_PIPE_WIDTH = 10_000


@cache
def err() -> Console:
    """For messages and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def out() -> Console:
    """For data."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console
