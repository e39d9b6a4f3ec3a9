"""`fairport enqueue-probability`: how likely a packet finds room behind a drop, over rMin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_SHOWN = (1, 50, 100, 200, 400, 800, 1200)


def enqueue_probability(
    mss: Annotated[
        int, typer.Option(metavar="B", min=64, max=9000, help="Largest payload.")
    ] = 1448,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Trials at each rMin.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the draws.")
    ] = 1,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it: a .png or .svg file.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, a row each rMin.")] = False,
) -> None:
    """Say who finds room behind a drop, over rMin.

    Two back-to-back inputs meet at a full buffer, and TCPRand draws sizes from rMin up: the
    experiment of Lee et al. (Computer Networks 129, 2017, Fig. 5), without TCP and network.
    """
    from fairport import figures
    from fairport.cli import output
    from fairport.enqueue_probability import enqueue_probability as experiment

    if figure is not None:
        figures.require_ending(figure)
    found = experiment(mss, trials, seed)
    if figure is not None:
        from fairport.figures import enqueue_probability as drawing

        figures.save_as(drawing.draw(found), figure)
    if json:
        output.print_json({"mss_bytes": mss, "trials": trials, "seed": seed, "rows": found.rows()})
    else:
        shown = (*(r_min for r_min in _SHOWN if r_min < mss), mss)
        rows = found.rows()
        output.print_rows([rows[r_min - 1] for r_min in shown])
