"""`fairport report`: draws the figures and the report of a run, or of several seeds, again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `fairport run` wrote.")],
) -> None:
    """Draw the figures and the report of a run again.

    The run may have one seed or several.
    """
    # first, because it leaves out parts of matplotlib that take long to import
    from fairport.figures import drawing  # noqa: F401, I001
    from fairport.cli import output
    from fairport.storage.redraw import redraw

    output.print_text(f"{redraw(run)}\n")
