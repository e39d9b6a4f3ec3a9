"""`compare`: one scenario as it is and with each of several fixes, all with the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fairport import backends
from fairport.backends.progress import Progress
from fairport.backends.protocol import Backend
from fairport.errors import InputError, ScenarioError, require_class, require_path, require_positive
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.study.comparison.caveats import Noticed, without_number
from fairport.study.comparison.metrics import Groups, RunTables
from fairport.study.comparison.parts import ComparedPart, check, compared_parts
from fairport.study.comparison.result import Candidate, Comparison
from fairport.study.fixes import BASELINE, Fix, FixError, available
from fairport.study.fixes import load as load_fixes
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store

REPEAT = 10


def compare(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    fixes: str | Path | Fix | Sequence[str | Path | Fix] | None = None,
    *,
    repeat: int = REPEAT,
    seed: int | None = None,
    metric: str | None = None,
    backend: str = backends.DEFAULT,
    folder: str | Path | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs a scenario without and with each fix, with `repeat` seeds from `seed` on.

        found = fp.compare("two-switch", ["pacing", "sfq"], repeat=6)
        print(found.conclusion, found.ranking)

    `fixes` are names, paths of files, or Fix objects, or a single one; None: all fixes. `metric`
    ranks them, one of `study.comparison.metrics.METRICS`; None: the one that the scenario's traffic
    suggests. `folder` holds fixes of your own. Runs come from and go to `store` (None: the user's,
    see `runs.store`). `jobs` runs are made at a time, by default as many as there are cores and
    memory for. `progress` is called with an `fp.Done`, several times per second.

    Raises FixError for a fix that does not exist or if none of the fixes applies, InputError for a
    metric that the scenario does not have, and ScenarioError for a scenario that cannot be run.
    """
    check(metric)
    require_positive(repeat, "repeat")
    require_class(store, Store, "store", '`fp.Store("FOLDER")`')
    scenario = load_scenario(scenario)
    first = scenario.seed if seed is None else scenario.with_seed(seed).seed
    seeds = range(first, first + repeat)
    candidates = candidates_of(scenario, fixes, seed=first, backend=backend, folder=folder)
    applicable = [one for one in candidates if one.refusal is None]
    tasks = [(one.scenario, seed) for one in applicable for seed in seeds]
    records = run_all(tasks, backend=backend, jobs=jobs, store=store or Store(), progress=progress)
    found, noticed = RunTables("fix"), Noticed(repeat)
    groups: Groups | None = None
    parts: list[ComparedPart] = []
    with closing(records):
        each = (one for one in applicable for _ in seeds)
        for one, record in zip(each, records, strict=True):
            # the first record is of the scenario without a fix
            if groups is None:
                groups = Groups.of(record)
                parts = compared_parts(scenario, record, groups, metric)
            of_parts = {name: at for part in parts for name, at in part.values(record).items()}
            found.add(one.name, record, groups, **of_parts)
            noticed.add(one.name, record, parts)
    assert groups is not None, "the scenario as it is was run"
    return Comparison(
        scenario=scenario,
        seeds=seeds,
        candidates=candidates,
        groups=groups,
        parts=parts,
        caveats=[
            *noticed.of_all_runs(),
            *(text for one in applicable if one.fix for text in one.fix.caveats(scenario)),
            *without_number(found.runs, parts),
            *noticed.lower_bounds(),
        ],
        runs=found.runs,
        drop_runs=found.drop_runs,
    )


def candidates_of(
    scenario: Scenario,
    fixes: str | Path | Fix | Sequence[str | Path | Fix] | None,
    *,
    seed: int,
    backend: str,
    folder: str | Path | None,
) -> list[Candidate]:
    """The scenario as it is, then with each fix, or why not. Runs nothing; raises as `compare`."""
    if isinstance(fixes, str | Path | Fix):
        fixes = [fixes]
    if folder is not None:
        require_path(folder, "folder")
        folder = Path(folder)
    chosen = load_fixes(available(folder) if fixes is None else fixes, folder)
    return _candidates(backends.get(backend), scenario, chosen, seed)


def _candidates(
    backend: Backend, scenario: Scenario, fixes: Sequence[Fix], seed: int
) -> list[Candidate]:
    as_it_is = backend.prepare(scenario, seed).key
    candidates = [Candidate(BASELINE, scenario)]
    for fix in fixes:
        try:
            fixed = fix.applied(scenario)
            unchanged = backend.prepare(fixed, seed).key == as_it_is
            refusal: InputError | None = (
                FixError("changes nothing there", remedy="give another fix") if unchanged else None
            )
        except ScenarioError as error:
            fixed, refusal = scenario, error
        candidates.append(Candidate(fix.name, fixed, fix, refusal))
    refusals = [one.refusal for one in candidates]
    if fixes and all(refusals[1:]):
        raise FixError(
            f"does not fit {scenario.file}: {refusals[1]}",
            field="fixes",
            value=fixes[0].name,
            remedy=refusals[1].remedy if refusals[1] else "",
        )
    return candidates
