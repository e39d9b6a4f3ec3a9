"""A ranking of fixes, best first, and the words that every ranking uses.

Long-lived flows are ranked by their shares (`rank_by_share`), other traffic by how much better its
metrics become (`rank_by_gain`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = Mapping[str, Any]
"""A row of a comparison's table: a fix, with the median and quartiles of each metric."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fix with its place in the ranking."""

    rank: int
    fix: str
    effect: str
    """Its effect, such as "fair" or "helps, but not enough"."""
    sentence: str


class Ranking(Protocol):
    """A ranking of the fixes of one comparison."""

    @property
    def ranked(self) -> Sequence[Ranked]:
        """The fixes, best first."""

    @property
    def criterion(self) -> str:
        """What the ranking goes by, as a sentence."""

    @property
    def note(self) -> str:
        """How the ranking is made, for a page."""

    @property
    def finding(self) -> str:
        """The comparison in one sentence, without a full stop and without what decided."""

    @property
    def conclusion(self) -> str:
        """The comparison in one sentence or two."""


def needed(row: Row) -> str:
    """What a fix needs from a network, as a list in words."""
    return ", ".join(row["needs"]) or "nothing"


def with_range(text: str, low: str, high: str) -> str:
    """A number with its range in brackets; without, if both ends are alike, as of one seed."""
    return text if low == high else f"{text} ({low} to {high})"


def change(what: str, relative: float | None, least: float) -> str:
    """How something changed, in words; empty if it changed by less than `least`."""
    if relative is None or abs(relative) < least:
        return ""
    return f"{what} {100 * abs(relative):.0f} % {'higher' if relative > 0 else 'lower'}"
