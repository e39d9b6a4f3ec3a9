"""The command line. One file a command, and no logic in any of them.

What a command needs is imported when it runs, so that `fairport --help` stays quick.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """The command `fairport`."""
    try:
        from fairport.cli.app import app

        app()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as ended:
        if ended.code != INTERRUPTED:
            raise
        status = INTERRUPTED
    # Folders and the terminal are as they were: the interpreter's own tidying up, which takes
    # some tenths of a second once figures have been drawn, would serve nobody.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
