"""A comparison as a folder: manifest, summary, tables, figure, report."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairport.files import atomic_folder
from fairport.scenario import Scenario, parse
from fairport.storage import documents
from fairport.storage.parts import FIGURES, MANIFEST, REPORT, TABLES, write_tables
from fairport.study.comparison.metrics import Groups
from fairport.study.comparison.parts import ComparedPart
from fairport.study.comparison.result import Candidate, Comparison
from fairport.study.fixes import Fix, FixError
from fairport.study.runs.model_version import model_version

FIGURE = "compare"

# What a comparison is read from: keys of its documents, and tables.
_MANIFEST_KEYS = {
    "scenario": str,
    "groups": dict,
    **dict.fromkeys(("seeds", "fixes", "parts"), list),
}
_SUMMARY_KEYS = {"caveats": list, "fixes": list}
_READ = ("runs", "drop_runs")


def save(comparison: Comparison, folder: Path, *, force: bool, figures: bool, csv: bool) -> Path:
    """Writes the folder, completely or not at all, and returns its path. Raises OutputError."""
    tables = {name: getattr(comparison, name) for name in ("table", *_READ)}
    with atomic_folder(folder, force=force) as partial:
        write_tables(tables, partial / TABLES, csv=csv)
        if figures:
            draw(comparison, partial)
        documents.write(partial, _manifest(comparison), comparison.document())
    return folder


def load(folder: Path) -> Comparison:
    """The comparison that `save` wrote into a folder. Raises RunFolderError."""
    manifest, summary = documents.read(folder, "comparison", _MANIFEST_KEYS, _SUMMARY_KEYS)
    scenario = parse(manifest["scenario"], file=str(folder / MANIFEST))
    refusals = {one["fix"]: one["not_applicable"] for one in summary["fixes"]}
    return Comparison(
        scenario=scenario,
        seeds=manifest["seeds"],
        candidates=[
            _candidate(scenario, one["name"], one["fix"], refusals[one["name"]])
            for one in manifest["fixes"]
        ],
        groups=Groups(**manifest["groups"]),
        parts=[_part(**one) for one in manifest["parts"]],
        caveats=summary["caveats"],
        **documents.tables(folder, _READ),
    )


def draw(comparison: Comparison, folder: Path) -> None:
    """Draws the figure, and the report that shows it, into the folder."""
    from fairport.figures import compared
    from fairport.figures.drawing import saving

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
    """The facts needed to repeat the comparison, to read it, and to check that it is the same."""
    user_code = comparison.scenario.user_code
    return {
        "program": "fairport",
        "version": model_version(),
        "scenario": comparison.scenario.to_toml(),
        **({"user_code": user_code.described()} if user_code else {}),
        "seeds": list(comparison.seeds),
        "groups": asdict(comparison.groups),
        "parts": [asdict(part) for part in comparison.parts],
        "fixes": [
            {
                "name": one.name,
                "fix": one.fix and one.fix.model_dump(),
                "fingerprints": comparison.runs.filter(fix=one.name)["fingerprint"].to_list(),
            }
            for one in comparison.candidates
        ],
    }


def _candidate(
    scenario: Scenario, name: str, fields: dict[str, Any] | None, refusal: str | None
) -> Candidate:
    """A row of the comparison; `fields` are those of its fix, `refusal` says why it is not run."""
    if fields is None:
        return Candidate(name, scenario)
    fix = Fix(**fields)
    if refusal is not None:
        return Candidate(name, scenario, fix, FixError(refusal))
    return Candidate(name, fix.applied(scenario), fix)


def _part(indices: list[int], shown: list[str], **others: Any) -> ComparedPart:
    """A part of the traffic: JSON has no tuples."""
    return ComparedPart(indices=tuple(indices), shown=tuple(shown), **others)
