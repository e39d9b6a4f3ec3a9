"""`sweep`: every point of a family of scenarios with several seeds, as a study.

A run is made only once: runs in the study or in this machine's store are not made again. So the
same call continues an interrupted sweep, and a larger one adds to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from fairport import backends
from fairport.errors import InputError, require_class, require_dictionary, require_known
from fairport.files.place import place
from fairport.metrics.run_numbers import NUMBERS
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.study import continued
from fairport.study.making import Listeners, Making, Status
from fairport.study.plan import Plan
from fairport.study.points import count, label_of, points, value_of
from fairport.study.precision import Precision, more_seeds, too_wide
from fairport.study.results import Definition, Study, define
from fairport.study.runs.execution import Executor, Local
from fairport.study.runs.model_version import model_version
from fairport.study.runs.store import Store
from fairport.study.study_file import read
from fairport.study.sweep_file import SweepFile, as_list

MANY_POINTS = 1_000_000


def sweep(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    axes: Mapping[str, Any],
    *,
    seeds: int | Sequence[int] = 20,
    keep: Sequence[str] | None = None,
    zip: Sequence[Sequence[str]] = (),  # noqa: A002
    where: str = "",
    name: str = "",
    folder: str | Path | None = None,
    force: bool = False,
    backend: str = backends.DEFAULT,
    jobs: int | None = None,
    store: Store | None = None,
    until_precise: Precision | None = None,
    executor: Executor | None = None,
    listeners: Listeners | None = None,
) -> Study:
    """Runs a scenario at every combination of the axes' values, each with `seeds` seeds.

        study = fp.sweep("two-switch", {"queue.limit": ["8KiB", "16KiB"]}, seeds=2)
        print(study.to_polars().select("queue.limit", "seed", "jain_index"))

    `axes` has a list of values, or a table as in a sweep file, for each dotted path; `seeds` is how
    many, or which. The axes of a group of `zip` change together: `zip=[("link.rate",
    "queue.limit")]`. `where` is a condition in SQL on the axes. `keep` names the numbers to keep
    (None: all, `metrics.run_numbers.NUMBERS`). With `until_precise`, points get more seeds until
    their medians are known well enough.

    The study goes to `folder`, a path or a URL (None: `results/NAME`); the same study there is
    continued, if nothing that decides its runs has changed: files that the scenario names, and the
    source of your own classes. Of user code, up to three finished runs are made again, and must
    send the same packets. `force` replaces another study there. Runs come from and go to `store`
    (None: the user's). `jobs` runs are made at a time, by default as many as there are cores;
    an `executor` makes them elsewhere, as many as it can. `listeners` are called with an `Estimate`
    and with the `Status`.

    Raises InputError for bad input, before the first run. If a run fails, the others continue, its
    error is in the column `error`, and a warning says so at the end.
    """
    require_class(store, Store, "store", '`fp.Store("FOLDER")`')
    require_class(until_precise, Precision, "until_precise", '`fp.Precision("jain_index", 0.1)`')
    require_class(listeners, Listeners, "listeners", "`fp.Listeners(status=print)`")
    cluster = '`with connected("dask://HOST:8786") as cluster`, in fairport.study.runs.cluster'
    require_class(executor, Executor, "executor", cluster)
    require_dictionary(axes, "axes", '{"queue.limit": ["8KiB", "16KiB"]}')
    base = load_scenario(scenario)
    document = {
        "scenario": base.file,
        "name": name or f"{base.name}-sweep",
        "seeds": as_list(seeds),
        "keep": as_list(keep),
        "axes": {name: as_list(at) for name, at in axes.items()},
        "zip": [as_list(group) for group in zip] if isinstance(zip, Iterable) else zip,
        "where": where,
    }
    file = read(SweepFile, document)
    study, status = run(
        file,
        base,
        place_of_study=folder or Path("results") / file.name,
        force=force,
        backend=backend,
        jobs=jobs,
        store=store,
        until_precise=until_precise,
        executor=None if executor is None else nullcontext(executor),
        listeners=listeners,
    )
    if status.failed:
        _warn(study, status)
    return study


def _warn(study: Study, status: Status) -> None:
    """Says that runs failed: whoever calls from Python sees no exit status."""
    failed = f"{status.failed:,} of {status.of:,} runs failed{study.first_error()}"
    warnings.warn(f"{failed}. The column `error` of {study!r} has the reasons", stacklevel=3)


def run(
    file: SweepFile,
    base: Scenario,
    *,
    place_of_study: str | Path,
    force: bool = False,
    backend: str = backends.DEFAULT,
    jobs: int | None = None,
    store: Store | None = None,
    until_precise: Precision | None = None,
    executor: AbstractContextManager[Executor] | None = None,
    listeners: Listeners | None = None,
) -> tuple[Study, Status]:
    """Runs a sweep file whose scenario is `base`; the executor starts when all is checked.

    Returns the study, and how many runs were made for it now.
    """
    if executor is not None:
        check_for_cluster(backend, jobs)
    keep = _kept(file, until_precise)
    plan = checked(file, base, backend)
    study = define(place(place_of_study), _definition(file, base, keep, backend), force=force)
    continued.require_same_content(study, plan)
    if executor is None:
        executor = nullcontext(Local(plan.jobs(jobs), in_process=plan.in_process))
    with (
        executor as started,
        Making(study, plan, store or Store(), started, listeners) as making,
    ):
        if base.user_code:
            continued.require_same_code(study, plan, started)
        numbers = range(len(plan.points))
        making.run_and_estimate([(one, seed) for one in numbers for seed in file.seed_numbers])
        if until_precise is not None:
            while wanted := plan.at(_more_seeds(making.so_far(), file, until_precise)):
                making.run(wanted)
            _warn_of_width(making.so_far(), list(file.axes), until_precise)
    return study, making.status


def checked(file: SweepFile, base: Scenario, backend: str = backends.DEFAULT) -> Plan:
    """The points of a sweep file. Raises InputError for an axis or a value that cannot be run."""
    every = points(file.axes, file.zip, file.where, file.file)
    plan = Plan(base, every, backend, file.file, "axes")
    plan.check()
    return plan


def _warn_of_width(runs: pl.DataFrame, axes: list[str], until_precise: Precision) -> None:
    """Says which points have their most seeds, and still no precise median."""
    wide = too_wide(runs, axes, until_precise)
    if wide:
        at = ", ".join(f"{axis} = {wide[0][axis]}" for axis in axes)
        warnings.warn(
            f"{len(wide):,} of {runs.select(axes).n_unique():,} points have the most seeds,"
            f" {until_precise.most_seeds}, and half the interval of `{until_precise.metric}` is"
            f" still wider than {100 * until_precise.share:g} % of its median; the first is {at}",
            stacklevel=4,
        )


def _definition(file: SweepFile, base: Scenario, keep: list[str], backend: str) -> Definition:
    return Definition(
        name=file.name,
        scenario=base.to_toml(),
        axes={axis: [value_of(one) for one in at] for axis, at in file.axes.items()},
        labels={axis: [label_of(axis, one) for one in at] for axis, at in file.axes.items()},
        titles=dict(file.titles),
        keep=keep,
        backend=backend,
        model=model_version(),
        seeds=list(file.seed_numbers),
        user_code=base.user_code.described() if base.user_code else {},
    )


def _more_seeds(
    so_far: pl.DataFrame, file: SweepFile, until_precise: Precision
) -> list[tuple[Mapping[str, Any], int]]:
    """The points that need more seeds, with the seeds. Raises InputError without the number."""
    if not so_far[until_precise.metric].count():
        raise InputError(
            "is a number that no run has",
            field="until_precise",
            value=until_precise.metric,
            remedy="put another one first in `keep`; the runs are kept",
        )
    return more_seeds(so_far, list(file.axes), until_precise)


def check_for_cluster(backend: str, jobs: int | None) -> None:
    """Raises InputError for what no cluster can do. No cluster is needed to know it."""
    if backends.get(backend).is_real_time:
        raise InputError(
            "runs in real time, one run at a time on this machine, so no cluster can help",
            field="backend",
            value=backend,
            remedy='leave the cluster out, or use `backend="simulation"`',
        )
    if jobs is not None:
        raise InputError(
            "has no effect on a cluster, whose workers run as many at a time as they have threads",
            field="jobs",
            value=jobs,
            remedy="leave it out, and start more or fewer workers",
        )


def check_size(file: SweepFile, *, allowed: bool) -> None:
    """Raises InputError for more than a million points, unless they are allowed."""
    found = count(file.axes, file.zip, file.file)
    if found > MANY_POINTS and not allowed:
        raise InputError(
            f"make {found:,} points, more than {MANY_POINTS:,}",
            file=file.file,
            field="axes",
            remedy="give fewer values, `zip` axes that go together, or --yes",
        )


def _kept(file: SweepFile, until_precise: Precision | None) -> list[str]:
    keep = list(NUMBERS) if file.keep is None else list(file.keep)
    if until_precise is not None:
        require_known(until_precise.metric, keep, "is not kept", field="until_precise")
    return keep
