"""The trials of a search: Optuna suggests points, and keeps them and their gains in SQLite."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairport.errors import InputError
from fairport.metrics.spread import Spread
from fairport.study.points import StudyPoint
from fairport.study.searched import Found, Goal
from fairport.study.space import Space

if TYPE_CHECKING:
    import optuna


class Trials:
    """The trials in a database, those of an interrupted search included."""

    def __init__(
        self, database: Path, space: Space, goal: Goal, weights: Mapping[str, float]
    ) -> None:
        """Opens or makes the database.

        Raises InputError for one that cannot be opened, and for another objective.
        """
        self._space = space
        self._study = _opened(database, goal)
        known = self._study.user_attrs.get("objective", dict(weights))
        if known != dict(weights):
            said = ", ".join(f"{name} = {weight:g}" for name, weight in known.items())
            raise InputError(
                f"is a search with another objective: {said}",
                file=str(database.parent),
                remedy="give another `folder`, or `force=True` to begin again",
            )
        self._study.set_user_attr("objective", dict(weights))
        self._suggest_interrupted_again()

    def __len__(self) -> int:
        """Number of points tried, including those without a result."""
        return len(self._study.get_trials(deepcopy=False))

    def found(self) -> list[Found]:
        """The points that have a result, in the order in which they were tried."""
        return [
            Found(*(one.user_attrs[part] for part in ("values", "numbers", "log_gains")))
            for one in self._study.get_trials(deepcopy=False)
            if one.value is not None
        ]

    def suggest(self) -> tuple[optuna.Trial, StudyPoint]:
        """A trial, and the point that it suggests."""
        trial = self._study.ask()
        return trial, self._space.point(trial)

    def record(self, trial: optuna.Trial, found: Found) -> None:
        """Keeps the result of a trial; without a gain in any seed, the trial has failed."""
        from optuna.trial import TrialState

        trial.set_user_attr("values", found.values)
        trial.set_user_attr("numbers", found.numbers)
        trial.set_user_attr("log_gains", found.log_gains)
        value = Spread.of(found.log_gains).median
        self._study.tell(trial, value, state=TrialState.FAIL if value is None else None)

    def _suggest_interrupted_again(self) -> None:
        from optuna.trial import TrialState

        for trial in self._study.get_trials(deepcopy=False):
            if trial.state == TrialState.RUNNING:
                self._study.tell(trial.number, state=TrialState.FAIL)
                self._study.enqueue_trial(trial.params)


def _opened(database: Path, goal: Goal) -> optuna.Study:
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
            had = len(study.get_trials(deepcopy=False))
            study.sampler = optuna.samplers.TPESampler(
                seed=had, multivariate=True, constant_liar=True
            )
    except Exception as error:
        raise InputError(
            f"cannot be opened: {str(error).splitlines()[0]}",
            file=str(database),
            remedy="`force=True` begins the search again",
        ) from None
    return study
