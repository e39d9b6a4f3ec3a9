"""Whether the runs that a study has are those that would be made now.

A study's definition and the version of the model do not say everything: an axis may name files, a
kernel may be replaced, and the user's own code may change.
"""

from __future__ import annotations

import polars as pl

from fairport.errors import OutputError
from fairport.study.plan import Plan
from fairport.study.results import Study
from fairport.study.runs.execution import Executor

_MADE_AGAIN = 3
_REMEDY = "give another `folder`, or `force=True` to make all runs again"


def require_same_content(study: Study, plan: Plan) -> None:
    """Compares what decides the runs at the points that have been checked, which have every value.

    Raises OutputError.
    """
    had = _finished(study)
    if "key" not in had.columns:
        return
    points = had["run_id"].str.extract("^(.*)-", 1)
    known = dict(zip(points, had["key"], strict=True))
    for number, key in plan.keys.items():
        point = plan.points[number]
        if known.get(point.id) not in (None, key):
            raise OutputError(
                f"has runs of other content at {point.name}: a file that is named"
                " there, your own code, or the kernel has changed since",
                file=study.place.name,
                remedy=_REMEDY,
            )


def require_same_code(study: Study, plan: Plan, executor: Executor) -> None:
    """Makes some runs of the user's own code again, which must send the same packets.

    The digests of classes say nothing about what the classes import. Raises OutputError.
    """
    had = _finished(study)
    if had.is_empty():
        return
    if not plan.base.user_code.has_sources:
        raise OutputError(
            "has runs of your own code, whose source cannot be read: it may have changed since",
            file=study.place.name,
            remedy=f"import your classes from a file; for these runs, {_REMEDY}",
        )
    known = dict(zip(had["run_id"], had["fingerprint"], strict=True))
    seeds = sorted(set(had["seed"]))
    there = [
        (number, seed)
        for number in range(len(plan.points))
        for seed in seeds
        if plan.run_id(number, seed) in known
    ]
    some = {there[at * (len(there) - 1) // (_MADE_AGAIN - 1)] for at in range(_MADE_AGAIN)}
    for one in executor.ended(plan.tasks(sorted(some))):
        if one is None:
            continue
        run_id = plan.run_id(one.task.point, one.task.seed)
        found = one.error or (one.row or {})["fingerprint"]
        if found != known[run_id]:
            raise OutputError(
                f"has the run {run_id} with the fingerprint {known[run_id]}, and made again it has"
                f" {found}: your own code has changed since, or does not repeat a run",
                file=study.place.name,
                remedy=_REMEDY,
            )


def _finished(study: Study) -> pl.DataFrame:
    rows = study.runs.read()
    return rows.filter(pl.col("error").is_null()) if rows.height else rows
