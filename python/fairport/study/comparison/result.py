"""The result of a comparison: one row per fix, and a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from fairport.errors import InputError
from fairport.html_table import html_table
from fairport.metrics import spread
from fairport.metrics.spread import FEWEST_FOR_QUARTILES
from fairport.quantities import QUANTITIES, Quantity
from fairport.scenario import Scenario
from fairport.study.comparison.metrics import METRICS, OF_THE_RUN, Groups, Metric
from fairport.study.comparison.parts import ComparedPart
from fairport.study.comparison.rank_by_gain import ByGain
from fairport.study.comparison.rank_by_share import ByShare, share
from fairport.study.comparison.ranking import Ranked, Ranking, with_range
from fairport.study.fixes import Fix

_ONE_SEED = "This is one seed; another may rank the fixes differently. Ten seeds say more."
_FEW_SEEDS = "These are {} seeds; others may rank the fixes differently. Ten seeds say more."


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


@dataclass(frozen=True, slots=True)
class Column:
    """A number of a comparison: one column of its table, one panel of its figure."""

    key: str
    """Its name in the tables; the median over the seeds is `KEY_median`."""
    quantity: Quantity
    part: str
    """The part of the traffic that it belongs to, as text; empty: the whole run."""
    metric: Metric


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
    parts: Sequence[ComparedPart]
    """The parts of the traffic that are compared, with the metrics that rank the fixes."""
    caveats: Sequence[str]
    """What a reader must know before the numbers: about the scenario without a fix, and about fixes
    that do not reach all of it."""
    runs: pl.DataFrame
    """One row per run: `fix`, `seed`, and the metrics of the run and of the parts of its traffic
    (`study.comparison.metrics`)."""
    drop_runs: pl.DataFrame
    """Number of drop runs by flow of each length: `fix`, `seed`, `group` (lone, peers, others),
    `length` in packets, `runs`."""

    @cached_property
    def columns(self) -> list[Column]:
        """Every number that is shown: those of the parts, then those of the whole run."""
        of_parts = [
            self._column(part.key(name), QUANTITIES[name], part.label, METRICS[name])
            for part in self.parts
            for name in part.shown
        ]
        known = {column.key for column in of_parts}
        has = {"jain_index": any(part.is_long_lived for part in self.parts)}
        has["throughput_ratio"] = has["jain_index"] and self.groups.lone != ""
        of_the_run = [
            self._column(key, QUANTITIES[key], "", metric)
            for key, metric in OF_THE_RUN.items()
            if key not in known and has.get(key, True)
        ]
        return of_parts + of_the_run

    def _column(self, key: str, quantity: Quantity, part: str, metric: Metric) -> Column:
        """The quantity in a unit that suits the runs: Gbit/s for thousands of Mbit/s."""
        most: Any = self.runs[key].max()
        sized = quantity.at_size(most)
        if sized.unit != quantity.unit:
            sized = replace(sized, form=",.2f", over_seeds="")
        return Column(key, sized, part, metric)

    @cached_property
    def _runs_of(self) -> dict[Any, pl.DataFrame]:
        """The runs with each fix that has any, in the order of their seeds."""
        parts = self.runs.sort("seed").partition_by("fix", as_dict=True)
        return {fix: runs for (fix,), runs in parts.items()}

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per fix, "none" first, with each number's median and quartiles over the seeds.

        With fewer than four seeds, the least and the greatest values replace the quartiles.
        `not_applicable` says why a fix has no numbers.
        """
        keys = list(dict.fromkeys([*OF_THE_RUN, *(column.key for column in self.columns)]))
        rows = []
        for one in self.candidates:
            runs = self._runs_of.get(one.name, self.runs.clear())
            row: dict[str, Any] = {
                "fix": one.name,
                "needs": one.needs,
                "not_applicable": one.why_not,
            }
            rows.append(row | spread.columns(runs, keys))
        numbers = [name for name in rows[0] if name not in ("fix", "needs", "not_applicable")]
        schema: dict[str, Any] = {
            "fix": pl.String,
            "needs": pl.List(pl.String),
            "not_applicable": pl.String,
        }
        return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64))

    @property
    def has_quartiles(self) -> bool:
        """Whether there are enough seeds for quartiles."""
        return len(self.seeds) >= FEWEST_FOR_QUARTILES

    @property
    def spread_name(self) -> str:
        """What its tables show beside a median."""
        return "quartiles" if self.has_quartiles else "least and greatest"

    @cached_property
    def ranked_parts(self) -> list[ComparedPart]:
        """The parts that decide the ranking."""
        return [part for part in self.parts if part.metric is not None]

    @cached_property
    def _ranking(self) -> Ranking:
        """By equal shares for long-lived flows, otherwise by gains."""
        none, *fixes = self.table.to_dicts()
        rows = [row for row in fixes if row["not_applicable"] is None]
        key = share(self.groups)
        if [part.metric for part in self.ranked_parts] == [key]:
            shares = {fix: runs[key].to_list() for fix, runs in self._runs_of.items()}
            apart = {fix: spread.difference(shares["none"], of) for fix, of in shares.items()}
            return ByShare(rows, none, apart, self.groups)
        return ByGain(rows, none, self.runs, self.ranked_parts)

    @property
    def ranking(self) -> Sequence[Ranked]:
        """The fixes, best first, each with its effect and the reason."""
        return self._ranking.ranked

    @property
    def ranked_by(self) -> str:
        """The criterion of the ranking, as a sentence."""
        return self._ranking.criterion

    @property
    def ranking_note(self) -> str:
        """How the ranking is made, in full."""
        return self._ranking.note

    @property
    def finding(self) -> str:
        """The comparison in one sentence, without a full stop and without what decided."""
        return self._ranking.finding

    @cached_property
    def conclusion(self) -> str:
        """The comparison in one sentence; of fewer than four seeds, with a second that says so."""
        found = self._ranking.conclusion
        if self.has_quartiles:
            return found
        few = _ONE_SEED if len(self.seeds) == 1 else _FEW_SEEDS.format(len(self.seeds))
        return f"{found} {few}"

    @cached_property
    def host_queue_drops(self) -> str:
        """The candidates that lose packets in hosts' own queues, as a sentence, or ""."""
        shares = self.runs.group_by("fix", maintain_order=True).agg(
            pl.col("host_queue_drop_share").median()
        )
        quantity = QUANTITIES["host_queue_drop_share"]
        lose = [f"{fix} {quantity.with_unit(share)}" for fix, share in shares.iter_rows() if share]
        return f"Share of the drops in hosts' own queues: {', '.join(lose)}." if lose else ""

    def document(self) -> dict[str, Any]:
        """The comparison for programs, as `--json` prints it."""
        rank = {one.fix: one for one in self.ranking}
        fixes = []
        for row in self.table.iter_rows(named=True):
            entry = {key.replace("jain_index", "jain"): value for key, value in row.items()}
            entry["throughput_ratio_iqr"] = self._iqr(row, "throughput_ratio")
            entry["traffic"] = self._by_traffic(row)
            if row["fix"] in rank:
                one = rank[row["fix"]]
                entry |= {"rank": one.rank, "effect": one.effect, "sentence": one.sentence}
            fixes.append(entry)
        return {
            "scenario": self.scenario.name,
            "repeat": len(self.seeds),
            "caveats": list(self.caveats),
            "seeds": list(self.seeds),
            "metric": ", ".join(dict.fromkeys(str(part.metric) for part in self.ranked_parts)),
            "ranked_by": self.ranked_by,
            "traffic": [
                {"index": index, "kind": part.kind, "metric": part.metric}
                for part in self.parts
                for index in part.indices
            ],
            "lone": self.groups.lone or None,
            "peers": self.groups.peers,
            "fixes": fixes,
            "conclusion": self.conclusion,
        }

    def _by_traffic(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Every shown metric of each [[traffic]], the ranking one first."""
        found = []
        for part in self.parts:
            names = dict.fromkeys([part.metric, *part.shown] if part.metric else part.shown)
            found += [
                {
                    "index": index,
                    "metric": name,
                    "median": row[f"{part.key(name)}_median"],
                    "iqr": self._iqr(row, part.key(name)),
                }
                for index in part.indices
                for name in names
            ]
        return found

    def _iqr(self, row: dict[str, Any], key: str) -> float | None:
        return spread.iqr(row, key, len(self.seeds))

    def __repr__(self) -> str:
        return f"<fairport.Comparison {self.scenario.name}: {self.conclusion}>"

    def _repr_html_(self) -> str:
        """For notebooks: the conclusion and the table."""
        rows = [self._shown(row) for row in self.table.iter_rows(named=True)]
        return html_table(self.scenario.name, self.conclusion, rows)

    def _shown(self, row: dict[str, Any]) -> dict[str, str]:
        """A row of the table by its headings: medians, with quartiles in brackets."""
        fix = {"fix": row["fix"]}
        if row["not_applicable"] is not None:
            return fix | {"": f"not applicable: {row['not_applicable']}"}
        cells = {
            f"{one.quantity.label} {one.part}".strip(): with_range(
                *spread.shown_of_row(row, one.key, one.quantity)
            )
            for one in self.columns
        }
        return fix | cells | {"needs": ", ".join(row["needs"])}
