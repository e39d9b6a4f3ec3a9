"""A paper as data: its settings, its experiments, what it claims.

A folder a paper, with `paper.toml` (what it ran on: one or more platforms); in it a folder an
experiment, with `experiment.toml` (its platform, the scenario and the variants to run) and
`claims.toml` (what was published, and what would be the same). Scenarios are patches: the
platform's settings on a built-in scenario, the experiment's on these, the variant's on both.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import Self

from fairport.papers.metrics import METRICS
from fairport.scenario.base import Section, refuse
from fairport.trends import TRENDS

_NAME = r"^[a-z0-9][a-z0-9._-]*$"
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


class Paper(Section):
    """One paper, and the platforms of its experiments."""

    of: ClassVar[str] = "a paper"

    title: str
    authors: str
    venue: str
    year: int
    platform: dict[Annotated[str, Field(pattern=_NAME)], Platform] = Field(min_length=1)
    """By name: a testbed, a simulator."""

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
            raise refuse("is given besides goodput_bps", "give one", field="goodput_bps_mean")
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

    name: str = Field(pattern=_NAME)
    label: str = ""
    """What figures and tables call it; without it, the name."""
    series: str = ""
    """Of which line of a sweep it is a point; its label says which point."""
    patch: dict[str, Any] = Field(default={})
    """Values by dotted paths, on those of the experiment."""
    r_min_bytes: int | None = Field(default=None, ge=1, le=1448)
    """The smallest payload, in an experiment of `enqueue-probability`."""
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
    variants; a trend over time, a line a variant."""
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


class Experiment(Section):
    """Scenarios that are run for one figure or table of a paper."""

    of: ClassVar[str] = "an experiment"

    kind: Literal["runs", "enqueue-probability"] = "runs"
    """Runs of scenarios; or draws of who gets room at a full port, without a network."""
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
    variant: list[Variant] = Field(min_length=1)
    figure: list[Drawing] = Field(default=[])

    @model_validator(mode="after")
    def _variants_are_of_its_kind(self) -> Self:
        for index, one in enumerate(self.variant):
            if (one.r_min_bytes is not None) != (self.kind == "enqueue-probability"):
                field = f"variant.{index}.r_min_bytes"
                raise refuse('goes with kind = "enqueue-probability"', "give both", field=field)
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [one.name for one in self.variant]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise refuse("is another's too", "name it once", field=f"variant.{index}.name")
        return self


class Claim(Section):
    """One thing that a paper says, and when it holds here."""

    of: ClassVar[str] = "a claim"

    id: str = Field(pattern=_NAME)
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
    """Why it cannot be held against a run of ours."""

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
    def _can_be_judged(self) -> Self:
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
