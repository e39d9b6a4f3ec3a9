"""`fairport microscope`: every packet around a blackout, as pictures and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Force, Json, Quiet, Width


def microscope(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `fairport run` wrote.")],
    around: Annotated[
        str,
        typer.Option(
            metavar="worst|TIME|FLOW",
            help="The longest blackout of the starved flows; a time such as 2.5s; a flow's number "
            "or its sending host.",
        ),
    ] = "worst",
    port: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="Output port.  [default: the bottleneck]"),
    ] = None,
    span: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Width of the view.  [default: as the blackout needs]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write.  [default: RUN-microscope]"),
    ] = None,
    wide: Width = "",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw every packet at a port around a blackout.

    In a blackout packets of one ingress port are dropped, one after another, while those of another
    are accepted. The queue and the windows are drawn below the packets. It writes the moment as PNG
    and SVG, and the whole run, down to single packets, as a page.
    """
    from fairport.backends.progress import Tally
    from fairport.cli import output
    from fairport.cli.progress import progress_bar
    from fairport.figures.drawing import width
    from fairport.files import refuse_what_is_there
    from fairport.microscope import focus, look
    from fairport.storage import load_run
    from fairport.storage import microscope as storage

    result = load_run(run)
    chosen = focus(result, around, port, span)
    folder = out or run.resolve().with_name(f"{run.resolve().name}-microscope")
    refuse_what_is_there(folder, force=force)
    with width.drawn_at(width.inches(wide)):
        with progress_bar(result.scenario, 2, shown=not quiet) as bar:
            tally = Tally(2, bar)
            near = look(result, chosen, progress=tally.of_part("near"))
            whole = look(result, chosen, whole_run=True, progress=tally.of_part("whole"))
        storage.save(near, whole, folder, force=force)
    document = storage.document(near, whole, folder)
    if json:
        output.print_json(document)
    elif not quiet:
        output.print_text(storage.text(document))
