"""`fairport enqueue-probability`: how likely a packet finds room behind a drop, over rMin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_SHOWN = (1, 50, 100, 200, 400, 800, 1200)


def enqueue_probability(
    mss: Annotated[int, typer.Option(min=64, max=9000, help="Largest payload, B.")] = 1448,
    trials: Annotated[int, typer.Option(min=1, max=1_000_000, help="Trials at each rMin.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the draws.")] = 1,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it: a .png or .svg file.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, a row each rMin.")] = False,
) -> None:
    """Two back-to-back inputs, one dropped packet: who finds room next, over TCPRand's rMin.

    The experiment of Lee et al. (Computer Networks 129, 2017, Fig. 5); no TCP and no network.
    """
    from fairport.cli import output
    from fairport.enqueue_probability import enqueue_probability as experiment
    from fairport.errors import InputError, OutputError

    if figure is not None and figure.suffix not in (".png", ".svg"):
        raise InputError(
            "is neither .png nor .svg",
            field="--figure",
            value=str(figure),
            remedy="name a .png or a .svg file",
        )
    found = experiment(mss, trials, seed)
    if json:
        output.print_json({"mss_bytes": mss, "trials": trials, "seed": seed, "rows": found.rows()})
    else:
        shown = (*(r_min for r_min in _SHOWN if r_min < mss), mss)
        rows = found.rows()
        output.print_rows([rows[r_min - 1] for r_min in shown])
    if figure is not None:
        from fairport.figures import enqueue_probability as drawing
        from fairport.figures import style

        try:
            style.save(drawing.draw(found), figure)
        except OSError as error:
            raise OutputError(
                f"cannot be written: {error.strerror}",
                field="--figure",
                value=str(figure),
                remedy="name a file in a folder that exists",
            ) from None
