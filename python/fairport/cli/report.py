"""`fairport report`: draws a run's figures and report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `fairport run` wrote.")],
) -> None:
    """Draw a run's figures and report again."""
    from fairport.cli import output
    from fairport.storage.run import redraw

    output.print_text(f"{redraw(run)}\n")
