"""The two streams: data on stdout, everything else on stderr.

NO_COLOR and pipes are respected, by rich.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Programs read a pipe line by line, so no line is folded there.
_PIPE_WIDTH = 10_000

# If one of these variables is set, rich takes any stream for a terminal.
_SAY_SO = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}


@cache
def err() -> Console:
    """The console for messages and progress, on stderr."""
    return _console(stderr=True)


def err_is_terminal() -> bool:
    """Whether stderr is a terminal. Rich, which takes 30 ms to import, is asked only if needed."""
    may_be = sys.stderr.isatty() or not _SAY_SO.isdisjoint(os.environ)
    return may_be and err().is_terminal


def out() -> Console:
    """The console for data, on stdout."""
    console = _console()
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def _console(*, stderr: bool = False) -> Console:
    from rich import console

    class Console(console.Console):
        def on_broken_pipe(self) -> None:
            """Called where the error is handled; rich would end the program with status 1."""
            raise

    # names and results may contain `[a]` and `:x:`, which are nothing but these characters
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
