"""The ranking of fixes for long-lived flows: by how near their shares are to equal ones.

A fix is **fair** if the median throughput ratio of the lone class is within `verdict.PARITY` of an
equal share, in either direction. If not the whole middle half is, it must also differ from the
scenario without a fix, seed by seed (`metrics.spread`). Fair fixes come first; among them, those
under which the flows stay as even as they were, by Jain's index; then those that keep the goodput.
Then the order is that of the *distance* from an equal share: the larger of |ln q1| and |ln q3| of
the ratio's quartiles. So a fix that works only with some seeds comes after one that works with all,
and a ratio of 2 is as far off as one of 1/2.

Without a lone class Jain's index replaces the ratio. If no flow has delivered anything, there is no
ratio and no index, and nothing is compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairport.metrics.spread import Spread, of_row
from fairport.metrics.verdict import PARITY
from fairport.study.comparison.metrics import Groups
from fairport.study.comparison.ranking import Ranked, Row, change, needed, with_range

# A fix costs goodput if all flows together lose more than this share.
COSTLY = 0.05
# Without a lone class, flows share fairly from this Jain index on.
FAIR_JAIN = 0.95
# The flows share less evenly if Jain's index falls by more than this.
UNEVEN = 0.02

# The words for a fix with which every share is fair, and for one that is fair with some seeds only.
_FAIR, _IN_PART = "fair", "fair at the median"
_LONE_ONLY = "fair to the lone class only"


def share(groups: Groups) -> str:
    """The number by which long-lived flows are compared."""
    return "throughput_ratio" if groups.lone else "jain_index"


@dataclass(frozen=True)
class ByShare:
    """The ranking of fixes for long-lived flows (`ranking.Ranking`)."""

    rows: Sequence[Row]
    """The fixes."""
    none: Row
    """The scenario without a fix."""
    apart: Mapping[str, Spread]
    """By fix, the differences between the share with it and that without, seed by seed."""
    groups: Groups

    @cached_property
    def ranked(self) -> list[Ranked]:
        """The fixes, best first."""
        ordered = sorted(self.rows, key=self._place)
        return [
            Ranked(rank, row["fix"], self._effect(row), _sentence(row, self.none, self._key))
            for rank, row in enumerate(ordered, 1)
        ]

    @property
    def criterion(self) -> str:
        """What the ranking goes by, as a sentence."""
        what = _ratio(self.groups) if self.groups.lone else "Jain's index"
        return (
            f"Ranked by {what}: fair fixes first, then those that keep the flows as even, then"
            " those that keep the goodput, then by the distance from an equal share."
        )

    @property
    def note(self) -> str:
        """How the ranking is made, for a page."""
        which = f"Fixes are ranked by {_ratio(self.groups)}. "
        fair = f"ratio from {PARITY} to {1 / PARITY}"
        if not self.groups.lone:
            which, fair = "", f"of Jain's index of {FAIR_JAIN} and more"
        return (
            f"{which}Fair fixes come first: those with a median {fair}. Among them, and among the"
            " others, fixes that leave all flows as even as before (Jain's index falls by at most"
            f" {UNEVEN}) and cost less than {100 * COSTLY:.0f} % of the goodput come first. The"
            " rest is ordered by how far the quartiles are from an equal share"
            f"{', in either direction' if self.groups.lone else ''}."
        )

    @property
    def finding(self) -> str:
        """The comparison in one sentence, without a full stop."""
        return self.conclusion.removesuffix(".")

    @property
    def conclusion(self) -> str:
        """The comparison in one sentence."""
        none, key = self.none, self._key
        what = "ratio" if self.groups.lone else "Jain index"
        without = f"Without a fix the {what} is {_spread(none, key)}"
        if none[f"{key}_median"] is None:
            without = f"Without a fix there is no {what}: no flow delivered data that is compared"
        if all(_fair(one, key) for one in of_row(none, key)):
            return f"{without}: there is nothing to fix."
        words = {one.fix: one.effect.partition(",")[0] for one in self.ranked}
        fair, in_part = (
            [fix for fix, word in words.items() if word == wanted] for wanted in (_FAIR, _IN_PART)
        )
        makes = [
            f"{_listed(names)} {'make' if len(names) > 1 else 'makes'} it {word}"
            for names, word in ((fair, _FAIR), (in_part, _IN_PART))
            if names
        ]
        return f"{without}; {', '.join(makes) or 'none of these fixes makes it fair'}."

    @property
    def _key(self) -> str:
        return share(self.groups)

    def _place(self, row: Row) -> tuple[bool, bool, bool, float, int]:
        return (
            self._word(row) not in (_FAIR, _IN_PART, _LONE_ONLY),
            _uneven(row, self.none),
            _gain(row, self.none) < -COSTLY,
            _distance(row, self._key),
            len(row["needs"]),
        )

    def _effect(self, row: Row) -> str:
        found = self._word(row)
        return f"{found}, at a cost" if _gain(row, self.none) < -COSTLY else found

    def _word(self, row: Row) -> str:
        """What the fix does to the share, whatever it costs."""
        key = self._key
        median, q1, q3 = of_row(row, key)
        if median is None:
            return "nothing to compare"
        if _fair(median, key) and _uneven(row, self.none):
            return _LONE_ONLY
        if all(_fair(one, key) for one in (median, q1, q3)):
            return _FAIR
        apart = self.apart[row["fix"]]
        if apart.count and not (apart.is_above_zero or apart.is_below_zero):
            return "no clear difference"
        if _fair(median, key):
            return _IN_PART
        if key == "throughput_ratio" and median > 1:
            return "reversed"
        nearer = _distance(row, key) < _distance(self.none, key)
        return "helps, but not enough" if nearer else "worse"


def _ratio(groups: Groups) -> str:
    lone = f"the {groups.lone} class's mean goodput"
    return f"the ratio of {lone} to that of its {groups.peers} peers"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _sentence(row: Row, none: Row, key: str) -> str:
    if row[f"{key}_median"] is None:
        return "no flow delivered data within the measurement, so there is nothing to compare."
    found = [
        _share(row, key),
        _jain(row, none) if key == "throughput_ratio" else "",
        change("total goodput", _gain(row, none), 0.01),
        change("RTT p99", _relative(row, none, "rtt_p99_s"), 0.1),
        _count("timeouts", row["timeouts_median"], none["timeouts_median"]),
        _count("drop runs ≥ 2:", row["drop_runs_ge2_median"], none["drop_runs_ge2_median"]),
    ]
    return "; ".join([one for one in found if one]) + f". Needs: {needed(row)}."


def _share(row: Row, key: str) -> str:
    what, digits = ("ratio", 2) if key == "throughput_ratio" else ("Jain's index", 3)
    median, q1, q3 = (f"{one:.{digits}f}" for one in of_row(row, key))
    return f"{what} {with_range(median, q1, q3)}"


def _fair(value: float | None, key: str) -> bool:
    if value is None:
        return False
    return PARITY <= value <= 1 / PARITY if key == "throughput_ratio" else value >= FAIR_JAIN


def _uneven(row: Row, none: Row) -> bool:
    """Whether all flows together share less evenly than without the fix."""
    now, before = row["jain_index_median"], none["jain_index_median"]
    return now is not None and before is not None and bool(now < before - UNEVEN)


def _jain(row: Row, none: Row) -> str:
    now, before = row["jain_index_median"], none["jain_index_median"]
    if now is None or before is None or abs(now - before) <= UNEVEN:
        return ""
    return f"Jain's index {before:.2f} to {now:.2f}"


def _distance(row: Row, key: str) -> float:
    _, q1, q3 = of_row(row, key)
    if q1 is None:
        return math.inf
    if key == "jain_index":
        return float(1 - q1)
    return max(abs(math.log(q)) if q > 0 else math.inf for q in (q1, q3))


def _gain(row: Row, none: Row) -> float:
    return _relative(row, none, "goodput_bps_total") or 0.0


def _relative(row: Row, none: Row, key: str) -> float | None:
    ours, before = row[f"{key}_median"], none[f"{key}_median"]
    return ours / before - 1 if ours is not None and before else None


def _spread(row: Row, key: str) -> str:
    median, q1, q3 = of_row(row, key)
    if median is None:
        return "unknown"
    return with_range(f"{median:.2f}", f"{q1:.2f}", f"{q3:.2f}")


def _count(what: str, now: float, before: float) -> str:
    return f"{what} {before:,.0f} to {now:,.0f}" if abs(now - before) > 0.1 * before else ""
