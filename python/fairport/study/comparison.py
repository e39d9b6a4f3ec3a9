"""What a comparison found: one row per fix, and a ranking."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from fairport.errors import InputError
from fairport.quantities import QUANTITIES
from fairport.scenario import Scenario
from fairport.study import ranking
from fairport.study.fixes import Fix
from fairport.study.measures import MEASURES, Groups


@dataclass(frozen=True)
class Candidate:
    """The scenario with a fix, or as it is."""

    name: str
    scenario: Scenario
    fix: Fix | None = None
    refusal: InputError | None = None
    """Why the fix does not apply to this scenario."""

    @property
    def needs(self) -> list[str]:
        """What the fix needs of a network."""
        return list(self.fix.needs) if self.fix else []

    @property
    def why_not(self) -> str | None:
        """Why it does not apply, in the words of a scenario's file."""
        if self.refusal is None:
            return None
        where = f"{self.refusal.field}: " if self.refusal.field else ""
        return f"{where}{self.refusal.problem}"


@dataclass(frozen=True)
class Comparison:
    """One scenario without and with fixes, all with the same seeds, as a plain value.

    `fairport.plot` draws it and `fairport.save` writes its folder.
    """

    scenario: Scenario
    seeds: Sequence[int]
    candidates: Sequence[Candidate]
    """The scenario as it is ("none") and each fix, in the given order."""
    groups: Groups
    runs: pl.DataFrame
    """One row per run: `fix`, `seed`, and what `study.measures` measures."""
    drop_runs: pl.DataFrame
    """How many drop runs by flow of each length: `fix`, `seed`, `group` (lone, peers, others),
    `length` in packets, `runs`."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per fix, "none" first: of each measure its median and quartiles over the seeds.

        `not_applicable` says why a fix has no numbers.
        """
        numbers = self.runs.group_by("fix").agg(
            expression
            for key in MEASURES
            for expression in (
                pl.col(key).median().alias(f"{key}_median"),
                pl.col(key).quantile(0.25, "linear").alias(f"{key}_q1"),
                pl.col(key).quantile(0.75, "linear").alias(f"{key}_q3"),
            )
        )
        asked = pl.DataFrame(
            {
                "fix": [one.name for one in self.candidates],
                "needs": [one.needs for one in self.candidates],
                "not_applicable": [one.why_not for one in self.candidates],
            },
            schema={"fix": pl.String, "needs": pl.List(pl.String), "not_applicable": pl.String},
        )
        return asked.join(numbers, on="fix", how="left", maintain_order="left")

    @cached_property
    def ranking(self) -> list[ranking.Ranked]:
        """The fixes, best first, each with a verdict and its reason."""
        none, *fixes = self.table.to_dicts()
        with_numbers = [row for row in fixes if row["not_applicable"] is None]
        return ranking.ranking(with_numbers, none, self.groups)

    @cached_property
    def conclusion(self) -> str:
        """The comparison in one sentence."""
        none = self.table.row(0, named=True)
        return ranking.conclusion(self.ranking, none, self.groups)

    def document(self) -> dict[str, Any]:
        """For programs: what `--json` prints."""
        rank = {one.fix: one for one in self.ranking}
        fixes = []
        for row in self.table.iter_rows(named=True):
            entry = {key.replace("jain_index", "jain"): value for key, value in row.items()}
            q1, q3 = row["throughput_ratio_q1"], row["throughput_ratio_q3"]
            entry["throughput_ratio_iqr"] = None if q1 is None else q3 - q1
            if row["fix"] in rank:
                one = rank[row["fix"]]
                entry |= {"rank": one.rank, "verdict": one.verdict, "sentence": one.sentence}
            fixes.append(entry)
        return {
            "scenario": self.scenario.name,
            "repeat": len(self.seeds),
            "seeds": list(self.seeds),
            "lone": self.groups.lone or None,
            "peers": self.groups.peers,
            "fixes": fixes,
            "conclusion": self.conclusion,
        }

    def __repr__(self) -> str:
        return f"<fairport.Comparison {self.scenario.name}: {self.conclusion}>"

    def _repr_html_(self) -> str:
        """For notebooks: the conclusion and the table."""
        columns = [QUANTITIES[key].label for key in MEASURES]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ["fix", *columns, "needs"])
        rows = "".join(_html_row(row) for row in self.table.iter_rows(named=True))
        return (
            f"<p><b>{html.escape(self.conclusion)}</b></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _html_row(row: dict[str, Any]) -> str:
    name = f"<th>{html.escape(row['fix'])}</th>"
    if row["not_applicable"] is not None:
        why = html.escape(f"not applicable: {row['not_applicable']}")
        return f"<tr>{name}<td colspan='{len(MEASURES) + 1}'>{why}</td></tr>"
    cells = [_html_cell(row, key) for key in MEASURES]
    cells.append(html.escape(", ".join(row["needs"])))
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _html_cell(row: dict[str, Any], key: str) -> str:
    """The median, and below it the quartiles."""
    median, q1, q3 = (
        QUANTITIES[key].shown(row[f"{key}_{part}"], "over_seeds") for part in ("median", "q1", "q3")
    )
    return f"{median}<br><small>{q1} to {q3}</small>" if median else ""
