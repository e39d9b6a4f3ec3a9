"""`fairport report`: draws the figures and the report of a result again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A folder that `fairport run`, `compare` or `validate` wrote."
        ),
    ],
) -> None:
    """Draw the figures and the report of a result again.

    The result may be a run, several seeds, a comparison or a validation.
    """
    # first, because it leaves out parts of matplotlib that take long to import
    from fairport.figures.drawing import matplotlib_parts  # noqa: F401, I001
    from fairport.cli import output
    from fairport.storage.redraw import redraw

    output.print_text(f"{redraw(result)}\n")
