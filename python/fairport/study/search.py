"""`tune` and `hunt`: find the best settings, and the scenarios that treat a flow worst.

Optuna suggests points (with the tree-structured Parzen estimator) and keeps its trials in SQLite,
in the folder of the study. A point's runs are rows of the study, like those of a sweep. So an
interrupted search continues, and its points can be queried and drawn.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairport import backends
from fairport.errors import InputError, OutputError, require_positive
from fairport.files.partial import alone_in
from fairport.files.place import place
from fairport.repeats import FEWEST_FOR_QUARTILES, first_to_last
from fairport.run_numbers import NUMBERS
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.axes import Combination
from fairport.scenario.rows import in_base_units
from fairport.study import continued
from fairport.study.execution import Executor, Local
from fairport.study.making import Listeners, Making, Runs
from fairport.study.model_version import model_version
from fairport.study.points import StudyPoint, in_column
from fairport.study.results import Definition, Study, define
from fairport.study.search_file import SearchFile, log_gain, medians
from fairport.study.spread import Spread
from fairport.study.store import Store
from fairport.study.study_file import read

if TYPE_CHECKING:
    import optuna

Goal = Literal["tune", "hunt"]

DATABASE = "search.db"
_DEFAULTS: dict[Goal, dict[str, float]] = {
    "tune": {"jain_index": 1.0},
    "hunt": {"throughput_ratio": 1.0},
}


@dataclass(frozen=True, slots=True)
class Found:
    """A point of a search, and how good it is."""

    values: Mapping[str, Any]
    numbers: Mapping[str, float | None]
    """Medians over the seeds."""
    log_gains: Sequence[float | None]
    """Logarithms of the gains over the scenario without the search's values, seed by seed."""

    @property
    def gain(self) -> float:
        """The median gain; 1: no gain."""
        return math.exp(Spread.of(self.log_gains).median or 0.0)

    @property
    def gain_range(self) -> tuple[float, float]:
        """The quartiles of the gain; of fewer than four seeds, the least and the greatest."""
        spread = Spread.of(self.log_gains)
        return math.exp(spread.q1 or 0.0), math.exp(spread.q3 or 0.0)


@dataclass(frozen=True)
class Searched:
    """The result of a search."""

    study: Study
    goal: Goal
    weights: Mapping[str, float]
    before: Mapping[str, float | None]
    """Medians of the scenario without the search's values."""
    found: Sequence[Found]
    """Best first: for `hunt`, worst."""
    trials: int
    """Number of points tried, including those without a result."""

    @property
    def conclusion(self) -> str:
        """How sure it is that the first point is the best, in one or two sentences.

        Another point is no worse if the middle half of the differences, seed by seed, says so
        (`study.spread`).
        """
        if not self.found:
            return f"No point of {self.trials} has a result."
        best = "best" if self.goal == "tune" else "worst"
        seeds = self.study.definition.seeds
        if len(seeds) < FEWEST_FOR_QUARTILES:
            said = f"{len(seeds)} seed{'s are' if len(seeds) > 1 else ' is'} too few to say"
            return f"{said} which point is {best}: give more, such as `seeds = 10`."
        first = self.found[0]
        if not self._is_beyond(first.log_gains, [0.0] * len(seeds)):
            return "There is no clear difference between it and the scenario as it is."
        alike = {
            json.dumps(one.values)
            for one in self.found
            if one.values != first.values and not self._is_beyond(first.log_gains, one.log_gains)
        }
        found = f"It was chosen with seeds {first_to_last(seeds)}, which flatters it"
        again = f"other seeds, such as --seed {seeds[-1] + 1} --repeat 10, show its gain."
        if not alike:
            return f"{found}: {again}"
        points = f"{len(alike)} other point{'s' if len(alike) > 1 else ''}"
        return f"There is no clear difference between it and {points}. {found}: {again}"

    def _is_beyond(self, first: Sequence[float | None], other: Sequence[float | None]) -> bool:
        """Whether the first is better, or worse for `hunt`, beyond the spread of the seeds."""
        pairs = zip(first, other, strict=False)
        apart = Spread.of([a - b for a, b in pairs if a is not None and b is not None])
        return apart.is_above_zero if self.goal == "tune" else apart.is_below_zero

    def document(self) -> dict[str, Any]:
        """The search for programs, as `--json` prints it."""
        return {
            "study": self.study.definition.name,
            "place": self.study.place.name,
            "goal": self.goal,
            "objective": dict(self.weights),
            "before": dict(self.before),
            "trials": self.trials,
            "found": [
                {
                    "values": dict(one.values),
                    "numbers": dict(one.numbers),
                    "gain": one.gain,
                    "gain_range": list(one.gain_range),
                }
                for one in self.found
            ],
            "conclusion": self.conclusion if self.found else None,
        }


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

    `space` has a list of values, or bounds as in a search file, for each dotted path;
    `objective` has the weights of numbers. With `goal="hunt"` the scenario that treats a flow worst
    is looked for. The study goes to `folder` (None: `results/NAME`); the same search there is
    continued, also with more `trials`.

    Raises InputError for bad input, before the first run, and OutputError if the folder has
    another search, or runs of other content.
    """
    if goal not in _DEFAULTS:
        remedy = 'give "tune" or "hunt"'
        raise InputError("is no goal", field="goal", value=goal, remedy=remedy)
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
    runs = Runs(base, space.corners(), backends.DEFAULT, file.file, "space")
    runs.check()
    jobs = runs.jobs(jobs)
    where = place(folder)
    database = where.local(DATABASE)
    if database is None:
        raise InputError(
            "is not on this machine, but a search keeps its trials in a local file",
            file=where.name,
            remedy="give a local folder; copy it there at the end",
        )
    with _alone(database.parent):
        study = define(where, _definition(file, base, weights, {}), force=force)
        continued.require_same_content(study, runs)
        if force:
            database.unlink(missing_ok=True)
        listeners = listeners or Listeners()
        making = Making(study, runs, Store(), list(NUMBERS), listeners)
        executor = Local(jobs, in_process=runs.in_process)
        trier = _Trier(file, making, runs, executor)
        with making:
            (before,) = trier.rows([runs.add(StudyPoint(Combination({})))])
            _require_numbers(before, weights, file.file)
            from optuna.trial import TrialState

            asked = _asked(database, goal, weights)
            had = [one for one in asked.get_trials(deepcopy=False) if one.value is not None]
            if base.user_code and had:
                for one in had:
                    runs.add(space.at(one.user_attrs["values"]))
                runs.check()
                continued.require_same_content(study, runs)
                continued.require_same_code(study, runs, executor)
            # this many at a time keep all processors busy
            at_a_time = max(2, -(-2 * jobs // file.seeds))
            while (left := trials - len(asked.get_trials(deepcopy=False))) > 0:
                batch = [asked.ask() for _ in range(min(left, at_a_time))]
                points = [space.point(trial) for trial in batch]
                tried = trier.rows([runs.add(point) for point in points])
                for trial, point, rows in zip(batch, points, tried, strict=True):
                    gains = [
                        log_gain(now, then, weights, for_lone_flow=goal == "hunt")
                        for now, then in zip(rows, before, strict=True)
                    ]
                    trial.set_user_attr("values", point.at.patch)
                    trial.set_user_attr("numbers", medians(rows, list(weights)))
                    trial.set_user_attr("log_gains", gains)
                    value = Spread.of(gains).median
                    failed = TrialState.FAIL if value is None else None
                    asked.tell(trial, value, state=failed)
    done = asked.get_trials(deepcopy=False)
    found = [
        Found(*(one.user_attrs[part] for part in ("values", "numbers", "log_gains")))
        for one in done
        if one.value is not None
    ]
    values = {
        path: sorted({in_column(one.values[path]) for one in found}, key=_order)
        for path in file.space
    }
    study = define(where, _definition(file, base, weights, values), force=False)
    found.sort(key=lambda one: one.gain, reverse=goal == "tune")
    return Searched(study, goal, weights, medians(before, list(weights)), found, len(done))


def _require_numbers(
    before: Sequence[Mapping[str, Any]], weights: Mapping[str, float], file: str
) -> None:
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


@dataclass(frozen=True)
class _Trier:
    """Runs points."""

    file: SearchFile
    making: Making
    runs: Runs
    executor: Executor

    def rows(self, points: Sequence[int]) -> list[list[dict[str, Any]]]:
        """The runs of each point, seed by seed, by the points' numbers; missing runs are made."""
        seeds = range(1, self.file.seeds + 1)
        wanted = [(point, seed) for point in points for seed in seeds]
        self.making.run_at_once(wanted, self.executor)
        rows = self.making.rows([self.runs.run_id(*one) for one in wanted])
        return [rows[at : at + len(seeds)] for at in range(0, len(rows), len(seeds))]


def _asked(database: Path, goal: Goal, weights: Mapping[str, float]) -> optuna.Study:
    """Optuna's study; trials that were under way when it was interrupted are suggested again.

    Raises InputError if its trials have another objective.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage = optuna.storages.RDBStorage(f"sqlite:///{database}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study = optuna.create_study(
                study_name=goal,
                storage=storage,
                direction="maximize" if goal == "tune" else "minimize",
                load_if_exists=True,
            )
            had = study.get_trials(deepcopy=False)
            study.sampler = optuna.samplers.TPESampler(
                seed=len(had), multivariate=True, constant_liar=True
            )
    except Exception as error:
        raise InputError(
            f"cannot be opened: {str(error).splitlines()[0]}",
            file=str(database),
            remedy="`force=True` begins the search again",
        ) from None
    known = study.user_attrs.get("objective", dict(weights))
    if known != dict(weights):
        said = ", ".join(f"{name} = {weight:g}" for name, weight in known.items())
        raise InputError(
            f"is a search with another objective: {said}",
            file=str(database.parent),
            remedy="give another `folder`, or `force=True` to begin again",
        )
    study.set_user_attr("objective", dict(weights))
    for trial in had:
        if trial.state == optuna.trial.TrialState.RUNNING:
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            study.enqueue_trial(trial.params)
    return study


def _definition(
    file: SearchFile,
    base: Scenario,
    weights: Mapping[str, float],
    values: Mapping[str, list[Any]],
) -> Definition:
    axes = {path: list(values.get(path, [])) for path in file.space}
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
