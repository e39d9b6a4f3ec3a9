"""What `reproduce` writes: manifest, summary, figures, the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from fairport.backends.cores import cores
from fairport.backends.progress import Report
from fairport.figures.drawing import width
from fairport.files import atomic_folder
from fairport.ordered_threads import Stop, Submit, in_order
from fairport.record import Record
from fairport.storage.parts import FIGURES, MANIFEST, REPORT, SUMMARY, write_json
from fairport.study.reproduce import Reproduced, document
from fairport.study.runs.model_version import model_version
from fairport.study.runs.workers import shared

# drawing the figures of this many experiments takes longer than starting a process
_MANY = 8

Pictures = list[tuple[str, Path]]
"""Titles and SVG files."""


def save(
    done: Sequence[Reproduced],
    folder: Path,
    *,
    force: bool,
    figures: bool = True,
    jobs: int | None = None,
) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError.

    Figures have the width that `figures.width.drawn_at` asks for. At most `jobs` processes
    draw at a time (None: one per processor).
    """
    with atomic_folder(folder, force=force) as partial:
        if figures:
            _draw_and_report(done, partial, jobs)
        write_json(partial / SUMMARY, document(done))
        write_json(partial / MANIFEST, _manifest(done))
    return folder


def _draw_and_report(done: Sequence[Reproduced], folder: Path, jobs: int | None) -> None:
    from fairport.report import reproduce

    (folder / FIGURES).mkdir()
    names = [one.entry.name for one in done]
    pictures = dict(zip(names, _drawn(done, folder / FIGURES, jobs), strict=True))
    (folder / REPORT).write_text(reproduce.page(done, pictures), encoding="utf-8")


def _manifest(done: Sequence[Reproduced]) -> dict[str, Any]:
    """The facts needed to repeat the experiments, and to check that they are the same."""
    return {
        "program": "fairport",
        "version": model_version(),
        "experiments": [
            {
                "id": one.entry.name,
                "quick": one.quick,
                "seeds": list(one.seeds),
                "variants": _variants(one, one.records, on_linux=False),
            }
            | ({"on_linux": _variants(one, one.linux.records, on_linux=True)} if one.linux else {})
            for one in done
        ],
    }


def _variants(
    one: Reproduced, records: Mapping[str, Sequence[Record | None]], *, on_linux: bool
) -> list[dict[str, Any]]:
    """Each variant's scenario with the fingerprints of its runs; a model has no scenario."""
    if one.entry.experiment.model:
        return []
    return [
        {
            "name": variant.name,
            "scenario": one.entry.scenario(variant, quick=one.quick, on_linux=on_linux).to_toml(),
            "fingerprints": [run and run.summary["fingerprint"] for run in records[variant.name]],
        }
        for variant in one.entry.variants
        if variant.name in records
    ]


def _drawn(done: Sequence[Reproduced], folder: Path, jobs: int | None) -> Iterator[Pictures]:
    """The figures of each experiment; if there are many, worker processes draw them."""
    wide_in = width.asked_in()
    if len(done) < _MANY:
        yield from (_draw(None, one, folder, wide_in) for one in done)
        return

    def begin(one: Reproduced, submit: Submit[Pictures]) -> Future[Pictures]:
        return submit(lambda: shared().call(_draw, one, folder, wide_in))

    jobs = jobs or cores()
    yield from in_order(done, begin, threads=jobs, ahead=2 * jobs, stop=Stop())


def _draw(_report: Report | None, one: Reproduced, folder: Path, wide_in: float | None) -> Pictures:
    """PNG and SVG of each of the experiment's figures, so many inches wide."""
    from fairport.figures import papers
    from fairport.figures.drawing import style

    drawn = []
    with width.drawn_at(wide_in):
        for drawing in one.entry.experiment.figure:
            stem = f"{one.entry.name.replace('/', '-')}-{drawing.file_stem}"
            svg = style.save_both(papers.draw(one, drawing), folder / stem)
            drawn.append((drawing.title, svg))
    return drawn
