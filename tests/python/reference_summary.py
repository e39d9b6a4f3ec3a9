"""A second computation of a run's summary, small, slow and independent, to compare with.

It is written from docs/reference/ (summary, tables, glossary), not from the program: plain loops
over the rows of the tables, and of the network only what the scenario says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import fsum
from typing import Any

import polars as pl
from fairport.scenario import Scenario
from reference_statistics import (
    Row,
    drop_runs,
    jain,
    kaplan_meier,
    mean,
    quantiles,
    weighted_mean,
    weighted_quantile,
)

SMALL_BYTES, LARGE_BYTES = 100_000, 10_000_000
NEVER = float("inf")
SIZES = (
    ("small", 0, SMALL_BYTES),
    ("medium", SMALL_BYTES, LARGE_BYTES),
    ("large", LARGE_BYTES, NEVER),
)


class Summary:
    """All that the summary of one run counts."""

    def __init__(self, scenario: Scenario, tables: Mapping[str, pl.DataFrame]) -> None:
        self.scenario = scenario
        self.duration_s = float(scenario.duration) / 1e12
        rows = {name: table.to_dicts() for name, table in tables.items()}
        self.flows, self.ports, self.drops = rows["flows"], rows["ports"], rows["drops"]
        self.marks, self.timeouts, self.rtt = rows["marks"], rows["timeouts"], rows["rtt"]
        self.rounds, self.requests = rows["rounds"], rows["requests"]
        self.tcp = [flow for flow in self.flows if flow["protocol"] == "tcp"]
        bulk = [f for f in self.tcp if f["workload"] == "bulk"]
        # of captures nobody knows the ideal time: there, bulk flows are all that are long
        endless = [f for f in bulk if f["ideal_fct_s"] is None]
        self.compared = endless or bulk or self.tcp
        self.are_finite = not endless
        self.start_s, self.end_s = self.begin(), self.finish()

    def measured(self, row: Row) -> bool:
        """Whether a transfer, round or request counts."""
        return bool(self.start_s <= row["start_s"] < self.end_s)

    def time(self, row: Row, column: str) -> tuple[float, bool]:
        """How long a transfer, round or request took, or its age if it is not over."""
        if row[column] is not None:
            return row[column], True
        until = row["end_s"] if row["end_s"] is not None else self.duration_s
        return until - row["start_s"], False

    def begin(self) -> float:
        """Of the measurement."""
        given = self.scenario.measure.start
        if given is not None:
            return float(given) / 1e12
        known = [f["established_s"] for f in self.flows if f["size_bytes"] is None]
        last = max((NEVER if at is None else at for at in known), default=0.0)
        return float(last) if last < self.finish() else 0.0

    def finish(self) -> float:
        """Of the measurement."""
        given = self.scenario.measure.end
        return self.duration_s if given is None else float(given) / 1e12

    def classes(self) -> dict[str, Row]:
        by_hops: dict[int, list[Row]] = defaultdict(list)
        for flow in self.compared:
            by_hops[flow["hops"] or 0].append(flow)
        most = max((len(flows) for flows in by_hops.values()), default=0)
        (*_, base) = [[], *(of for _, of in sorted(by_hops.items()) if len(of) == most)]
        base_bps = mean(f["goodput_bps"] for f in base) if base else 0.0
        return {
            f"{hops}-hop" if hops else "hops unknown": self.hop_class(of, base_bps)
            for hops, of in sorted(by_hops.items())
        }

    def hop_class(self, flows: list[Row], base_bps: float) -> Row:
        numbers = {flow["flow"] for flow in flows}
        goodputs = [flow["goodput_bps"] for flow in flows]
        runs = drop_runs([row for row in self.drops if row["flow"] in numbers], "flow")
        samples = sorted((r["rtt_s"], r["samples"]) for r in self.rtt if r["flow"] in numbers)
        return {
            "flows": len(flows),
            "goodput_bps_mean": mean(goodputs),
            "goodput_bps_min": min(goodputs),
            "goodput_bps_max": max(goodputs),
            "throughput_ratio": mean(goodputs) / base_bps if base_bps else None,
            "timeouts": sum(f["timeouts"] for f in flows),
            "timeout_period_s": fsum(f["timeout_period_s"] for f in flows),
            "drops": sum(f["drops"] for f in flows),
            "longest_drop_run": max(map(len, runs), default=0),
            "rtt_mean_s": weighted_mean(samples),
            "rtt_p99_s": weighted_quantile(samples, 0.99),
        }

    def bottleneck(self) -> Row | None:
        dropping = [port for port in self.ports if port["drops"]]
        transfers = bool(self.compared) and self.are_finite
        if not dropping:
            return max(self.ports, key=lambda port: port["busy_share"], default=None)
        return max(
            dropping, key=lambda p: (0 if transfers else p["flows"], p["drops"], p["busy_share"])
        )

    def lone_class(self) -> str | None:
        """The class with fewest flows; None if all have equally many."""
        classes = self.classes()
        sizes = [one["flows"] for one in classes.values()]
        if len(set(sizes)) < 2:
            return None
        few = [name for name, one in classes.items() if one["flows"] == min(sizes)]
        return min(few, key=lambda name: classes[name]["goodput_bps_mean"])

    def verdict(self) -> Row:
        nothing = {"outcast": None, "ratio": None, "blackout_timeout_share": None}
        lone = None if self.are_finite else self.lone_class()
        if lone is None:
            return nothing
        numbers = {f["flow"] for f in self.compared if f"{f['hops']}-hop" == lone}
        one = self.classes()[lone]
        return {
            "outcast": self.is_outcast(one["throughput_ratio"], one["goodput_bps_mean"]),
            "ratio": one["throughput_ratio"],
            "blackout_timeout_share": self.blackout_share(numbers),
        }

    def is_outcast(self, ratio: float | None, lone_bps: float) -> bool | None:
        if ratio is None:
            return False if lone_bps else None
        return ratio < 0.5

    def blackout_share(self, flows: set[int]) -> float | None:
        """Share of the flows' waits that follow three or more drops in a row by ingress port."""
        length: dict[tuple[int, bool, int], list[tuple[float, int]]] = defaultdict(list)
        for run in drop_runs(self.drops, "ingress"):
            for row in run:
                if not row["is_pure_ack"]:
                    length[segment(row)].append((row["time_s"], len(run)))
        waits = [row for row in self.timeouts if row["flow"] in flows]
        total = fsum(self.within(row) for row in waits)
        after = []
        for row in waits:
            before = [one for one in length[segment(row)] if one[0] <= row["end_s"]]
            if before and max(before)[1] >= 3:
                after.append(self.within(row))
        return fsum(after) / total if total else None

    def within(self, wait: Row) -> float:
        """How much of a wait is within the measurement."""
        end_s, start_s = min(wait["end_s"], self.end_s), max(wait["start_s"], self.start_s)
        return float(max(0.0, end_s - start_s))

    def transfers(self) -> list[Row]:
        """Transfers on connections of their own: rows of `flows` with the time, and if over."""
        return [
            flow | {"time": self.time(flow, "fct_s")}
            for flow in self.tcp
            if flow["ideal_fct_s"] is not None and self.measured(flow)
        ]

    def periodic(self) -> list[Row]:
        """Periodic transfers over connections that last, in the same form."""
        found = []
        for row in self.rounds:
            one = self.scenario.traffic[row["traffic"]]
            lasts = one.kind == "periodic" and one.connections == "persistent"
            if lasts and self.measured(row):
                time = self.time(row, "completion_s")
                found.append(row | {"size_bytes": row["bytes"], "ideal_fct_s": None, "time": time})
        return found

    def fct(self) -> dict[str, Row] | None:
        transfers = self.transfers()
        groups = {
            "all": transfers,
            "<= 100 KB": [t for t in transfers if t["size_bytes"] <= SMALL_BYTES],
            "100 KB-10 MB": [t for t in transfers if SMALL_BYTES < t["size_bytes"] <= LARGE_BYTES],
            "> 10 MB": [t for t in transfers if t["size_bytes"] > LARGE_BYTES],
        }
        return {name: completion(group) for name, group in groups.items() if group} or None

    def all_rounds(self) -> Row | None:
        done = [
            row
            for row in self.rounds
            if self.scenario.traffic[row["traffic"]].kind == "incast"
            and row["end_s"] is not None
            and self.measured(row)
        ]
        if not done:
            return None
        times = [(row["completion_s"], True) for row in done]
        return {
            "rounds": len(done),
            "completion_mean_s": mean(t for t, _ in times),
            "completion_median_s": kaplan_meier(times, 0.5)[0],
            "completion_p99_s": kaplan_meier(times, 0.99)[0],
            "completion_max_s": max(times)[0],
            "goodput_bps": 8 * sum(row["bytes"] for row in done) / fsum(t for t, _ in times),
        }

    def all_requests(self) -> Row | None:
        asked = [row for row in self.requests if self.measured(row)]
        if not asked:
            return None
        times = [self.time(row, "response_s") for row in asked]
        over = [time for time, done in times if done]
        names = {"median": 0.5, "p95": 0.95, "p99": 0.99}
        bounds = lower_bounds(times, "response", "_s") if over else []
        return {
            "requests": len(asked),
            "answered": len(over),
            "response_mean_s": mean(over) if over else None,
            **{
                f"response_{name}_s": kaplan_meier(times, share)[0] if over else None
                for name, share in names.items()
            },
            "response_max_s": max(times)[0] if over else None,
            **({"bounds": bounds} if bounds else {}),
        }

    def all_udp(self) -> Row | None:
        udp = [flow for flow in self.flows if flow["protocol"] == "udp"]
        if not udp:
            return None
        return {
            "flows": len(udp),
            "goodput_bps_total": fsum(f["goodput_bps"] for f in udp),
            "sent": sum(f["segments_sent"] for f in udp),
            "drops": sum(f["drops"] for f in udp),
        }

    def traffic(self, index: int, kind: str) -> Row:
        flows = [flow for flow in self.flows if flow["traffic"] == index]
        transfers = [t for t in self.transfers() + self.periodic() if t["traffic"] == index]
        rounds = [row for row in self.rounds if row["traffic"] == index]
        requests = [row for row in self.requests if row["traffic"] == index]
        counted = [t["time"] for t in transfers]
        if requests:
            counted = [self.time(row, "response_s") for row in requests if self.measured(row)]
        sized = [f for f in flows if f["ideal_fct_s"] is not None]
        begun = requests or (rounds if kind == "incast" else sized or rounds)
        found: Row = {
            "index": index,
            "kind": kind,
            "flows": len(flows),
            "goodput_bps_total": fsum(f["goodput_bps"] for f in flows),
            "timeouts": sum(f["timeouts"] for f in flows),
            "drops": sum(f["drops"] for f in flows),
            "transfers": len(counted),
            "unfinished": sum(not over for _, over in counted),
            "before_measurement": sum(row["start_s"] < self.start_s for row in begun),
        }
        if kind == "bulk" and flows and not sized:
            found["goodput_bps_min"] = min(f["goodput_bps"] for f in flows)
            found["jain_index"] = jain(f["goodput_bps"] for f in flows)
        if transfers:
            found |= self.completions(transfers)
        if kind == "incast":
            found["rounds"] = self.rounds_of(rounds)
        if kind == "request-response":
            found["requests"] = {"asked": len(counted), "done": sum(over for _, over in counted)}
            if counted:
                found["requests"]["time_s"] = quantiles(counted, "median", "p99")
        if kind == "udp":
            sent, drops = sum(f["segments_sent"] for f in flows), found["drops"]
            samples = sorted(
                (r["rtt_s"], r["samples"])
                for r in self.rtt
                if r["flow"] in {f["flow"] for f in flows}
            )
            found |= {"sent": sent, "loss_share": drops / sent if sent else None}
            if samples:
                found["delay_s"] = {
                    "mean": weighted_mean(samples),
                    "p99": weighted_quantile(samples, 0.99),
                }
        return found

    def completions(self, transfers: list[Row]) -> Row:
        times = [t["time"] for t in transfers]
        found: Row = {"fct_s": quantiles(times, "median", "p99", "max")}
        ratios = slowdowns(transfers)
        if ratios:
            found["slowdown"] = quantiles(ratios, "median", "p99")
        for size, above, most in SIZES:
            times = [t["time"] for t in transfers if above < t["size_bytes"] <= most]
            if times:
                found[f"{size}_fct_s"] = quantiles(times, "median", "p99")
        return found

    def rounds_of(self, rounds: list[Row]) -> Row:
        started = [row for row in rounds if self.measured(row)]
        times = [self.time(row, "completion_s") for row in started]
        found: Row = {"started": len(times), "done": sum(over for _, over in times)}
        if found["done"]:
            found["time_s"] = quantiles(times, "median", "p99", "max")
            done = [row for row in started if row["end_s"] is not None]
            whole = fsum(row["completion_s"] for row in done)
            found["goodput_bps"] = 8 * sum(row["bytes"] for row in done) / whole
        return found

    def outside(self) -> int:
        """Compared flows without an end that began after the measurement, or ended before it."""
        if self.are_finite:
            return 0
        return sum(
            f["start_s"] >= self.end_s or (f["end_s"] is not None and f["end_s"] <= self.start_s)
            for f in self.compared
        )

    def in_part(self) -> int:
        """Other such flows whose connections do not cover nine tenths of the measurement."""
        if self.are_finite:
            return 0
        from_s, to_s = self.start_s, self.end_s
        found = 0
        for f in self.compared:
            up, down = f["established_s"], f["end_s"]
            if f["start_s"] >= to_s or (down is not None and down <= from_s):
                continue
            covered = 0.0
            if up is not None:
                covered = max(0.0, min(to_s if down is None else down, to_s) - max(up, from_s))
            found += covered < 0.9 * (to_s - from_s)
        return found

    def ended_s(self) -> float | None:
        """The end of the last flow, if the last tenth of the measurement and more had none."""
        ends = [f["end_s"] for f in self.flows]
        if not self.are_finite or not ends or None in ends:
            return None
        left = self.end_s - max(ends)
        return max(ends) if left > 0.1 * (self.end_s - self.start_s) else None

    def hosts(self) -> Row:
        hosts = {f["src"] for f in self.flows} | {f["dst"] for f in self.flows}
        queues = [row["port"] for row in self.drops if row["reason"] != "loss"]
        own = sum(port.rpartition(":")[0] in hosts for port in queues)
        tcp = [one.tcp for one in self.scenario.traffic if one.kind != "udp"]
        totals: dict[tuple[str, str], list[float]] = defaultdict(list)
        for flow in self.tcp:
            for end in ("src", "dst"):
                totals[end, flow[end]].append(flow["goodput_bps"])
        return {
            "host_queue_drop_share": own / len(self.drops) if self.drops else None,
            "rto_min_s": max((self.tcp_setting(of, "rto_min") / 1e12 for of in tcp), default=None),
            "ecn_is_idle": any(self.tcp_setting(one, "ecn") for one in tcp)
            and not self.marks
            and len(queues) > own,
            "host_goodput_bps_max": max(map(fsum, totals.values()), default=None),
        }

    def tcp_setting(self, layer: Any, name: str) -> Any:
        """What the scenario sets for the senders of a traffic, which may have its own layer."""
        own = getattr(layer, name, None)
        return getattr(self.scenario.tcp, name) or 0 if own is None else own

    def summary(self) -> Row:
        worst = self.bottleneck()
        keys = ("port", "drops", "marks", "queue_mean_bytes", "queue_max_bytes")
        return {
            "simulated_s": self.duration_s,
            "measure": {"from_s": self.begin(), "to_s": self.finish()},
            "classes": self.classes(),
            "goodput_bps_total": fsum(f["goodput_bps"] for f in self.tcp),
            "utilisation": worst["busy_share"] if worst else None,
            "jain_index": jain(f["goodput_bps"] for f in self.compared),
            "bottleneck": {key: worst[key] for key in keys} if worst else None,
            "fct": self.fct(),
            "rounds": self.all_rounds(),
            "requests": self.all_requests(),
            "udp": self.all_udp(),
            "verdict": self.verdict(),
            **self.hosts(),
            "flows_outside_measurement": self.outside(),
            "flows_partly_measured": self.in_part(),
            "traffic_ended_s": self.ended_s(),
            "traffic": [self.traffic(i, one.kind) for i, one in enumerate(self.scenario.traffic)],
        }


def segment(row: Row) -> tuple[int, bool, int]:
    """What the drop of a segment and the timeout that waits for it have in common."""
    return row["flow"], row["is_backward"], row["seq"]


def slowdowns(transfers: list[Row]) -> list[tuple[float, bool]]:
    return [(t["time"][0] / t["ideal_fct_s"], t["time"][1]) for t in transfers if t["ideal_fct_s"]]


def completion(transfers: list[Row]) -> Row:
    found: Row = {"flows": len(transfers), "completed": sum(t["time"][1] for t in transfers)}
    bounds: list[str] = []
    for name, times in ("fct", [t["time"] for t in transfers]), ("slowdown", slowdowns(transfers)):
        unit = "_s" if name == "fct" else ""
        over = [time for time, done in times if done]
        found[f"{name}_mean{unit}"] = mean(over) if over else None
        for key, share in ("median", 0.5), ("p95", 0.95), ("p99", 0.99):
            found[f"{name}_{key}{unit}"] = kaplan_meier(times, share)[0] if over else None
        found[f"{name}_max{unit}"] = max(times)[0] if over else None
        if over:
            bounds += lower_bounds(times, name, unit)
    return found | ({"bounds": bounds} if bounds else {})


def lower_bounds(times: list[tuple[float, bool]], name: str, unit: str) -> list[str]:
    """The keys of the quantiles that are lower bounds."""
    parts = {"median": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return [f"{name}_{key}{unit}" for key, share in parts.items() if kaplan_meier(times, share)[1]]
