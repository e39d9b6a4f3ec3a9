"""`fairport plot`: one figure of a study or of a result, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Force, Width, refuse_here


def plot(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|RESULT",
            help="Folder or URL of a study, or the folder of a run, of several seeds, of a"
            " comparison or of a validation.",
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
    wide: Width = "",
    force: Force = False,
) -> None:
    """Draw a study as a map or as lines, or one figure of a run or a comparison.

    A map shows a number over two axes, or which value of an axis is best there. Lines show a number
    along one axis. The remaining axes become small multiples. Figures show medians over the seeds,
    and mark bistable points. Of a search, all axes are shown, each in a panel of its own.
    """
    # first, because it leaves out parts of matplotlib that take long to import
    from fairport.figures.drawing import matplotlib_parts  # noqa: F401, I001
    from fairport import figures
    from fairport.cli import output
    from fairport.figures import studies
    from fairport.figures.drawing import width
    from fairport.storage import redraw
    from fairport.study.results import Study

    folder = Path(study)
    if redraw.has_result(folder):
        of_studies = {"--x": x, "--y": y, "--color": color, "--by": by, "--where": where}
        refuse_here(of_studies, "chooses what the figure of a study shows, and this is none")
        if out is not None:
            figures.require_file(out, "--out", force=force)
        with width.drawn_at(width.inches(wide)):
            kind, picture = redraw.picture(folder, kind)
        path = out or Path(f"{kind}.png")
        figures.save_as(picture, path, "--out", force=force)
    else:
        refuse_here({"--kind": kind}, "chooses the figure of a run, and this is a study")
        opened = Study(study)
        path = out or Path(f"{opened.definition.name}.png")
        figures.require_file(path, "--out", (*figures.ENDINGS, ".html"), force=force)
        how = {"x": x, "y": y, "color": color, "by": by, "where": where}
        if path.suffix == ".html":
            from fairport.files import write_text
            from fairport.report import study as report

            refuse_here({"--width": wide}, "is for print, and a page is as wide as its window")
            write_text(path, "--out", report.page(opened, **how), force=force)
        else:
            with width.drawn_at(width.inches(wide)):
                picture = studies.draw(opened, **how)
            figures.save_as(picture, path, "--out", force=force)
    output.print_text(f"{path}\n")
