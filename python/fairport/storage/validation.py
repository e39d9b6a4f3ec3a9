"""A validation as a folder: summary, tables, the measured host profile, figure, report."""

from __future__ import annotations

from pathlib import Path

from fairport.files import atomic_folder
from fairport.storage.parts import (
    FIGURES,
    REPORT,
    TABLES,
    write_manifest_and_summary,
    write_tables,
)
from fairport.study.model_version import model_version
from fairport.study.validate import Validation

FIGURE = "validate"
PROFILE = "host-profile.toml"


def save(found: Validation, folder: Path, *, force: bool, figures: bool, csv: bool) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError."""
    with atomic_folder(folder, force=force) as partial:
        tables = {name: getattr(found, name) for name in ("table", "runs", "drop_runs")}
        write_tables(tables, partial / TABLES, csv=csv)
        (partial / PROFILE).write_text(found.profile.to_toml(), encoding="utf-8")
        if figures:
            _draw(found, partial)
        manifest = {
            "program": "fairport",
            "version": model_version(),
            "scenario": found.scenario.to_toml(),
            "simulated": found.simulated.to_toml(),
            "seeds": list(found.seeds),
        }
        write_manifest_and_summary(partial, manifest, found.document())
    return folder


def _draw(found: Validation, folder: Path) -> None:
    from fairport.figures import style
    from fairport.figures import validate as figure
    from fairport.report import validate

    (folder / FIGURES).mkdir()
    svg = style.save_both(figure.draw(found), folder / FIGURES / FIGURE)
    page = validate.page(found, svg)
    (folder / REPORT).write_text(page, encoding="utf-8")
