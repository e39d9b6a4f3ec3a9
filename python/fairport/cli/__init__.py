"""The command line: one file per command, without logic.

A command's modules are imported when it runs, so that `fairport --help` stays quick.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from fairport.cli.statuses import INTERRUPTED

# Modules and tables are many objects, all of which stay in use. Python would search them for
# garbage after every 700 new ones, which takes a tenth of the time of a short run.
COLLECT_EVERY = 300_000


def main() -> None:
    """The command `fairport`."""
    gc.set_threshold(COLLECT_EVERY)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
            setattr(sys, name, nowhere)
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        # PYTHONUNBUFFERED: Python would lose what a full disk did not take, without an error
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=sys.stdout.encoding,
            line_buffering=sys.stdout.isatty(),
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal or a pipe that takes only ASCII gets \xb1 instead of a character that it
            # lacks
            stream.reconfigure(errors="backslashreplace")
    # pictures are files here, whatever backend the user's notebooks use
    os.environ["MPLBACKEND"] = "agg"
    # we have no plugins; to look for some, pydantic reads the metadata of every installed package
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    received = [signal.SIGINT]

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    # If the job is ended or the terminal is closed, nothing is left half written either.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)
    status = 0
    try:
        from fairport.cli.app import program

        program(sys.argv[1:])(prog_name="fairport")
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            raise
        status = ended.code or 0
    if status == INTERRUPTED:
        status = 128 + received[-1]  # as shells report it: 130 for Ctrl-C
    atexit._run_exitfuncs()  # ends the worker processes
    # Folders and the terminal are in order here. The interpreter's own clean-up takes 0.3 s once
    # figures have been drawn, and is not needed.
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
