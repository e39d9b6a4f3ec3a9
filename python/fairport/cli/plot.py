"""`fairport plot`: one figure of a study or of a run, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def plot(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|RUN", help="Folder or URL of a study, or the folder of a run."
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="The figure of a run: goodput, bars, drop_runs, queue, cwnd, rtt, fct, requests."
            "  [default: goodput]",
        ),
    ] = "",
    x: Annotated[
        str, typer.Option("--x", metavar="AXIS", help="Horizontal axis.  [default: the first]")
    ] = "",
    y: Annotated[
        str,
        typer.Option(
            "--y",
            metavar="AXIS|NUMBER",
            help="Vertical axis: another axis for a map, a number for lines."
            "  [default: the second axis]",
        ),
    ] = "",
    color: Annotated[
        str,
        typer.Option(
            "--color",
            metavar="NUMBER|AXIS",
            help="For a map: the number to show, or an axis whose best value is shown."
            " For lines: an axis, with one line per value.",
        ),
    ] = "",
    by: Annotated[
        str,
        typer.Option("--by", metavar="NUMBER", help="The number that decides which value is best."),
    ] = "",
    where: Annotated[
        str,
        typer.Option(metavar="SQL", help="Only runs for which this condition on `runs` holds."),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A PNG, SVG, PDF or HTML file; on the HTML page you choose and query the map."
            "  [default: NAME.png]",
            show_default=False,
        ),
    ] = None,
    wide: Annotated[
        str,
        typer.Option(
            "--width",
            metavar="LENGTH",
            help="Width in print, such as 3.4in or 86mm; no letter is then smaller than 7 pt.",
        ),
    ] = "",
) -> None:
    """Draw a study as a map or as lines, or one figure of a run.

    A map shows a number over two axes, or which value of an axis is best there. Lines show a number
    along one axis. The remaining axes become small multiples. Figures show medians over the seeds,
    and mark bistable points. Of a search, all axes are shown, each in a panel of its own.
    """
    # first, because it leaves out parts of matplotlib that take long to import
    from fairport.figures import drawing  # noqa: F401, I001
    from fairport import figures
    from fairport.cli import output
    from fairport.figures import studies, width
    from fairport.storage import redraw
    from fairport.study.results import Study

    of_runs = redraw.is_of_runs(Path(study))
    if out is not None:
        figures.require_ending(out, "--out", figures.ENDINGS + (() if of_runs else (".html",)))
    wide_in = width.inches(wide) if wide else None
    if of_runs:
        with width.drawn_at(wide_in):
            kind, picture = redraw.picture(Path(study), kind)
        path = out or Path(f"{kind}.png")
        figures.save_as(picture, path, "--out")
        output.print_text(f"{path}\n")
        return
    opened = Study(study)
    path = out or Path(f"{opened.definition.name}.png")
    if path.suffix == ".html":
        from fairport.files import write_text
        from fairport.report import study as report

        write_text(path, "--out", report.page(opened, x=x, y=y, color=color, by=by, where=where))
    else:
        with width.drawn_at(wide_in):
            picture = studies.draw(opened, x=x, y=y, color=color, by=by, where=where)
        figures.save_as(picture, path, "--out")
    output.print_text(f"{path}\n")
