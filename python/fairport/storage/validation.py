"""A validation as a folder: summary, tables, the measured host profile, figure, report."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fairport.files import atomic_folder
from fairport.scenario import host_profile, parse
from fairport.storage import documents
from fairport.storage.parts import FIGURES, MANIFEST, REPORT, TABLES, write_tables
from fairport.study.comparison.metrics import Groups
from fairport.study.runs.model_version import model_version
from fairport.study.validation import Validation

FIGURE = "validate"
PROFILE = "host-profile.toml"

# What a validation is read from: keys of its documents, and tables.
_MANIFEST_KEYS = {**dict.fromkeys(("scenario", "simulated"), str), "seeds": list, "groups": dict}
_SUMMARY_KEYS = {"invalid_runs": list}
_READ = ("runs", "drop_runs")


def save(found: Validation, folder: Path, *, force: bool, figures: bool, csv: bool) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError."""
    with atomic_folder(folder, force=force) as partial:
        tables = {name: getattr(found, name) for name in ("table", *_READ)}
        write_tables(tables, partial / TABLES, csv=csv)
        (partial / PROFILE).write_text(found.profile.to_toml(), encoding="utf-8")
        if figures:
            draw(found, partial)
        manifest = {
            "program": "fairport",
            "version": model_version(),
            "scenario": found.scenario.to_toml(),
            "simulated": found.simulated.to_toml(),
            "seeds": list(found.seeds),
            "groups": asdict(found.groups),
        }
        documents.write(partial, manifest, found.document())
    return folder


def load(folder: Path) -> Validation:
    """The validation that `save` wrote into a folder. Raises RunFolderError."""
    manifest, summary = documents.read(folder, "validation", _MANIFEST_KEYS, _SUMMARY_KEYS)
    file = str(folder / MANIFEST)
    return Validation(
        scenario=parse(manifest["scenario"], file=file),
        simulated=parse(manifest["simulated"], file=file),
        profile=host_profile.read(folder / PROFILE),
        seeds=manifest["seeds"],
        invalid=summary["invalid_runs"],
        groups=Groups(**manifest["groups"]),
        **documents.tables(folder, _READ),
    )


def draw(found: Validation, folder: Path) -> None:
    """Draws the figure, and the report that shows it, into the folder."""
    from fairport.figures import validate as figure
    from fairport.figures.drawing import style
    from fairport.report import validate

    (folder / FIGURES).mkdir()
    svg = style.save_both(figure.draw(found), folder / FIGURES / FIGURE)
    page = validate.page(found, svg)
    (folder / REPORT).write_text(page, encoding="utf-8")
