"""`tune` and `hunt`: find the best settings, and the scenarios that treat a flow worst.

Optuna suggests points (`study.trials`). A point's runs are rows of the study, like those of a
sweep. So an interrupted search continues, and its points can be queried and drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fairport import backends
from fairport.errors import (
    InputError,
    OutputError,
    require_class,
    require_dictionary,
    require_positive,
)
from fairport.files.partial import alone_in
from fairport.files.place import Folder, place
from fairport.metrics.run_numbers import NUMBERS
from fairport.metrics.spread import medians
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.axes import Combination
from fairport.scenario.rows import in_base_units
from fairport.study import continued
from fairport.study.comparison.gain import weighted_log_gain
from fairport.study.making import Listeners, Making
from fairport.study.plan import Plan
from fairport.study.points import StudyPoint, in_column
from fairport.study.results import Definition, Study, define
from fairport.study.runs.execution import Executor, Local
from fairport.study.runs.model_version import model_version
from fairport.study.runs.store import Store
from fairport.study.search_file import SearchFile
from fairport.study.searched import Found, Goal, Searched
from fairport.study.space import Space
from fairport.study.study_file import read
from fairport.study.trials import Trials

DATABASE = "search.db"
_DEFAULTS: dict[Goal, dict[str, float]] = {
    "tune": {"jain_index": 1.0},
    "hunt": {"throughput_ratio": 1.0},
}

Rows = list[dict[str, Any]]
"""The runs of a point, seed by seed."""


def tune(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    space: Mapping[str, Any],
    *,
    objective: Mapping[str, float] | None = None,
    goal: Goal = "tune",
    seeds: int = 5,
    trials: int = 50,
    name: str = "",
    folder: str | Path | None = None,
    force: bool = False,
    jobs: int | None = None,
    listeners: Listeners | None = None,
) -> Searched:
    """Looks for the best settings of a scenario, as `fairport tune` does.

        found = fp.tune("two-switch", {"queue.limit": {"from": "4KiB", "to": "64KiB"}}, trials=5)
        print(found.found[0].values, found.conclusion)

    `space` has a list of values, or bounds as in a search file, for each dotted path. `objective`
    has the weights of numbers; None: Jain's index. With `goal="hunt"` the scenario that treats a
    flow worst is looked for; None: by the throughput ratio. Each of the `trials` points is run with
    `seeds` seeds.

    The study goes to `folder` (None: `results/NAME`); the same search there is
    continued, also with more `trials`. `force`, `jobs` and `listeners` are those of `sweep`.

    Raises InputError for bad input, before the first run, and OutputError if the folder has
    another search, or runs of other content.
    """
    if goal not in tuple(_DEFAULTS):
        remedy = 'give "tune" or "hunt"'
        raise InputError("is not a goal", field="goal", value=goal, remedy=remedy)
    require_class(listeners, Listeners, "listeners", "`fp.Listeners(status=print)`")
    require_dictionary(space, "space", '{"queue.limit": ["8KiB", "16KiB"]}')
    require_dictionary(objective or {}, "objective", '{"jain_index": 1}')
    base = load_scenario(scenario)
    document = {
        "scenario": base.file,
        "name": name or f"{base.name}-{goal}",
        "seeds": seeds,
        "objective": dict(objective or {}),
        "space": dict(space),
    }
    file = read(SearchFile, document)
    return search(
        file,
        goal,
        base=base,
        trials=trials,
        folder=folder or Path("results") / file.name,
        force=force,
        jobs=jobs,
        listeners=listeners,
    )


def search(
    file: SearchFile,
    goal: Goal,
    *,
    base: Scenario | None = None,
    trials: int,
    folder: str | Path,
    force: bool = False,
    jobs: int | None = None,
    listeners: Listeners | None = None,
) -> Searched:
    """Tries points until the study in `folder` has `trials` of them. `base` is the file's scenario.

    Raises InputError for bad input, before the first run, and OutputError where another process
    searches in that folder.
    """
    require_positive(trials, "trials")
    base, space = base or file.base(), file.searched()
    weights = file.objective or _DEFAULTS[goal]
    plan = Plan(base, space.corners(), backends.DEFAULT, file.file, "space")
    plan.check()
    executor = Local(plan.jobs(jobs), in_process=plan.in_process)
    where = place(folder)
    database = _database(where)
    with _alone(database.parent):
        study = define(where, _definition(file, base, weights, []), force=force)
        continued.require_same_content(study, plan)
        if force:
            database.unlink(missing_ok=True)
        with Making(study, plan, Store(), executor, listeners) as making:
            (before,) = _rows(making, [plan.add(StudyPoint(Combination({})))], file.seeds)
            _require_numbers(before, weights, file.file)
            tried = Trials(database, space, goal, weights)
            if base.user_code:
                _require_same_code(tried.found(), study, plan, executor, space)
            # this many at a time keep all processors busy
            at_a_time = max(2, -(-2 * executor.jobs // file.seeds))
            while (left := trials - len(tried)) > 0:
                suggested = [tried.suggest() for _ in range(min(left, at_a_time))]
                numbers = [plan.add(point) for _, point in suggested]
                every = _rows(making, numbers, file.seeds)
                for (trial, point), rows in zip(suggested, every, strict=True):
                    tried.record(trial, _found(point, rows, before, weights, goal))
    found = sorted(tried.found(), key=lambda one: one.gain, reverse=goal == "tune")
    study = define(where, _definition(file, base, weights, found), force=False)
    return Searched(study, goal, weights, medians(before, list(weights)), found, len(tried))


def _database(where: Folder) -> Path:
    """The file of the trials. Raises InputError if it cannot be a local one."""
    database = where.local(DATABASE)
    if database is None:
        raise InputError(
            "is not on this machine, but a search keeps its trials in a local file",
            file=where.name,
            remedy="give a local folder; copy it there at the end",
        )
    return database


def _rows(making: Making, points: Sequence[int], seeds: int) -> list[Rows]:
    """The runs of each of these points of the plan, of which missing ones are made."""
    wanted = [(point, seed) for point in points for seed in range(1, seeds + 1)]
    making.run(wanted)
    rows = making.rows(wanted)
    return [rows[at : at + seeds] for at in range(0, len(rows), seeds)]


def _found(
    point: StudyPoint, rows: Rows, before: Rows, weights: Mapping[str, float], goal: Goal
) -> Found:
    """How good a point is, from its runs and from those of the scenario without its values."""
    gains = [
        weighted_log_gain(then, now, weights, for_lone_flow=goal == "hunt")
        for then, now in zip(before, rows, strict=True)
    ]
    return Found(point.at.patch, medians(rows, list(weights)), gains)


def _require_same_code(
    found: Sequence[Found], study: Study, plan: Plan, executor: Executor, space: Space
) -> None:
    """Compares runs of the points that an earlier search with the user's own code has found.

    Raises OutputError if the code has changed.
    """
    if not found:
        return
    for one in found:
        plan.add(space.at(one.values))
    plan.check()
    continued.require_same_content(study, plan)
    continued.require_same_code(study, plan, executor)


def _require_numbers(before: Rows, weights: Mapping[str, float], file: str) -> None:
    """Raises InputError if the scenario as it is has no such number: no point could be compared."""
    for name in weights:
        if all(row[name] is None for row in before):
            error = next((row["error"] for row in before if row["error"]), None)
            raise InputError(
                f"is a number that the scenario as it is does not have{f': {error}' * bool(error)}",
                file=file,
                field="objective",
                value=name,
                remedy="give a number that its traffic has, or run it for longer",
            )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps other searches out: each would take the points under way for interrupted ones."""
    with suppress(OSError):  # `define` says what is wrong with the folder
        folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder) as is_alone:
        if not is_alone:
            raise OutputError(
                "another search is under way there",
                file=str(folder),
                remedy="wait until it has ended, or give another `folder`",
            )
        yield


def _definition(
    file: SearchFile,
    base: Scenario,
    weights: Mapping[str, float],
    found: Sequence[Found],
) -> Definition:
    """The study, whose axes have the values of the points that were found."""
    axes = {
        path: sorted({in_column(one.values[path]) for one in found}, key=_order)
        for path in file.space
    }
    return Definition(
        name=file.name,
        scenario=base.to_toml(),
        axes=axes,
        labels={path: [str(value) for value in of] for path, of in axes.items()},
        titles={},
        # the objective's first, as figures show the first number
        keep=list(dict.fromkeys([*weights, *NUMBERS])),
        backend=backends.DEFAULT,
        model=model_version(),
        seeds=list(range(1, file.seeds + 1)),
        user_code=base.user_code.described() if base.user_code else {},
    )


def _order(value: Any) -> tuple[float, str]:
    """Numbers and quantities by what they are."""
    if isinstance(value, int | float):
        return float(value), ""
    numbers = in_base_units([value])
    return (numbers[1][0], "") if numbers else (0.0, str(value))
