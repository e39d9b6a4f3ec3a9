"""What `microscope` writes: the moment as PNG and SVG, the whole run as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from fairport.files import atomic_folder
from fairport.microscope import Slide

FIGURE = "blackout"
PAGE = "microscope.html"


def save(near: Slide, whole: Slide, folder: Path, *, force: bool) -> None:
    """Writes the folder, completely or not at all. Raises OutputError."""
    from fairport.figures import microscope
    from fairport.figures.drawing import style
    from fairport.report import microscope as report

    with atomic_folder(folder, force=force) as partial:
        style.save_both(microscope.draw(near), partial / FIGURE)
        (partial / PAGE).write_text(report.page(whole, near), encoding="utf-8")


def document(near: Slide, whole: Slide, written: Path) -> dict[str, Any]:
    """The findings and the written files, for `--json`."""
    focus = near.focus
    dropped = near.packets.filter(pl.col("fate") == "dropped").height
    return {
        "run_id": near.result.run_id,
        "port": focus.port,
        "from_s": focus.from_s,
        "to_s": focus.to_s,
        "why": focus.why,
        "ingress_port": focus.ingress_port,
        "blackout_s": list(focus.dark_s) if focus.dark_s else None,
        "packets": near.packets.height,
        "dropped": dropped,
        "packets_whole_run": whole.packets.height,
        "files": [str(written / name) for name in (f"{FIGURE}.png", f"{FIGURE}.svg", PAGE)],
    }


def text(found: dict[str, Any]) -> str:
    """The same as text for people."""
    lines = [
        f"port {found['port']}, {found['from_s']:.6f} s to {found['to_s']:.6f} s: {found['why']}",
        f"{found['packets']} packets, {found['dropped']} of them dropped; the page holds all "
        f"{found['packets_whole_run']} packets of the run",
        *found["files"],
    ]
    return "\n".join(lines) + "\n"
