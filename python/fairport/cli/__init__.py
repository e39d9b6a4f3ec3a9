"""The command line. One file a command, and no logic in any of them.

What a command needs is imported when it runs, so that `fairport --help` stays quick.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The command `fairport`."""
    try:
        from fairport.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
