"""A comparison as a folder: manifest, summary, tables, figure, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairport.files import atomic_folder
from fairport.storage.parts import (
    FIGURES,
    REPORT,
    TABLES,
    write_manifest_and_summary,
    write_tables,
)
from fairport.study.comparison import Comparison
from fairport.study.model_version import model_version

FIGURE = "compare"


def save(comparison: Comparison, folder: Path, *, force: bool, figures: bool, csv: bool) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError."""
    tables = {name: getattr(comparison, name) for name in ("table", "runs", "drop_runs")}
    with atomic_folder(folder, force=force) as partial:
        write_tables(tables, partial / TABLES, csv=csv)
        if figures:
            _draw(comparison, partial)
        write_manifest_and_summary(partial, _manifest(comparison), comparison.document())
    return folder


def _draw(comparison: Comparison, folder: Path) -> None:
    """The figure, and the report that shows it."""
    from fairport.figures import compared, saving

    (folder / FIGURES).mkdir()
    path = folder / FIGURES / FIGURE
    # the worker process may have been started in another working directory
    shown = compared.chart(comparison)
    with saving.beside(saving.draw, "fairport.figures.compare", shown, path.absolute()):
        from fairport.report import compare, template

        template.compile_page(compare.TEMPLATE)
    page = compare.page(comparison, path.with_suffix(".svg"))
    (folder / REPORT).write_text(page, encoding="utf-8")


def _manifest(comparison: Comparison) -> dict[str, Any]:
    """The facts needed to repeat the comparison, and to check that it is the same."""
    user_code = comparison.scenario.user_code
    return {
        "program": "fairport",
        "version": model_version(),
        "scenario": comparison.scenario.to_toml(),
        **({"user_code": user_code.described()} if user_code else {}),
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
