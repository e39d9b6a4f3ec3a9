"""A distribution of sizes by its cumulative distribution function (CDF), from a file.

A line has a size and the share of flows of at most that size, separated by blanks or a comma.
Between two lines sizes are uniform (linear interpolation); the share of the first line has exactly
that size. `#` begins a comment. A line `unit 1460` says that sizes count packets of 1460 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fairport.errors import InputError, did_you_mean

_BILLION = 10**9
_LARGEST = 10**12
UNIT_END = 10**12
_UNIT = re.compile("[1-9][0-9]{0,11}")


class CdfError(InputError, ValueError):
    """A text that is not a CDF, or a file that does not exist."""


@dataclass(frozen=True)
class Cdf:
    """Points of a CDF, and the bytes that a size counts."""

    points: tuple[tuple[int, int], ...]
    """Sizes in units, and the share of flows up to each size in parts of 10^9."""
    unit_bytes: int

    @classmethod
    def uniform(cls, least_bytes: int, most_bytes: int) -> Cdf:
        """A uniform distribution of whole bytes between the two, which may be equal."""
        if least_bytes == most_bytes:
            return cls(((most_bytes, _BILLION),), 1)
        return cls(((least_bytes, 0), (most_bytes, _BILLION)), 1)

    @property
    def mean_bytes(self) -> float:
        """The mean of what the engine draws: whole units, with linear interpolation, at least 1."""
        (first, below), *_ = self.points
        total = float(max(first, 1) * below)
        for (low, start), (high, end) in zip(self.points, self.points[1:], strict=False):
            # what would be rounded to 0 is drawn as 1
            raised = 0.0 if low > 0 else 1 / max(2 * high, 1)
            total += (end - start) * ((low + high) / 2 + raised)
        return total / _BILLION * self.unit_bytes

    def job(self) -> dict[str, Any]:
        """The distribution as the engine takes it (`CdfJob`)."""
        return {"points": self.points, "unit_bytes": self.unit_bytes}


def names() -> list[str]:
    """The distributions that come with Fairport."""
    folder = resources.files("fairport.workloads")
    files = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(".cdf") for name in files if name.endswith(".cdf"))


def is_file(source: str) -> bool:
    """Whether the text is the path of a file, and not a distribution's name."""
    return "." in source or "/" in source or "\\" in source


def read_cdf(source: str) -> Cdf:
    """The distribution of that name, or in a file. Raises CdfError."""
    if is_file(source):
        return parse(_read(Path(source)))
    if source not in names():
        remedy = f"{did_you_mean(source, names())} A file has a dot in its name."
        raise CdfError("is not a distribution of sizes", remedy=remedy)
    text = (resources.files("fairport.workloads") / f"{source}.cdf").read_text(encoding="utf-8")
    return parse(text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors on Windows put a mark in front
    except FileNotFoundError:
        problem = "is a file that does not exist"
    except (OSError, UnicodeDecodeError):
        problem = "is a file that cannot be read"
    raise CdfError(problem, remedy=f"give a text file, or one of {', '.join(names())}")


@cache
def parse(text: str) -> Cdf:
    """The distribution in a file. Raises CdfError."""
    points: list[tuple[int, int]] = []
    unit_bytes = 1
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if words[0] == "unit":
            unit_bytes = _unit(words, number)
        else:
            point = _point(words, number)
            if points:
                _rises(points[-1], point, number)
            points.append(point)
    if len(points) < 2:
        raise CdfError("has fewer than two points", remedy="give one size and its share per line")
    if points[-1][1] != _BILLION:
        last = points[-1][1] / _BILLION
        raise CdfError(f"ends at {last:g} and not at 1", remedy="end with the largest size and 1")
    return Cdf(tuple(points), unit_bytes)


def _unit(words: list[str], number: int) -> int:
    if len(words) != 2 or not _UNIT.fullmatch(words[1]):
        raise CdfError(f"has no number of bytes in line {number}", remedy="write it as `unit 1460`")
    return int(words[1])


def _point(words: list[str], number: int) -> tuple[int, int]:
    try:
        size, share = map(float, words)
    except ValueError:
        remedy = "write a size and a share, such as `10000 0.15`; `#` begins a comment"
        raise CdfError(f"does not have two numbers in line {number}", remedy=remedy) from None
    if not 0 <= size <= _LARGEST:
        raise CdfError(
            f"has a size of {size:.15g} in line {number}", remedy="give sizes from 0 to 10^12"
        )
    if not 0 <= share <= 1:
        raise CdfError(
            f"has a share of {share:g} in line {number}", remedy="give shares from 0 to 1"
        )
    return round(size), round(share * _BILLION)


def _rises(before: tuple[int, int], here: tuple[int, int], number: int) -> None:
    if here[0] < before[0] or here[1] < before[1] or here == before:
        problem = f"does not rise in line {number}: {here[0]} {here[1] / _BILLION:g} comes after "
        problem += f"{before[0]} {before[1] / _BILLION:g}"
        raise CdfError(problem, remedy="order the lines by size; shares grow with it")
