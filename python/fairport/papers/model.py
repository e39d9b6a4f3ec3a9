"""A paper as data: its settings, its experiments, what it claims.

Each paper has a folder with `paper.toml`: the platforms on which it ran, and the schemes that its
experiments compare. In it each experiment has a folder with `experiment.toml` (its platform, the
scenario and the variants to run) and `claims.toml` (what was published, and what counts as the
same). Scenarios are patches: the platform's settings patch a built-in scenario, the experiment's
settings patch these, and the variant's patch both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.metrics.trends import TRENDS
from fairport.papers.metrics import METRICS
from fairport.papers.models import MODELS
from fairport.scenario.axes import Combination, Point, Points, combinations
from fairport.scenario.base import NAME, Section, refuse

_EXPECTATIONS = ("within", "between", "below", "above", "rising", "falling")


class Ours(Section):
    """A parameter that the paper leaves out."""

    of: ClassVar[str] = "a paper"

    parameter: str
    """The parameter, in the scenario's words."""
    value: str
    """Our value."""
    reason: str
    """The reason for this value."""


class Platform(Section):
    """A platform on which a paper's experiments ran: one set of settings for all that name it."""

    of: ClassVar[str] = "a platform of a paper"

    title: str
    """The platform, in the paper's words."""
    base: str
    """The built-in scenario that the settings start from."""
    settings: dict[str, Any] = Field(default={})
    """Values by dotted paths, for every experiment on this platform."""
    ours: list[Ours] = Field(default=[])
    """Parameters that the paper leaves out."""


class Scheme(Section):
    """A TCP or queue that several experiments compare: a point of their axis `scheme`."""

    of: ClassVar[str] = "a scheme of a paper"

    label: str
    """Its name in figures and tables: the paper's own."""
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
    """Its digital object identifier; empty if it has none."""
    place: int = Field(ge=1)
    """Its place in lists and on pages: 1 is the paper that Fairport is about."""
    platform: dict[Annotated[str, Field(pattern=NAME)], Platform] = Field(min_length=1)
    """The platforms by name, such as a testbed or a simulator."""
    experiments: list[str] = Field(min_length=1)
    """The folders of its experiments, in the paper's order."""
    scheme: dict[Annotated[str, Field(pattern=NAME)], Scheme] = Field(default={})
    """The transports and queues that its experiments compare, by name."""

    @property
    def citation(self) -> str:
        """Authors, title, venue, year."""
        return f"{self.authors}: {self.title}, {self.venue} {self.year}"


class PublishedClass(Section):
    """Published numbers of a hop class: of each flow, or of the class."""

    of: ClassVar[str] = "an experiment"

    flows: int | None = None
    """Number of flows, if `goodput_bps` does not list them."""
    goodput_bps: list[float] = Field(default=[])
    goodput_bps_mean: float | None = None
    goodput_bps_min: float | None = None
    goodput_bps_max: float | None = None
    rtt_mean_s: float | None = None
    rtt_max_s: float | None = None
    drop_runs: dict[str, float] = Field(default={})
    """Number of drop runs of a flow, by length."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.goodput_bps and self.goodput_bps_mean is not None:
            raise refuse("is given as well as goodput_bps", "give one", field="goodput_bps_mean")
        return self


class Published(Section):
    """Published numbers of a variant, to be drawn and printed beside ours."""

    of: ClassVar[str] = "an experiment"

    read: str
    """Where the numbers were read, and how precisely."""
    classes: dict[str, PublishedClass] = Field(default={})
    measures: dict[str, float] = Field(default={})
    """Published values that are in no claim, by the metric's name, for sweeps and reports."""


class Variant(Section):
    """One of the scenarios of an experiment."""

    of: ClassVar[str] = "an experiment"

    name: str = Field(pattern=NAME)
    label: str = ""
    """Its text in figures and tables; default: its name."""
    series: str = ""
    """The line of a sweep to which it belongs; its label says which point of the line it is."""
    patch: dict[str, Any] = Field(default={})
    """Values by dotted paths, in addition to the experiment's; for a model, its arguments."""
    published: Published | None = None

    @property
    def title(self) -> str:
        """Its name for people."""
        label = self.label or self.name
        return f"{label}, {self.series}" if self.series else label

    @property
    def published_classes(self) -> Mapping[str, PublishedClass]:
        """Published numbers by hop class, of those classes that have some."""
        return self.published.classes if self.published else {}


class Drawing(Section):
    """A figure of an experiment."""

    of: ClassVar[str] = "an experiment"

    kind: Literal["classes", "flows", "drop-runs", "sweep", "over-time"]
    """Goodput by hop class and variant; goodput of each flow; drop runs by length; a measure over
    the variants; or a trend over time, one line per variant."""
    title: str
    measure: str = ""
    """For a sweep, the name of a metric; over time, the name of a trend."""
    variants: list[str] = Field(default=[], max_length=4)
    """Over time, the variants to draw; default: all."""
    hop_class: str = ""
    """The hop class, if the metric needs one."""
    traffic: int | None = Field(default=None, ge=0)
    """Index of the `[[traffic]]`, if the metric can be of one."""
    sizes: list[int] | None = Field(default=None, min_length=2, max_length=2)
    """Only transfers of more bytes than the first and at most the second."""
    x_label: str = ""
    """The title of a sweep's axis of variants."""
    until_s: float | None = Field(default=None, gt=0)
    """Over time, where the axis ends; default: the end of the run."""

    @model_validator(mode="after")
    def _measure_is_there(self) -> Self:
        known = {"sweep": list(METRICS), "over-time": list(TRENDS)}.get(self.kind)
        if known and self.measure not in known:
            remedy = f"use one of {', '.join(known)}"
            raise refuse("is not what such a figure can draw", remedy, field="measure")
        return self

    @property
    def file_stem(self) -> str:
        """The name of this figure's files in the experiment."""
        parts = [self.kind, self.measure.replace("_", "-"), self.hop_class]
        numbers = [self.traffic, *(self.sizes or [])]
        parts += [str(number) for number in numbers if number is not None]
        return "-".join(part for part in parts if part)


class ExceptionAt(Section):
    """Settings that differ at some combinations of an experiment's axes."""

    of: ClassVar[str] = "an exception of an experiment's axes"

    at: dict[str, str] = Field(min_length=1)
    """The combinations: all that have these points, named by axis."""
    patch: dict[str, Any] = Field(min_length=1)
    """Values by dotted paths, in addition to those of the points."""


class OnLinux(Section):
    """How an experiment is run over real TCP, with `reproduce --backend linux`."""

    of: ClassVar[str] = "the Linux part of an experiment"

    says: str
    """What it runs on, and what is scaled so that one machine can carry it."""
    slowed: float = Field(default=1.0, ge=1)
    """By this factor its rates are lower than the experiment's, and its times longer. Measured
    numbers are scaled back before they are compared with a claim."""
    seeds: int = Field(default=5, ge=1)
    scenario: dict[str, Any] = Field(default={})
    """Values by dotted paths, in addition to those of the variants."""
    variants: list[str] = Field(default=[])
    """The variants to run; default: all."""


class Experiment(Section):
    """Scenarios that are run for one figure or table of a paper."""

    of: ClassVar[str] = "an experiment"

    model: str = ""
    """The model of `fairport.papers.models` that is computed instead of runs."""
    title: str
    shows: str
    """The paper's conclusion from it."""
    platform: str = ""
    """Which of the paper's platforms runs use; default: the only one."""
    seeds: int = Field(default=10, ge=1)
    quick_seeds: int = Field(default=2, ge=1)
    scenario: dict[str, Any] = Field(default={})
    """Values by dotted paths, in addition to the platform's."""
    quick: dict[str, Any] = Field(default={})
    """Values by dotted paths in addition to these, for `--quick`."""
    linux: OnLinux | None = None
    """The Linux part, if its authors ran it on real hosts."""
    variant: list[Variant] = Field(default=[])
    """Variants that no axis makes."""
    axes: dict[str, Points] = Field(default={})
    """Axes whose combinations are variants. The points of the axis `scheme` may be names of the
    paper's schemes."""
    along: str = ""
    """The axis whose points are the steps of a sweep; default: the last. The points of the other
    axes are its series."""
    exception: list[ExceptionAt] = Field(default=[])
    """Settings that differ at some combinations."""
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
        """All variants: the listed ones, and every combination of the axes."""
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
    """The paper's scheme of that name, if the experiment only names it."""
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
    """Where the number comes from: printed, read off a figure, computed from others, inferred, or
    recalled without a source at hand."""
    metric: str
    hop_class: str = ""
    """The hop class, if the metric needs one."""
    length: int = Field(default=1, ge=1)
    """The length of drop runs in packets, if the metric needs one."""
    traffic: int | None = Field(default=None, ge=0)
    """Index of the `[[traffic]]` whose flows count, if the metric can be of one; default: all."""
    sizes: list[int] | None = Field(default=None, min_length=2, max_length=2)
    """Only transfers of more bytes than the first and at most the second, if the metric can be of
    these."""
    variant: str = ""
    """The variant that the claim is about; default: the experiment's only one."""
    over: str | list[str] = ""
    """The variant whose metric is the divisor; a claim about an order has one per variant."""
    published: float | list[float] | None = None
    """The published number, or one per variant; without it, the claim is about a shape."""

    within: float | None = Field(default=None, gt=0)
    """The claim holds if our number is within this share of the published one."""
    between: list[float] | None = Field(default=None, min_length=2, max_length=2)
    """The claim holds if our number is between these two."""
    below: float | None = None
    """The claim holds if our number is below this one."""
    above: float | None = None
    """The claim holds if our number is above this one."""
    rising: list[str] | None = Field(default=None, min_length=2)
    """The claim holds if the metric rises from each of these variants to the next."""
    falling: list[str] | None = Field(default=None, min_length=2)
    """The claim holds if the metric falls from each of these variants to the next."""
    why: str
    """The reason for this tolerance."""
    differs: str = ""
    """If it differs: what was tried to explain it."""
    not_comparable: str = ""
    """Why it cannot be compared with our runs, or why agreement would prove nothing."""

    @property
    def expectation(self) -> str:
        """The field that says when the claim holds."""
        return next(name for name in _EXPECTATIONS if getattr(self, name) is not None)

    @property
    def number(self) -> float | None:
        """The published number of one variant to which ours must be near.

        None if the paper has a shape or a limit ("0.9 or more"), and for a ratio of variants.
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
