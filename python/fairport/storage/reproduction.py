"""What `reproduce` writes: summary, figures, the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairport.files import atomic_folder
from fairport.storage.run import FIGURES, REPORT, SUMMARY, write_json
from fairport.study.reproduce import Reproduced, document


def save(done: Sequence[Reproduced], folder: Path, *, force: bool) -> Path:
    """Writes the folder, whole or not at all, and returns its path. Raises OutputError."""
    from fairport.report import reproduce

    with atomic_folder(folder, force=force) as partial:
        (partial / FIGURES).mkdir()
        pictures = {one.entry.name: _draw(one, partial / FIGURES) for one in done}
        (partial / REPORT).write_text(reproduce.page(done, pictures), encoding="utf-8")
        write_json(partial / SUMMARY, document(done))
    return folder


def _draw(one: Reproduced, folder: Path) -> list[tuple[str, Path]]:
    """PNG and SVG of each of the experiment's figures; titles and SVG files."""
    from fairport.figures import papers, style

    drawn = []
    for drawing in one.entry.experiment.figure:
        picture = papers.draw(one, drawing)
        stem = f"{one.entry.name.replace('/', '-')}-{drawing.file_stem}"
        for ending in ("png", "svg"):
            style.save(picture, folder / f"{stem}.{ending}")
        drawn.append((drawing.title, folder / f"{stem}.svg"))
    return drawn
