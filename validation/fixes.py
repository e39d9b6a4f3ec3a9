"""The fixes compared with the papers' numbers, and the table of docs/guide/comparing-fixes.md.

Scenarios and fixes are those that come with Fairport. What a claim changes besides is in its row,
by the override mechanism that `--set` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fairport as fp
import polars as pl
from fairport.metrics.spread import shown_of_row
from fairport.quantities import QUANTITIES
from fairport.study.comparison.metrics import OF_THE_RUN
from fairport.study.fixes import Fix, available

from validation.case import options
from validation.markdown import table

NS2 = "outcast-1-to-12-ns2"
TESTBED = "outcast-1-to-12"
# Lee et al. 2017: 15 senders, CUBIC, buffers counted in packets
QMAX_100 = {"queue.limit": "100 packets", "tcp.congestion_control": "cubic"}
QMAX_20 = {"queue.limit": "20 packets", "tcp.congestion_control": "cubic"}

# 13 flows in 4 buckets are 4, 3, 3 and 3; in the paper's run the lone flow was one of four
BUCKET_OF_FOUR = Fix(
    name="sfq-bucket-of-four",
    title="SFQ whose bucket of four flows holds the lone one",
    needs=["switch"],
    source="",
    patch={
        **available()["sfq"].patch,
        "queue.placed": [
            ["h1", "h4", "h5", "h6"],
            ["h7", "h8", "h9"],
            ["h10", "h11", "h12"],
            ["h13", "h14", "h15"],
        ],
    },
)

# drops before this time are allowed: senders have not yet reacted to the marks
START_S = 0.1


@dataclass(frozen=True)
class Found:
    """One fix in one comparison."""

    comparison: fp.Comparison
    fix: str

    def row(self, fix: str = "") -> dict[str, Any]:
        """The fix's row of the table, or another's."""
        return self.comparison.table.row(
            by_predicate=pl.col("fix") == (fix or self.fix), named=True
        )

    def median(self, key: str, fix: str = "") -> float:
        """A measure's median over the seeds."""
        return float(self.row(fix)[f"{key}_median"])

    def lengths(self, group: str) -> dict[int, float]:
        """Share of each length among the drop runs of a group's flows, over all seeds."""
        runs = (
            self.comparison.drop_runs.filter(fix=self.fix, group=group)
            .group_by("length")
            .agg(pl.col("runs").sum())
        )
        in_all = runs["runs"].sum()
        return {length: count / in_all for length, count in runs.iter_rows()}


Outcome = tuple[str, bool]
"""What was found, and whether the claim holds."""


@dataclass(frozen=True)
class Claim:
    """A claim about a fix in a scenario."""

    fix: str
    text: str
    published: str
    check: Callable[[Found], Outcome]
    scenario: str = NS2
    overrides: Mapping[str, Any] | None = None


def ratio_within(low: float, high: float) -> Callable[[Found], Outcome]:
    """The median throughput ratio."""

    def check(found: Found) -> Outcome:
        row = found.row()
        median, q1, q3 = (row[f"throughput_ratio_{part}"] for part in ("median", "q1", "q3"))
        return f"{median:.2f} ({q1:.2f} to {q3:.2f})", low <= median <= high

    return check


def mostly_single(found: Found) -> Outcome:
    """More than 90 % of the drop runs of either group have one packet."""
    lone, peers = (found.lengths(group).get(1, 0.0) for group in ("lone", "peers"))
    return f"{100 * lone:.1f} % of the lone flow's, {100 * peers:.1f} % of the others'", min(
        lone, peers
    ) > 0.9


def better_than_plain(found: Found) -> Outcome:
    """The ratio is nearer to an equal share than without the fix."""
    with_it, without = found.median("throughput_ratio"), found.median("throughput_ratio", "none")
    return f"{with_it:.2f}, {without:.2f} without", without < with_it < 1


def alike(found: Found) -> Outcome:
    """The two histograms differ by less than a tenth of their mass."""
    lone, peers = found.lengths("lone"), found.lengths("peers")
    apart = sum(abs(lone.get(n, 0.0) - peers.get(n, 0.0)) for n in lone.keys() | peers.keys()) / 2
    shown = "; ".join(
        f"{n}: {100 * lone.get(n, 0.0):.0f} and {100 * peers.get(n, 0.0):.0f} %"
        for n in sorted(lone.keys() | peers.keys())[:3]
    )
    return f"{100 * apart:.0f} % of the mass apart ({shown})", apart < 0.1


# The paper's histograms have 105 drop runs of the lone flow and 12 times 83 of the others, none of
# more than three packets: with greater shares than these that would be seen less than once in
# twenty times, 1 - 0.05^(1/n).
MOST_ABOVE_3 = {"lone": 0.0281, "peers": 0.0030}


def no_run_above_3(found: Found) -> Outcome:
    """Drop runs of more than three packets are so few that the paper may have seen none."""
    above = {
        group: sum(share for length, share in found.lengths(group).items() if length > 3)
        for group in MOST_ABOVE_3
    }
    shown = " and ".join(f"{100 * share:.2f} %" for share in above.values())
    return f"{shown} are longer (lone flow, others)", all(
        above[group] < most for group, most in MOST_ABOVE_3.items()
    )


def goodput_changes(low: float, high: float) -> Callable[[Found], Outcome]:
    """Total goodput with the fix over that without."""

    def check(found: Found) -> Outcome:
        change = found.median("goodput_bps_total") / found.median("goodput_bps_total", "none") - 1
        return f"{100 * change:+.1f} %", low <= change <= high

    return check


def no_drops_after_start(found: Found) -> Outcome:
    """The last drop of every run is before `START_S`."""
    last = max(found.comparison.runs.filter(fix=found.fix)["last_drop_s"].fill_null(0.0))
    return f"the last drop is at {last:.3f} s", last < START_S


def jain_above(least: float) -> Callable[[Found], Outcome]:
    """The median of Jain's index."""

    def check(found: Found) -> Outcome:
        return f"{found.median('jain_index'):.3f}", found.median("jain_index") > least

    return check


def jain_near(other: str, share: float) -> Callable[[Found], Outcome]:
    """Jain's index is not lower than another fix's by more than a share."""

    def check(found: Found) -> Outcome:
        ours, theirs = found.median("jain_index"), found.median("jain_index", other)
        return f"{ours:.3f}, {other} {theirs:.3f}", ours >= (1 - share) * theirs

    return check


CLAIMS = [
    Claim("red", "drop runs of one packet: over 90 %", "over 90 %", mostly_single),
    Claim("red", "the lone flow is favoured: 1.2 to 3", "2.0", ratio_within(1.2, 3)),
    Claim("sfq", "0.7 to 1.1 with the hash's buckets", "0.84", ratio_within(0.7, 1.1)),
    Claim(
        "sfq-bucket-of-four", "0.75 to 0.85 in the bucket of four", "0.84", ratio_within(0.75, 0.85)
    ),
    Claim("pacing", "better than plain", "1/7 to 0.45-0.6", better_than_plain),
    Claim("pacing", "still an outcast: 0.3 to 0.8", "0.45-0.6", ratio_within(0.3, 0.8)),
    Claim("equal-length", "0.7 to 1.1", "0.78-0.9", ratio_within(0.7, 1.1), TESTBED),
    Claim("equal-length", "drop-run histograms alike", "alike", alike, TESTBED),
    Claim(
        "equal-length", "2.8 and 0.3 % of drop runs above 3 at most", "none", no_run_above_3,
        TESTBED,
    ),
    Claim("equal-length", "goodput not lower", "", goodput_changes(-0.01, 1), TESTBED),
    Claim(
        "equal-length", "oversubscribed 2:1: goodput falls", "", goodput_changes(-1, -0.01),
        TESTBED, {"topology.oversubscription": 2},
    ),
    Claim(
        "equal-length", "oversubscribed 4:1: goodput falls", "", goodput_changes(-1, -0.01),
        TESTBED, {"topology.oversubscription": 4},
    ),
    Claim(
        "dctcp", "K = 20 of 100: no drops after the start", "", no_drops_after_start,
        "outcast", QMAX_100,
    ),
    Claim("dctcp", "K = 20 of 100: Jain above 0.98", "", jain_above(0.98), "outcast", QMAX_100),
    Claim(
        "dctcp", "K = 4 of 20: goodput falls by about 6 %", "-6.4 %", goodput_changes(-0.09, -0.03),
        "outcast", QMAX_20,
    ),
    Claim(
        "tcprand", "Qmax 100: Jain within 2 % of DCTCP's", "within 2 %", jain_near("dctcp", 0.02),
        "outcast", QMAX_100,
    ),
]  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs and prints every comparison; renews the pages at the end."""
    given = options("fixes", __doc__, arguments, seeds=20)
    seeds = len(given.seeds)
    comparisons: dict[str, fp.Comparison] = {}
    rows = []
    for claim in CLAIMS:
        found = Found(_comparison(claim, seeds, comparisons), claim.fix)
        shown, holds = claim.check(found)
        where = f"`{claim.scenario}`" + "".join(
            f", `{path}={value}`" for path, value in (claim.overrides or {}).items()
        )
        state = "holds" if holds else "**differs**"
        rows.append([claim.fix, where, claim.text, claim.published, shown, state])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["fix", "scenario", "what it is to show", "published"]
    heads += [f"here, {seeds} seeds", ""]
    given.publish("validation/fixes.md", "fixes", table(heads, rows))
    everything = fp.compare(TESTBED, repeat=seeds)
    print(_summary(everything))
    given.publish("guide/comparing-fixes.md", "compare", _summary(everything))
    return 0


def _comparison(claim: Claim, seeds: int, comparisons: dict[str, fp.Comparison]) -> fp.Comparison:
    """All the fixes that any claim about this scenario is about, together."""
    where = f"{claim.scenario} {claim.overrides}"
    if where not in comparisons:
        same = [
            other.fix
            for other in CLAIMS
            if (other.scenario, other.overrides) == (claim.scenario, claim.overrides)
        ]
        scenario = fp.scenario(claim.scenario).patch(dict(claim.overrides or {}))
        fixes = [
            BUCKET_OF_FOUR if name == BUCKET_OF_FOUR.name else name for name in dict.fromkeys(same)
        ]
        comparisons[where] = fp.compare(scenario, fixes, repeat=seeds)
    return comparisons[where]


def _summary(comparison: fp.Comparison) -> str:
    """The comparison as Markdown: best first, medians with quartiles, the conclusion."""
    by_name = {row["fix"]: row for row in comparison.table.iter_rows(named=True)}
    heads = ["fix", "effect", *(QUANTITIES[key].label for key in OF_THE_RUN), "needs"]
    effects = {"none": "", **{one.fix: one.effect for one in comparison.ranking}}
    rows = [
        [name, effect, *_cells(by_name[name]), ", ".join(by_name[name]["needs"])]
        for name, effect in effects.items()
    ]
    rows += [
        [
            one.name,
            f"not applicable: {one.why_not}",
            *[""] * len(OF_THE_RUN),
            ", ".join(one.needs),
        ]
        for one in comparison.candidates
        if one.why_not
    ]
    return "\n\n".join([table(heads, rows), comparison.conclusion])


def _cells(row: Mapping[str, Any]) -> Sequence[str]:
    return ["{} ({} to {})".format(*shown_of_row(row, key, QUANTITIES[key])) for key in OF_THE_RUN]
