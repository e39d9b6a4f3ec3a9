"""An experiment: a scenario with one or more seeds is run, written and summarised."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from fairport import backends
from fairport.backends.protocol import Observation, Progress
from fairport.backends.run import run as run_once
from fairport.backends.run import run_many
from fairport.files import atomic_folder
from fairport.repeats import summarise
from fairport.result import Result
from fairport.scenario import Scenario
from fairport.storage import repeats
from fairport.storage.run import CAPTURES, FIGURES, REPORT, SUMMARY, write, write_summary
from fairport.study.one_run import row_of
from fairport.study.store import Store


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
    observation: Observation | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Runs, writes everything into `folder` (None: nothing), returns the summary over all seeds.

    One seed fills the folder itself. Several fill one folder each in it, `seed-1` and so on, and
    have one report and one set of figures. The folder appears complete, after the last run. `files`
    in the returned summary are paths from the working directory.

    A run that is not valid is made again with its seed, and not counted: as many times in all as
    there are seeds. Its folder is that of the last run of its seed.

    The captures that an `observation` asks for are in `captures` of each run's folder; without a
    folder none are written.
    """
    partial = folder or Path()  # until its forerunner is made

    def place(seed: int) -> Path:
        return partial if len(seeds) == 1 else partial / f"seed-{seed}"

    def captures(seed: int) -> Path:
        _make_empty(place(seed))
        (place(seed) / CAPTURES).mkdir()
        return place(seed) / CAPTURES

    if observation is not None and observation.captures and folder is not None:
        observation = replace(observation, folder=captures)
    # Bad input is refused here, before anything is written.
    results = closing(
        run_many(
            scenario,
            seeds,
            backend=backend,
            jobs=jobs,
            retries=len(seeds),
            observation=observation,
            progress=progress,
        )
    )
    if folder is None:
        with results as runs:
            return summarise([result.summary for result in runs])
    if figures:
        # Importing what draws takes as long as a run of some seconds, so it is done meanwhile.
        Thread(target=import_module, args=["fairport.report"]).start()
    summaries, store = [], Store()
    with atomic_folder(folder, force=force) as forerunner, results as runs:
        partial = forerunner
        for result in runs:
            _keep(result, store)
            here = place(result.seed)
            if not (here / CAPTURES).exists():
                _make_empty(here)
            alone = len(seeds) == 1
            summaries.append(write(result, here, figures=figures and alone, csv=csv))
        summary = summarise(summaries)
        if figures and len(summaries) > 1:
            repeats.draw(summary, partial, partial)
        if len(seeds) > 1:
            files = {
                f"seed-{one['seeds'][0]}/{file}": None for one in summaries for file in one["files"]
            }
            own = [REPORT, *(f"{FIGURES}/{one}" for one in _drawn(partial))]
            summary["files"] = [SUMMARY, *(own if len(own) > 1 else []), *files]
        if len(summaries) > 1:
            write_summary(partial, summary)
    store.flush()
    return summary | {"files": [str(folder / file) for file in summary["files"]]}


def _drawn(folder: Path) -> list[str]:
    """Names of the figures of all seeds."""
    figures = folder / FIGURES
    return sorted(path.name for path in figures.iterdir()) if figures.exists() else []


def _make_empty(folder: Path) -> None:
    """The folder is there, without what an earlier attempt has written."""
    folder.mkdir(exist_ok=True)
    for one in folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()


def _keep(result: Result, store: Store) -> None:
    """Adds its numbers to those of all runs, so that no sweep runs it again."""
    if result.manifest["key"] is not None and result.manifest["valid"]:
        store.add_numbers(row_of(result))


def rerun(
    before: Result,
    *,
    folder: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Runs a run again on its backend; compares the fingerprints and says both versions."""

    def again() -> Result:
        backend = before.manifest["backend"]
        return run_once(before.scenario, before.seed, backend=backend, progress=progress)

    if folder is None:
        result = again()
    else:
        with atomic_folder(folder, force=force) as partial:
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
