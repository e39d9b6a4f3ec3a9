"""`reproduce`: runs published experiments again and compares the results with the claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from fairport import backends
from fairport.backends.progress import Progress
from fairport.errors import InputError
from fairport.metrics.spread import Spread, Values
from fairport.papers.catalogue import Entry
from fairport.papers.metrics import METRICS, Metric, Of
from fairport.papers.model import Claim
from fairport.papers.models import MODELS
from fairport.record import Record
from fairport.study import last_totals, on_linux
from fairport.study.on_linux import LinuxRuns
from fairport.study.order import Order
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store

State = Literal["holds", "differs", "not comparable"]
STATES: tuple[State, ...] = ("holds", "differs", "not comparable")


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim, our result, and whether the claim holds."""

    experiment: str
    claim: Claim
    ours: list[Spread]
    """One result, or one for each variant of a claim about an order."""
    order: Order | None
    """The order's steps, for a claim about an order."""
    state: State
    linux: CheckedClaim | None = None
    """The same claim over real TCP, if that was run."""

    @property
    def id(self) -> str:
        """The claim's name among all."""
        return f"{self.experiment}/{self.claim.id}"

    @property
    def metric(self) -> Metric:
        """What the claim is about."""
        return METRICS[self.claim.metric]

    @property
    def tolerance(self) -> str:
        """When the claim holds, in words."""
        claim, shown = self.claim, self._shown
        match claim.expectation:
            case "within":
                return f"within {100 * (claim.within or 0):g} %"
            case "between":
                low, high = claim.between or (None, None)
                return f"{shown(low)} to {shown(high)}"
            case "below":
                return f"below {shown(claim.below)}"
            case "above":
                return f"above {shown(claim.above)}"
            case order:
                return f"{order}: {', '.join(getattr(claim, order))}"

    @property
    def ours_in_words(self) -> str:
        """Median and quartiles; for an order the medians, the total change, and steps back."""
        if self.order is None:
            return self._with_quartiles(self.ours[0])
        names = self.claim.rising or self.claim.falling or []
        steps_back = self.order.steps_down if self.claim.rising else self.order.steps_up
        parts = [
            ", ".join(self._shown(one.median) for one in self.ours),
            f"from end to end {self._with_quartiles(self.order.whole)}",
            *(
                f"back from {names[at]} to {names[at + 1]}: "
                f"{self._with_quartiles(self.order.steps[at])}"
                for at in steps_back
                if len(names) > 2
            ),
        ]
        return "; ".join(parts)

    @property
    def published_in_words(self) -> str:
        """The published number; without it the claim is about an order or a limit."""
        known = self.claim.published
        if known is None:
            return "no number"
        return ", ".join(map(self._shown, known if isinstance(known, list) else [known]))

    def _with_quartiles(self, one: Spread) -> str:
        if one.median is None or one.q1 == one.q3:
            return self._shown(one.median)
        return f"{self._shown(one.median)} ({self._shown(one.q1)} to {self._shown(one.q3)})"

    def _shown(self, value: float | None) -> str:
        if self.claim.over and value is not None:
            return format(value, ".3g")  # a ratio of two numbers has no unit
        return self.metric.quantity.with_unit(value)

    def document(self) -> dict[str, Any]:
        """The claim for programs, as `--json` prints it."""
        numbers = self._outcome()
        state = numbers.pop("state")
        return {
            "id": self.id,
            "says": self.claim.says,
            **numbers,
            "published": self.claim.published,
            "tolerance": self.tolerance,
            "state": state,
        } | ({} if self.linux is None else {"linux": self.linux._outcome()})

    def _outcome(self) -> dict[str, Any]:
        """State, medians, quartiles and numbers of runs; lists for a claim about an order."""
        parts = {"ours": "median", "q1": "q1", "q3": "q3", "runs": "count"}
        each = {key: [getattr(one, part) for one in self.ours] for key, part in parts.items()}
        found = {key: of[0] if len(of) == 1 else of for key, of in each.items()}
        return found | {"state": self.state.replace(" ", "_")}


@dataclass(frozen=True)
class Reproduced:
    """An experiment that has been run: one record per variant and seed, and its claims checked."""

    entry: Entry
    seeds: Sequence[int]
    quick: bool
    records: dict[str, list[Record]]
    """Records by variant, in order of the seeds."""
    linux: LinuxRuns | None = None
    """The same experiment over real TCP, if that was requested."""

    @cached_property
    def checked_claims(self) -> list[CheckedClaim]:
        """One per claim, in their order."""
        return [self._with_linux(claim) for claim in self.entry.claims]

    def over_seeds(self, metric: str, variant: str, of: Of) -> Spread:
        """A metric in a variant, seed by seed."""
        return Spread.of(_values(self.records, metric, variant, of))

    def _with_linux(self, claim: Claim) -> CheckedClaim:
        checked = self._checked(claim, self.records)
        if self.linux is None:
            return checked
        overs = claim.over if isinstance(claim.over, list) else [claim.over] * bool(claim.over)
        names = claim.rising or claim.falling or [self.entry.variant(claim.variant).name]
        if not self.linux.records.keys() >= {*names, *overs}:
            return checked
        linux = self._checked(claim, self.linux.records, self.linux.slowed)
        return replace(checked, linux=linux)

    def _checked(
        self, claim: Claim, records: Mapping[str, Sequence[Record | None]], slowed: float = 1.0
    ) -> CheckedClaim:
        """`slowed` is the factor by which the runs were slower than the published ones."""
        of = Of(claim.hop_class, claim.length, claim.traffic, claim.sizes)
        names = claim.rising or claim.falling or [self.entry.variant(claim.variant).name]
        overs = claim.over if isinstance(claim.over, list) else [claim.over] * len(names)
        faster = 1.0 if claim.over else _scale_back(claim.metric, slowed)
        values = [
            [
                None if value is None else value * faster
                for value in _values(records, claim.metric, name, of, over)
            ]
            for name, over in zip(names, overs, strict=True)
        ]
        order = Order.of(values) if claim.rising or claim.falling else None
        ours = [Spread.of(one) for one in values]
        if claim.not_comparable:
            state: State = "not comparable"
        else:
            state = "holds" if _holds(claim, ours[0].median, order) else "differs"
        return CheckedClaim(self.entry.name, claim, ours, order, state)


def _scale_back(metric: str, slowed: float) -> float:
    """The factor that scales a slowed run's number back; 1 for numbers without a time."""
    return {"Mbit/s": slowed, "s": 1 / slowed, "ms": 1 / slowed}.get(
        METRICS[metric].quantity.unit, 1.0
    )


def _values(
    records: Mapping[str, Sequence[Record | None]],
    metric: str,
    variant: str,
    of: Of,
    over: str = "",
) -> Values:
    """A metric in a variant by seed, or its ratio to another's; None without a valid run."""
    values = [
        None if record is None else METRICS[metric].value(record, of) for record in records[variant]
    ]
    if not over:
        return values
    return [
        one / other if one is not None and other else None
        for one, other in zip(values, _values(records, metric, over, of), strict=True)
    ]


def reproduce(
    entries: Sequence[Entry],
    *,
    quick: bool = False,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    backend: str = backends.DEFAULT,
) -> list[Reproduced]:
    """Runs experiments and checks their claims.

    All runs of all experiments are one list for the pool. Runs in its `store` (None: the user's)
    are not made again, so an interrupted reproduction continues where it stopped. With the backend
    `linux` each experiment also runs over real TCP. Raises InputError for one that was not run on
    real hosts.
    """
    if backend not in (backends.DEFAULT, on_linux.BACKEND):
        remedy = f"use {backends.DEFAULT} or {on_linux.BACKEND}"
        raise InputError(
            "cannot reproduce experiments", field="backend", value=backend, remedy=remedy
        )
    if backend == on_linux.BACKEND:
        on_linux.require(entries)
    tasks = [
        (scenario, seed)
        for entry in entries
        if not entry.experiment.model
        for variant in entry.variants
        for scenario in [entry.scenario(variant, quick=quick)]
        for seed in entry.seeds(quick=quick)
    ]
    store = store or Store()
    done = []
    with closing(run_all(tasks, jobs=jobs, store=store, progress=progress)) as records:
        for entry in entries:
            done.append(_gathered(entry, quick, records))
            last_totals.keep(entry, totals(done[-1:]), store, quick=quick)
    if backend == on_linux.BACKEND:
        runs = on_linux.run(entries, quick=quick, progress=progress)
        done = [replace(one, linux=runs[one.entry.name]) for one in done]
    return done


def totals(done: Sequence[Reproduced]) -> dict[State, int]:
    """Number of claims in each state."""
    states = [checked.state for one in done for checked in one.checked_claims]
    return {state: states.count(state) for state in STATES}


def document(done: Sequence[Reproduced]) -> dict[str, Any]:
    """The outcome for programs, as `fairport reproduce --json` prints it."""
    return {
        "totals": {state.replace(" ", "_"): n for state, n in totals(done).items()},
        "claims": [checked.document() for one in done for checked in one.checked_claims],
    }


def _gathered(entry: Entry, quick: bool, records: Iterator[Record]) -> Reproduced:
    seeds = entry.seeds(quick=quick)
    if entry.experiment.model:
        compute = MODELS[entry.experiment.model]
        by_variant = {
            one.name: [Record.of_model(compute(seed=seed, **one.patch)) for seed in seeds]
            for one in entry.variants
        }
    else:
        by_variant = {one.name: [next(records) for _ in seeds] for one in entry.variants}
    return Reproduced(entry, seeds, quick, by_variant)


def _holds(claim: Claim, ours: float | None, order: Order | None) -> bool:
    """Whether the claim holds, by the order if it is about one, otherwise by the median."""
    if order is not None:
        return order.rises if claim.rising else order.falls
    if ours is None:
        return False
    match claim.expectation:
        case "within":
            assert isinstance(claim.published, float | int)
            assert claim.within is not None
            return abs(ours - claim.published) <= claim.within * abs(claim.published)
        case "between":
            assert claim.between is not None
            return claim.between[0] <= ours <= claim.between[1]
        case "below":
            return ours < (claim.below or 0)
        case _:
            return ours > (claim.above or 0)
