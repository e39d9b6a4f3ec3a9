"""Profiles: how long real hosts were measured to take for their answers, one TOML file each.

    fairport doctor --measure-hosts --out my-host.toml

writes a profile of your machine. A scenario uses it with `host.profile = "my-host.toml"`, or uses a
profile that comes with Fairport by its name. Times go from a packet's delivery to the answer that
it causes, and are given as quantiles; the simulation draws from them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tomli_w
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from typing_extensions import Self

from fairport.errors import ScenarioError, not_one_of
from fairport.scenario.base import Section, refuse
from fairport.scenario.checking import checked
from fairport.scenario.named_files import absolute
from fairport.scenario.source import Source
from fairport.scenario.units import Duration, Rate
from fairport.toml.files import names_in, parse, read_text

_FOLDER = "host_profiles"
_MEASURE = "`fairport doctor --measure-hosts --out NAME.toml` writes one"
_MILLION = 1_000_000
NONE = "none"
"""The value of `host.profile` for hosts without a profile."""
Share = Annotated[float, Field(ge=0, le=1)]


class Machine(Section):
    """The machine on which the times were measured."""

    of: ClassVar[str] = "a host profile"

    cpu: str
    """The processor's name."""
    processors: int = Field(ge=1)
    """Number of processors."""
    virtual: bool
    """Whether it is a virtual machine."""
    kernel: str
    """Its kernel's release."""
    hz: int | None = None
    """Ticks of the kernel's clock per second, if the kernel says so."""


class Provenance(Section):
    """How the times were measured."""

    of: ClassVar[str] = "a host profile"

    load: str
    """The traffic, and the program that sent and received it."""
    rate_max: Rate | None = None
    """Rate of the fastest link on which they were measured, if it is known."""
    runs: int = Field(ge=1)
    """Number of valid runs, whose answers are combined."""
    switch_lag_p50: Duration
    """Median of how late the switch delivered packets. It is not included in the times."""
    switch_lag_p99: Duration
    """The 99th percentile of how late the switch delivered packets."""
    delayed_ack_share: Share
    """Share of ACKs of one segment that waited for the timer of delayed ACKs, of all ACKs of new
    data. They are left out, because the simulated TCP has that timer."""
    compressed_ack_share: Share
    """Share of duplicate ACKs after the second in a row, which the kernel may hold back, of all
    duplicates. They are left out."""


class LoadTimes(Section):
    """The times under one load."""

    of: ClassVar[str] = "a host profile"

    gap_min: Duration
    """Packets that reach the host at least this long after the previous packet are answered after
    one of these times."""
    samples: int = Field(ge=1)
    """Number of measured answers."""
    times: list[Duration]
    """The quantiles: one per entry of `levels`."""


class AnswerTimes(Section):
    """The times of one kind of answer."""

    of: ClassVar[str] = "a host profile"

    correlation: Share
    """Correlation of a host's time with its previous one, by rank within the same load."""
    loads: list[LoadTimes] = Field(min_length=1)
    """The times by load, the busiest first."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        gaps = [int(load.gap_min) for load in self.loads]
        if gaps[0] != 0 or any(one >= following for one, following in pairwise(gaps)):
            raise refuse(
                "do not begin with a gap_min of 0, or do not rise by it",
                "put the busiest load first",
                field="loads",
                show_value=False,
            )
        return self

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return {
            "correlation_ppm": round(_MILLION * self.correlation),
            "loads": [
                {
                    "gap_min_ps": int(load.gap_min),
                    "quantiles_ps": [int(time) for time in load.times],
                }
                for load in self.loads
            ],
        }


class HostProfile(Section):
    """Measured times of hosts."""

    of: ClassVar[str] = "a host profile"

    format: Literal[1]
    """Version of this format."""
    description: str = ""
    """Description for people."""
    machine: Machine
    """The machine on which it was measured."""
    measurement: Provenance
    """How it was measured."""
    levels: list[Share] = Field(min_length=2)
    """Shares of the quantiles: this share of all answers took no longer than the quantile at the
    same place. The first is 0."""
    ack: AnswerTimes
    """Time from a segment to the ACK that it causes."""
    duplicate_ack: AnswerTimes
    """Time from a segment after a hole to its duplicate ACK, which the kernel sends at once."""
    data: AnswerTimes
    """Time from an ACK to the first segment that it lets out."""

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        if self.levels[0] != 0 or any(a >= b for a, b in pairwise(self.levels)):
            raise refuse("do not rise from 0", "sort them", field="levels")
        for name in ("ack", "duplicate_ack", "data"):
            answer: AnswerTimes = getattr(self, name)
            for index, load in enumerate(answer.loads):
                place = f"{name}.loads.{index}.times"
                if len(load.times) != len(self.levels):
                    raise refuse(
                        f"holds {len(load.times)} times for {len(self.levels)} levels",
                        "give one per level",
                        field=place,
                        show_value=False,
                    )
                if any(a > b for a, b in pairwise(load.times)):
                    raise refuse(
                        "decrease, and quantiles must not",
                        "sort them",
                        field=place,
                        show_value=False,
                    )
        return self

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return {
            "levels_ppm": [round(_MILLION * level) for level in self.levels],
            "ack": self.ack.job(),
            "duplicate_ack": self.duplicate_ack.job(),
            "data": self.data.job(),
        }

    def to_toml(self) -> str:
        """The profile as a file; reading it gives an equal profile."""
        return tomli_w.dumps(self.model_dump(exclude_none=True))


def builtin_names() -> list[str]:
    """Names of the profiles that come with Fairport."""
    return names_in(resources.files("fairport.scenario") / _FOLDER)


@cache
def find(name: str) -> HostProfile:
    """A profile that comes with Fairport. Raises ScenarioError."""
    if name not in builtin_names():
        problem, remedy = not_one_of(name, builtin_names())
        raise ScenarioError(problem, value=name, remedy=f"{remedy} A file ends in .toml.")
    entry = resources.files("fairport.scenario") / _FOLDER / f"{name}.toml"
    return _parse(entry.read_text(encoding="utf-8"), f"{name}.toml")


def read(path: Path) -> HostProfile:
    """The profile in a file. Raises ScenarioError."""
    return _parse(read_text(path, str(path), ScenarioError, _MEASURE), str(path))


def _parse(text: str, file: str) -> HostProfile:
    document = parse(text, file, ScenarioError, _MEASURE)
    return checked(HostProfile.model_validate, document, Source(file, text), ScenarioError)


def _known(profile: Any, info: ValidationInfo) -> Any:
    """The profile for a scenario: a name stays a name, a file's path is replaced by its content."""
    if not isinstance(profile, str):
        return profile
    try:
        if not profile.endswith(".toml"):
            if profile != NONE:
                find(profile)
            return profile
        return read(Path(absolute(profile, info)))
    except ScenarioError as error:
        where = ": ".join(part for part in (error.file, error.field) if part)
        problem = f"{where}: {error.problem}" if where else error.problem
        raise refuse(problem, error.remedy or _MEASURE) from None


Profile = Annotated[str | HostProfile, BeforeValidator(_known)]
"""The name of a profile, the path of a file, or the file's content."""


def resolved(profile: str | HostProfile) -> HostProfile:
    """The profile of a checked scenario."""
    return find(profile) if isinstance(profile, str) else profile
