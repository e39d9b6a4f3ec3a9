"""Runs a scenario with one or more seeds; writes and summarises the results."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from fairport import backends
from fairport.backends.progress import Progress
from fairport.backends.protocol import Observation
from fairport.backends.run import run as run_once
from fairport.backends.run import run_many
from fairport.errors import InputError
from fairport.files import LIST, atomic_folder
from fairport.scenario import Scenario

if TYPE_CHECKING:
    from fairport.result import Result
    from fairport.study.runs.store import Store

# The modules that process a run's numbers. Importing them takes as long as a run of a second, so
# they are imported while the engine runs, which does not need the interpreter.
_AFTER_THE_RUN = (
    "fairport.backends.columns",
    "fairport.backends.made",
    "fairport.metrics.repeats",
    "fairport.scenario.phase",
    "fairport.storage.run",
    "fairport.study.runs.one_run",
    "fairport.study.runs.store",
    "rich.table",
)
_DRAWING = ("fairport.report.page", "fairport.figures.over_time")

_CAPTURES = "captures"


def run(
    scenario: Scenario,
    seeds: Sequence[int],
    *,
    backend: str = backends.DEFAULT,
    folder: Path | None,
    force: bool = False,
    figures: bool = True,
    csv: bool = False,
    jobs: int = 1,
    threads: int = 1,
    observation: Observation | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Runs, writes everything into `folder` (None: nothing), returns the summary over all seeds.

    The run of a single seed fills the folder itself. Several seeds fill one folder each in it,
    `seed-1` and so on, and have one report and one set of figures. The folder appears complete,
    after the last run. `files` in the returned summary are paths from the working directory.

    A run that is not valid is not counted, and is repeated with its seed; there are at most as many
    repetitions in all as seeds. A seed's folder is that of its last run. The captures of an
    `observation` are in `captures` of each run's folder.
    """
    places = _Places(are_many=len(seeds) > 1)
    if observation is not None and observation.captures and folder is not None:
        observation = replace(observation, folder=places.captures)
    # Bad input is refused here, before anything is written.
    results = closing(
        run_many(
            scenario,
            seeds,
            backend=backend,
            jobs=jobs,
            threads=threads,
            retries=len(seeds),
            observation=observation,
            progress=progress,
        )
    )
    Thread(target=_import_what_follows, args=[figures and folder is not None]).start()
    if folder is None:
        with results as runs:
            summaries = [dict(result.summary) for result in runs]
        # after the runs, because it imports polars
        from fairport.metrics.repeats import summarise

        return summarise(summaries)
    store = cache(_store)
    with atomic_folder(folder, force=force) as places.folder, results as runs:
        summary = _write(runs, places, store, figures=figures, csv=csv)
    store().flush()
    return summary | {"files": [str(folder / file) for file in summary["files"]]}


@dataclass
class _Places:
    """Where the runs are written."""

    are_many: bool
    """Whether there are several seeds, each with a folder of its own."""
    folder: Path = Path()
    """The temporary folder, once it is made."""

    def run(self, seed: int) -> Path:
        """The folder of a seed's run."""
        return self.folder / f"seed-{seed}" if self.are_many else self.folder

    def captures(self, seed: int) -> Path:
        """The folder of its captures, made anew."""
        _make_empty(self.run(seed))
        (self.run(seed) / _CAPTURES).mkdir()
        return self.run(seed) / _CAPTURES


def _write(
    runs: Iterable[Result],
    places: _Places,
    store: Callable[[], Store],
    *,
    figures: bool,
    csv: bool,
) -> dict[str, Any]:
    """Writes runs as they come, then what is about all of them. Returns the summary over all."""
    summaries = []
    for result in runs:
        _add_to(store(), result)
        draws = figures and not places.are_many
        summaries.append(_written(result, places.run(result.seed), draws, csv))
    # after the runs, because it imports polars
    from fairport.metrics.repeats import summarise

    summary = summarise(summaries)
    if places.are_many:
        _write_over_seeds(summary, summaries, places.folder, figures)
    elif len(summaries) > 1:
        _write_summary(places.folder, summary)
    return summary


def _import_what_follows(draws: bool) -> None:
    """Imports the modules needed after a run, while the engine runs in another thread.

    It also computes values that do not depend on the run and are kept: the version of the model and
    the report's template.
    """
    from fairport.study.runs.model_version import model_version

    before_s = sys.getswitchinterval()
    # the engine checks for signals between its slices, and so soon gets the interpreter's lock
    sys.setswitchinterval(0.0005)
    try:
        if draws:
            import_module("fairport.figures.drawing.matplotlib_parts")
        for name in _AFTER_THE_RUN + (_DRAWING if draws else ()):
            import_module(name)
        model_version()
        if draws:
            import_module("fairport.report.template").compile_page()
    finally:
        sys.setswitchinterval(before_s)


def _written(result: Result, folder: Path, figures: bool, csv: bool) -> dict[str, Any]:
    """The summary of a run that is now in its folder."""
    from fairport.storage.run import write

    if not (folder / _CAPTURES).exists():
        _make_empty(folder)
    return write(result, folder, figures=figures, csv=csv)


def _write_over_seeds(
    summary: dict[str, Any], summaries: Sequence[dict[str, Any]], folder: Path, figures: bool
) -> None:
    """Writes the report and the summary over all seeds; adds their files to the summary."""
    from fairport.storage import repeats
    from fairport.storage.parts import FIGURES, REPORT, SUMMARY

    own = [SUMMARY]
    if figures:
        repeats.draw(summary, folder, folder)
        drawn = sorted(path.name for path in (folder / FIGURES).iterdir())
        own += [REPORT, *(f"{FIGURES}/{name}" for name in drawn)]
    # a seed that was run twice has one folder
    of_seeds = (f"seed-{one['seeds'][0]}/{file}" for one in summaries for file in one["files"])
    summary["files"] = [*own, *dict.fromkeys(of_seeds)]
    _write_summary(folder, summary)


def _write_summary(folder: Path, summary: dict[str, Any]) -> None:
    from fairport.storage.run import write_summary

    write_summary(folder, summary)


def _store() -> Store:
    from fairport.study.runs.store import Store

    return Store()


def _add_to(store: Store, result: Result) -> None:
    """Adds the run's numbers to the store, so that no sweep makes the run again."""
    from fairport.study.runs.one_run import row_of

    if result.manifest["key"] is not None and result.manifest["valid"]:
        store.add_numbers(row_of(result))


def _make_empty(folder: Path) -> None:
    """Makes the folder, or removes from it what an earlier attempt wrote, except the list."""
    folder.mkdir(exist_ok=True)
    for one in folder.iterdir():
        if one.name == LIST:
            continue  # without the list nobody may remove what a killed run leaves
        shutil.rmtree(one) if one.is_dir() else one.unlink()


def rerun(
    before: Result,
    *,
    folder: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Repeats a run on its backend; compares the fingerprints, and names both versions.

    Raises InputError for an analysis of captures.
    """
    name = before.manifest["backend"]
    if name not in backends.names():
        raise InputError(
            "comes from captures, so it cannot be repeated",
            file=before.run_id,
            remedy="`fairport run` makes a run of its scenario, which is in manifest.json",
        )

    def again() -> Result:
        return run_once(before.scenario, before.seed, backend=name, progress=progress)

    if folder is None:
        result = again()
    else:
        with atomic_folder(folder, force=force) as partial:
            from fairport.storage.run import write

            result = again()
            write(result, partial, figures=True, csv=False)
    return {
        "run_id": before.run_id,
        "same": result.fingerprint == before.fingerprint,
        "fingerprint_before": before.fingerprint,
        "fingerprint": result.fingerprint,
        "version_before": before.manifest["version"],
        "version": result.manifest["version"],
    }
