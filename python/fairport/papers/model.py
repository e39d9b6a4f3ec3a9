"""A paper as data: its settings, its experiments, what it claims.

One folder per paper, with `paper.toml`: what it ran on (one or more platforms), and the schemes
that its experiments compare. In it one folder per experiment, with `experiment.toml` (its platform,
the scenario and the variants to run) and `claims.toml` (what was published, and what counts as the
same). Scenarios are patches: the platform's settings on a built-in scenario, the experiment's on
these, the variant's on both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import Self

from fairport.papers.metrics import METRICS
from fairport.papers.models import MODELS
from fairport.scenario.axes import NAME, Combination, Point, Points, combinations
from fairport.scenario.base import Section, refuse
from fairport.trends import TRENDS

_EXPECTATIONS = ("within", "between", "below", "above", "rising", "falling")


class Ours(Section):
    """A parameter that the paper leaves out."""

    of: ClassVar[str] = "a paper"

    parameter: str
    """What it is, in the scenario's words."""
    value: str
    """What it is here."""
    reason: str
    """Why that."""


class Platform(Section):
    """What a paper's experiments ran on: the one set of settings for all that name it."""

    of: ClassVar[str] = "a platform of a paper"

    title: str
    """What it is, in the paper's words."""
    base: str
    """The built-in scenario that the settings start from."""
    settings: dict[str, Any] = Field(default={})
    """Values by dotted paths, for every experiment on it."""
    ours: list[Ours] = Field(default=[])
    """What the paper leaves out."""


class Scheme(Section):
    """What several experiments of a paper compare: a point of their axis `scheme`."""

    of: ClassVar[str] = "a scheme of a paper"

    label: str
    """What figures and tables call it: the paper's name for it."""
    patch: dict[str, Any]
    """Values by dotted paths."""


class Paper(Section):
    """One paper, and the platforms of its experiments."""

    of: ClassVar[str] = "a paper"

    title: str
    authors: str
    venue: str
    year: int
    doi: str = Field(default="", pattern=r"^(10\.\d{4,}/\S+)?$")
    """Its digital object identifier; empty where the publisher gave none."""
    place: int = Field(ge=1)
    """Where it comes in lists and on pages: 1 is the paper that Fairport is about."""
    platform: dict[Annotated[str, Field(pattern=NAME)], Platform] = Field(min_length=1)
    """By name: a testbed, a simulator."""
    experiments: list[str] = Field(min_length=1)
    """The folders of its experiments, in the paper's order."""
    scheme: dict[Annotated[str, Field(pattern=NAME)], Scheme] = Field(default={})
    """By name: the transports and queues that its experiments compare."""

    @property
    def citation(self) -> str:
        """Authors, title, venue, year."""
        return f"{self.authors}: {self.title}, {self.venue} {self.year}"


class PublishedClass(Section):
    """What was published of a hop class: of each flow, or of the class."""

    of: ClassVar[str] = "an experiment"

    goodput_bps: list[float] = Field(default=[])
    goodput_bps_mean: float | None = None
    goodput_bps_min: float | None = None
    goodput_bps_max: float | None = None
    rtt_mean_s: float | None = None
    rtt_max_s: float | None = None
    drop_runs: dict[str, float] = Field(default={})
    """Drop runs of a flow by their length."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.goodput_bps and self.goodput_bps_mean is not None:
            raise refuse("is given as well as goodput_bps", "give one", field="goodput_bps_mean")
        return self


class Published(Section):
    """What was published of a variant, to be drawn and printed beside what comes out here."""

    of: ClassVar[str] = "an experiment"

    read: str
    """Where the numbers were read, and how exactly."""
    classes: dict[str, PublishedClass] = Field(default={})
    measures: dict[str, float] = Field(default={})
    """Published values that no claim has, by the metric's name: for sweeps and for reports."""


class Variant(Section):
    """One of the scenarios of an experiment."""

    of: ClassVar[str] = "an experiment"

    name: str = Field(pattern=NAME)
    label: str = ""
    """What figures and tables call it; without it, the name."""
    series: str = ""
    """Of which line of a sweep it is a point; its label says which point."""
    patch: dict[str, Any] = Field(default={})
    """Values by dotted paths, on those of the experiment; of a model, its arguments."""
    published: Published | None = None

    @property
    def title(self) -> str:
        """For people."""
        label = self.label or self.name
        return f"{label}, {self.series}" if self.series else label


class Drawing(Section):
    """A figure of an experiment."""

    of: ClassVar[str] = "an experiment"

    kind: Literal["classes", "flows", "drop-runs", "sweep", "over-time"]
    """Goodput by hop class and variant; of each flow; drop runs by their length; a measure over the
    variants; a trend over time, one line per variant."""
    title: str
    measure: str = ""
    """What a sweep draws: a metric's name; over time: a trend's."""
    variants: list[str] = Field(default=[], max_length=4)
    """Over time: of these variants; without it, of all."""
    hop_class: str = ""
    """Of which class, where the metric is of one."""
    traffic: int | None = Field(default=None, ge=0)
    """Of which `[[traffic]]`, where the metric can be."""
    sizes: list[int] | None = Field(default=None, min_length=2, max_length=2)
    """Of transfers of more bytes than the first and at most the second."""
    x_label: str = ""
    """What a sweep's variants are."""
    until_s: float | None = Field(default=None, gt=0)
    """Over time: so far only; without it, to the end."""

    @model_validator(mode="after")
    def _measure_is_there(self) -> Self:
        known = {"sweep": list(METRICS), "over-time": list(TRENDS)}.get(self.kind)
        if known and self.measure not in known:
            remedy = f"use one of {', '.join(known)}"
            raise refuse("is not what such a figure can draw", remedy, field="measure")
        return self

    @property
    def file_stem(self) -> str:
        """What the experiment's files of this figure are called."""
        parts = [self.kind, self.measure.replace("_", "-"), self.hop_class]
        numbers = [self.traffic, *(self.sizes or [])]
        parts += [str(number) for number in numbers if number is not None]
        return "-".join(part for part in parts if part)


class ExceptionAt(Section):
    """What differs at some combinations of an experiment's axes."""

    of: ClassVar[str] = "an exception of an experiment's axes"

    at: dict[str, str] = Field(min_length=1)
    """Which: a point's name by the axis's. Every combination that has these points."""
    patch: dict[str, Any] = Field(min_length=1)
    """Values by dotted paths, on those of the points."""


class OnLinux(Section):
    """How an experiment is run over real TCP, with `reproduce --backend linux`."""

    of: ClassVar[str] = "the Linux part of an experiment"

    says: str
    """What it runs on, and what is scaled to what one machine carries."""
    slowed: float = Field(default=1.0, ge=1)
    """Its rates are so many times lower than the experiment's, and its times so many times longer.
    What is measured is scaled back before it is compared with a claim."""
    seeds: int = Field(default=5, ge=1)
    scenario: dict[str, Any] = Field(default={})
    """Values by dotted paths, on those of the variants."""
    variants: list[str] = Field(default=[])
    """Those that are run; without it, all."""


class Experiment(Section):
    """Scenarios that are run for one figure or table of a paper."""

    of: ClassVar[str] = "an experiment"

    model: str = ""
    """What is computed in place of runs: a model of `fairport.papers.models`."""
    title: str
    shows: str
    """What the paper takes from it."""
    platform: str = ""
    """On which of the paper's, for runs; without it, the only one there is."""
    seeds: int = Field(default=10, ge=1)
    quick_seeds: int = Field(default=2, ge=1)
    scenario: dict[str, Any] = Field(default={})
    """Values by dotted paths, on the platform's settings."""
    quick: dict[str, Any] = Field(default={})
    """And on these for `--quick`."""
    linux: OnLinux | None = None
    """If its authors ran it on real hosts."""
    variant: list[Variant] = Field(default=[])
    """Variants that no axis makes."""
    axes: dict[str, Points] = Field(default={})
    """Axes whose combinations are variants. The points of the axis `scheme` may be names of the
    paper's schemes."""
    along: str = ""
    """The axis whose points are the steps of a sweep; without it, the last. The others' points are
    its series."""
    exception: list[ExceptionAt] = Field(default=[])
    """What differs at some combinations."""
    figure: list[Drawing] = Field(default=[])

    @model_validator(mode="after")
    def _names_are_there(self) -> Self:
        if self.model and self.model not in MODELS:
            raise refuse("is not a model", f"use one of {', '.join(MODELS)}", field="model")
        if self.along and self.along not in self.axes:
            raise refuse("is not an axis", f"use one of {', '.join(self.axes)}", field="along")
        points = {axis: [point.name for point in points] for axis, points in self.axes.items()}
        for index, one in enumerate(self.exception):
            for axis, name in one.at.items():
                if name not in points.get(axis, []):
                    field = f"exception.{index}.at.{axis}"
                    raise refuse("is not a point of that axis", "name one that is", field=field)
        return self

    def variants(self, schemes: Mapping[str, Scheme]) -> list[Variant]:
        """All variants: those that are listed, and every combination of the axes."""
        axes = {
            axis: [_scheme(point, schemes) for point in points] if axis == "scheme" else points
            for axis, points in self.axes.items()
        }
        return [*self.variant, *map(self._variant, combinations(axes))]

    def _variant(self, one: Combination) -> Variant:
        along = self.along or list(one.at)[-1]
        patch = one.patch
        for exception in self.exception:
            if one.is_at(exception.at):
                patch |= exception.patch
        return Variant(
            name=one.name,
            label=one.at[along].title,
            series=", ".join(point.title for axis, point in one.at.items() if axis != along),
            patch=patch,
        )


def _scheme(point: Point, schemes: Mapping[str, Scheme]) -> Point:
    """The paper's scheme of that name, where the experiment only names it."""
    named = None if point.patch else schemes.get(point.name)
    if named is None:
        return point
    return Point(name=point.name, label=named.label, patch=named.patch)


class Claim(Section):
    """One thing that a paper says, and when it holds here."""

    of: ClassVar[str] = "a claim"

    id: str = Field(pattern=NAME)
    says: str
    """What the paper says, in a sentence."""
    where: str
    """Its figure, table or section."""
    read: Literal["text", "figure", "computed", "inferred", "recalled"]
    """How the number is known: printed, read off a figure, computed from others, inferred, or
    recalled without a source at hand."""
    metric: str
    hop_class: str = ""
    """Of which class, where the metric is of one."""
    length: int = Field(default=1, ge=1)
    """Of drop runs of this many packets, where the metric is of them."""
    traffic: int | None = Field(default=None, ge=0)
    """Of the flows of this `[[traffic]]`, where the metric can be; without it, of all."""
    sizes: list[int] | None = Field(default=None, min_length=2, max_length=2)
    """Of transfers of more bytes than the first and at most the second, where the metric can be."""
    variant: str = ""
    """In which scenario; without it, the experiment's only one."""
    over: str | list[str] = ""
    """Divided by the metric in this variant; of a claim about an order, one for each of it."""
    published: float | list[float] | None = None
    """The number, or a number a variant; without it, the claim is of a shape."""

    within: float | None = Field(default=None, gt=0)
    """Holds when ours is within this share of the published number."""
    between: list[float] | None = Field(default=None, min_length=2, max_length=2)
    """Holds when ours is."""
    below: float | None = None
    """Holds when ours is."""
    above: float | None = None
    """Holds when ours is."""
    rising: list[str] | None = Field(default=None, min_length=2)
    """Holds when the metric rises from each of these variants to the next."""
    falling: list[str] | None = Field(default=None, min_length=2)
    """Holds when it falls."""
    why: str
    """Why this tolerance."""
    differs: str = ""
    """Where it differs: what was tried to explain it."""
    not_comparable: str = ""
    """Why it cannot be compared with a run of ours."""

    @property
    def expectation(self) -> str:
        """Which of the fields says when the claim holds."""
        return next(name for name in _EXPECTATIONS if getattr(self, name) is not None)

    @property
    def number(self) -> float | None:
        """The published number of one variant that ours is to be near.

        None where the paper has a shape or a limit ("0.9 or more"), and for a ratio of variants.
        """
        near = self.within is not None or self.between is not None
        if not near or self.over or not isinstance(self.published, float | int):
            return None
        return self.published

    @model_validator(mode="after")
    def _can_be_checked(self) -> Self:
        if self.metric not in METRICS:
            known = ", ".join(METRICS)
            raise refuse("is not a metric", f"use one of {known}", field="metric")
        given = [name for name in _EXPECTATIONS if getattr(self, name) is not None]
        if len(given) != 1:
            problem = f"has {' and '.join(given)}" if given else "does not say when it holds"
            raise refuse(problem, f"give one of {', '.join(_EXPECTATIONS)}", show_value=False)
        if self.within is not None and not isinstance(self.published, float | int):
            raise refuse("needs a published number", "give one, or another test", field="within")
        order = self.rising or self.falling or []
        if isinstance(self.over, list) and len(self.over) != len(order):
            raise refuse("are not as many as the order's", "give one for each", field="over")
        if METRICS[self.metric].of_class and not self.hop_class:
            raise refuse(
                "is of a hop class", 'add hop_class = "2-hop"', field="metric", show_value=True
            )
        return self


class Claims(Section):
    """A file of claims."""

    of: ClassVar[str] = "a file of claims"

    claim: list[Claim] = Field(min_length=1)

    _file: str = PrivateAttr(default="")
