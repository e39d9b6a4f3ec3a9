"""A comparison as a folder: manifest, summary, tables, figure, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairport.files import atomic_folder
from fairport.storage.run import (
    FIGURES,
    MANIFEST,
    REPORT,
    SUMMARY,
    TABLES,
    files_below,
    write_json,
    write_tables,
)
from fairport.study.comparison import Comparison
from fairport.study.model_version import model_version

FIGURE = "compare"


def save(comparison: Comparison, folder: Path, *, force: bool, figures: bool, csv: bool) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError."""
    with atomic_folder(folder, force=force) as partial:
        _write(comparison, partial, figures, csv)
    return folder


def _write(comparison: Comparison, folder: Path, figures: bool, csv: bool) -> None:
    tables = {name: getattr(comparison, name) for name in ("table", "runs", "drop_runs")}
    write_tables(tables, folder / TABLES, csv=csv)
    if figures:
        from fairport.figures import saving

        (folder / FIGURES).mkdir()
        if comparison.scenario.user_code:  # only this process has the user's own classes
            _draw(None, comparison, folder)
        else:
            saving.call(_draw, comparison, folder.absolute())
    write_json(folder / MANIFEST, _manifest(comparison))
    files = sorted([*files_below(folder), SUMMARY])
    write_json(folder / SUMMARY, comparison.document() | {"files": files})


def _draw(_: Any, comparison: Comparison, folder: Path) -> None:
    from fairport import figures
    from fairport.figures import style
    from fairport.report import compare

    picture = figures.plot(comparison)
    for ending in ("png", "svg"):
        style.save(picture, folder / FIGURES / f"{FIGURE}.{ending}")
    page = compare.page(comparison, folder / FIGURES / f"{FIGURE}.svg")
    (folder / REPORT).write_text(page, encoding="utf-8")


def _manifest(comparison: Comparison) -> dict[str, Any]:
    """The facts needed to repeat the comparison, and to check that it is the same."""
    return {
        "program": "fairport",
        "version": model_version(),
        "scenario": comparison.scenario.to_toml(),
        "seeds": list(comparison.seeds),
        "fixes": [
            {
                "name": one.name,
                "patch": dict(one.fix.patch) if one.fix else {},
                "fingerprints": comparison.runs.filter(fix=one.name)["fingerprint"].to_list(),
            }
            for one in comparison.candidates
        ],
    }
