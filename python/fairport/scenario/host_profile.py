"""How long real hosts take for their answers, as it was measured: a profile, one TOML file each.

    fairport doctor --measure-hosts --out my-host.toml

writes one for the machine at hand. A scenario takes it with `host.profile = "my-host.toml"`, or
one of those that come with Fairport by its name. Times are from a packet's delivery to the answer
that it causes, as quantiles; the simulation draws from them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tomli_w
from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator
from typing_extensions import Self

from fairport._toml import TOMLDecodeError, loads
from fairport.errors import ScenarioError, not_one_of
from fairport.scenario.base import Section, refuse
from fairport.scenario.problems import refused
from fairport.scenario.source import Source
from fairport.scenario.units import Duration
from fairport.toml_lines import not_toml

_FOLDER = "host_profiles"
_MEASURE = "`fairport doctor --measure-hosts --out NAME.toml` writes one"
_MILLION = 1_000_000
NONE = "none"
"""What a scenario says for hosts without a profile."""
Share = Annotated[float, Field(ge=0, le=1)]


class Machine(Section):
    """What the times were measured on."""

    of: ClassVar[str] = "a host profile"

    cpu: str
    """The processor's name."""
    processors: int = Field(ge=1)
    """How many there are."""
    virtual: bool
    """Whether it is a virtual machine."""
    kernel: str
    """Its kernel's release."""
    hz: int | None = None
    """Ticks of the kernel's clock per second, where it says so."""


class Provenance(Section):
    """How the times were measured."""

    of: ClassVar[str] = "a host profile"

    load: str
    """The traffic, and the program that sent and received it."""
    runs: int = Field(ge=1)
    """Valid runs, of which all answers are taken together."""
    switch_lag_p50: Duration
    """How late the switch delivered what was due: half of all packets were later. It is no part of
    the times."""
    switch_lag_p99: Duration
    """The same: one packet in a hundred was later."""
    delayed_ack_share: Share
    """ACKs of one segment that waited for the timer of delayed ACKs, of all ACKs of new data. They
    are left out: TCP models that timer."""
    compressed_ack_share: Share
    """Duplicate ACKs behind the second of a row, which the kernel may hold back, of all duplicates.
    They are left out."""


class LoadTimes(Section):
    """The times under one load."""

    of: ClassVar[str] = "a host profile"

    gap_min: Duration
    """What reaches the host so long after the packet before it, or later, is answered after one of
    these times."""
    samples: int = Field(ge=1)
    """Answers that were measured."""
    times: list[Duration]
    """The quantiles: one per entry of `levels`."""


class AnswerTimes(Section):
    """The times of one kind of answer."""

    of: ClassVar[str] = "a host profile"

    correlation: Share
    """Correlation of a host's time with the one before, by rank under the same load."""
    loads: list[LoadTimes] = Field(min_length=1)
    """By load, the busiest first."""

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
    """What it is, for people."""
    machine: Machine
    """What it was measured on."""
    measurement: Provenance
    """How it was measured."""
    levels: list[Share] = Field(min_length=2)
    """Shares of all answers that took no longer than the quantile of the same place, from 0 on."""
    ack: AnswerTimes
    """From a segment to the ACK that it causes."""
    duplicate_ack: AnswerTimes
    """The same while segments are missing before it: the kernel answers at once."""
    data: AnswerTimes
    """From an ACK to the first segment that it lets out."""

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
    folder = resources.files("fairport.scenario") / _FOLDER
    names = [entry.name for entry in folder.iterdir()]
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError("is not UTF-8 text", file=str(path), remedy=_MEASURE) from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise ScenarioError(problem, file=str(path), remedy=_MEASURE) from None
    return _parse(text, str(path))


def _parse(text: str, file: str) -> HostProfile:
    document: Any = None
    try:
        document = loads(text)
        return HostProfile.model_validate(document)
    except TOMLDecodeError as error:
        raise not_toml(error, file, ScenarioError, _MEASURE) from None
    except ValidationError as error:
        raise refused(error, document, Source(file, text), ScenarioError) from None


def _known(profile: Any, info: ValidationInfo) -> Any:
    """A profile by its name stays a name; what a file holds takes the place of its path."""
    if not isinstance(profile, str):
        return profile
    try:
        if not profile.endswith(".toml"):
            if profile != NONE:
                find(profile)
            return profile
        return read((info.context or {}).get("folder", Path()) / profile)
    except ScenarioError as error:
        where = ": ".join(part for part in (error.file, error.field) if part)
        problem = f"{where}: {error.problem}" if where else error.problem
        raise refuse(problem, error.remedy or _MEASURE) from None


Profile = Annotated[str | HostProfile, BeforeValidator(_known)]
"""The name of a profile, the path of a file, or what is in it."""


def resolved(profile: str | HostProfile) -> HostProfile:
    """The profile that a checked scenario means."""
    return find(profile) if isinstance(profile, str) else profile
