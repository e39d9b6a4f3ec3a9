"""How numbers are shown: the title, unit and format of each, by its name. It computes none.

Tables, figures, pages and the terminal take them from here. A name is a key of the summary, a
column of a table or of a study, or a metric of a comparison. Values are in base units (s, B, bit/s)
and are shown in `unit`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

Where = Literal["form", "narrow", "over_seeds"]
"""The formats of a quantity."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its title, unit and formats."""

    title: str
    unit: str = ""
    factor: float = 1
    """Factor from the base unit to `unit`."""
    form: str = ".3g"
    narrow: str = ""
    """Format if there is little room, as in a run's table in a terminal; default: `form`."""
    over_seeds: str = ""
    """Format of a median with its quartiles; default: `form`."""

    @property
    def label(self) -> str:
        """Title and unit for an axis or a heading: "goodput (Mbit/s)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def heading(self) -> str:
        """The title with a capital letter."""
        return self.title[:1].upper() + self.title[1:]

    def at_size(self, most: float | None) -> Quantity:
        """The quantity in a unit (Gbit/s, kbit/s) in which `most` (base units) is easy to read."""
        for units, times in ((_LARGER, 1e-3), (_SMALLER, 1e3)):
            limit, unit = units.get(self.unit, (0.0, ""))
            shown = abs((most or 0.0) * self.factor)
            if unit and (shown >= limit if times < 1 else 0 < shown < limit):
                return replace(self, unit=unit, factor=self.factor * times)
        return self

    def shown(self, value: float | None, where: Where = "form") -> str:
        """The value in `unit`, without the unit; empty for None."""
        if value is None:
            return ""
        text = format(value * self.factor, getattr(self, where) or self.form)
        # "2,010" and not "2.01e+03"
        return f"{Decimal(text):,f}" if "e" in text else text

    def cell(self, value: float | None, where: Where = "form", *, is_bound: bool) -> str:
        """The value as `shown` gives it, marked if it is a lower bound only."""
        return f"≥{self.shown(value, where)}" if is_bound else self.shown(value, where)

    def with_unit(self, value: float | None) -> str:
        """The value with its unit, rates in Gbit/s and kbit/s too; "none" for None."""
        if value is None:
            return "none"
        if self.unit == "Mbit/s" and abs(value) >= _LARGE_BPS:
            return f"{value * 1e-9:,.1f} Gbit/s"
        if self.unit == "Mbit/s" and 0 < abs(value) < _SMALL_BPS:
            return f"{value * 1e-3:.3g} kbit/s"
        return f"{self.shown(value)} {self.unit}".rstrip()


_LARGE_BPS = 10e9
# With one digit after the point, Mbit/s would show nothing of a smaller rate.
_SMALL_BPS = 0.1e6

# From this value on an axis has a unit a thousand times as large; below it, one as much smaller.
_LARGER = {"Mbit/s": (2_000, "Gbit/s"), "kB": (10_000, "MB"), "ms": (10_000, "s")}
_SMALLER = {"Mbit/s": (0.1, "kbit/s"), "kB": (0.1, "B"), "ms": (0.01, "µs")}

_MBPS: dict[str, Any] = {"unit": "Mbit/s", "factor": 1e-6, "form": ".1f"}
_MS: dict[str, Any] = {"unit": "ms", "factor": 1e3}
_KB: dict[str, Any] = {"unit": "kB", "factor": 1e-3, "form": ".1f"}

QUANTITIES: dict[str, Quantity] = {
    # of a hop class, or of a run
    "flows": Quantity("flows", form=",.0f"),
    "goodput_bps": Quantity("goodput", **_MBPS),
    "goodput_bps_mean": Quantity("goodput mean", **_MBPS),
    "goodput_bps_min": Quantity("goodput min", **_MBPS),
    "goodput_bps_max": Quantity("goodput max", **_MBPS),
    "goodput_bps_total": Quantity("total goodput", **_MBPS),
    "throughput_ratio": Quantity("throughput ratio", form=".3f", over_seeds=".2f"),
    "lone_goodput_bps_mean": Quantity("lone class's goodput", **_MBPS),
    "lone_timeouts": Quantity("lone class's timeouts", form=",.0f"),
    "lone_timeout_period_s": Quantity("lone class's timeout period", "s", form=".2f"),
    "peers_goodput_bps_mean": Quantity("peers' goodput", **_MBPS),
    "peers_goodput_bps_min": Quantity("peers' least goodput", **_MBPS),
    "peers_goodput_bps_max": Quantity("peers' greatest goodput", **_MBPS),
    "jain_index": Quantity("Jain index", form=".3f"),
    "utilisation": Quantity("utilisation", "%", 100, ".1f"),
    "timeouts": Quantity("timeouts", form=",.0f", narrow=".0f"),
    "timeout_period_s": Quantity("timeout period", "s", form=".2f"),
    "drops": Quantity("drops", "packets", form=",.0f", narrow=".0f"),
    "longest_drop_run": Quantity("longest drop run", "packets", form=",.0f", narrow=".0f"),
    "drop_runs_ge2": Quantity("drop runs ≥\u00a02", form=",.0f"),
    "marks": Quantity("marks", "packets", form=",.0f"),
    "blackouts": Quantity("blackouts", form=",.0f"),
    "longest_blackout": Quantity("longest blackout", "packets", form=",.0f"),
    "rtt_mean_s": Quantity("RTT mean", **_MS, form=".3f", narrow=".2f", over_seeds=".2f"),
    "rtt_p99_s": Quantity("RTT p99", **_MS, form=".3f", narrow=".2f", over_seeds=".2f"),
    # of a port
    "queue_bytes": Quantity("queue", **_KB),
    "queue_mean_bytes": Quantity("mean queue", **_KB),
    "queue_max_bytes": Quantity("largest queue", **_KB),
    "signals_per_s": Quantity("drops and marks", "1/s"),
    # of a connection
    "cwnd_bytes": Quantity("cwnd", **_KB),
    "rtt_s": Quantity("RTT", **_MS, form=".2f"),
    # of transfers, rounds and requests
    "completed": Quantity("completed", form=",.0f"),
    "fct_s": Quantity("completion time", "s"),
    **{
        f"fct_{part}_s": Quantity(f"FCT {part}", **_MS, form=".4g")
        for part in ("mean", "median", "p95", "p99", "max")
    },
    **{f"slowdown_{part}": Quantity(f"slowdown {part}") for part in ("mean", "median", "p99")},
    "completion_s": Quantity("completion time", **_MS, form=".2f"),
    "response_s": Quantity("response time", **_MS, form=".2f"),
    # of one [[traffic]]
    "transfers": Quantity("transfers", form=",.0f"),
    "unfinished": Quantity("unfinished", form=",.0f"),
    "lower_bounds": Quantity("lower bounds", form=",.0f"),
    **{
        f"{size}_fct_{part}_s": Quantity(f"{size} FCT {part}", **_MS, form=".4g", over_seeds=".3g")
        for size in ("small", "medium", "large")
        for part in ("median", "p99")
    },
    "rounds_done": Quantity("rounds done", form=".0f"),
    "rounds_started": Quantity("rounds started", form=".0f"),
    "round_time_median_s": Quantity("round time median", **_MS, form=".4g", over_seeds=".3g"),
    "round_time_p99_s": Quantity("round time p99", **_MS, form=".4g", over_seeds=".3g"),
    "round_goodput_bps": Quantity("goodput of rounds", **_MBPS),
    "first_traffic_share": Quantity("first traffic's share", "%", 100, ".1f"),
    "response_median_s": Quantity("response time median", **_MS, form=".4g", over_seeds=".3g"),
    "response_p99_s": Quantity("response time p99", **_MS, form=".4g", over_seeds=".3g"),
    "loss_share": Quantity("loss", "%", 100, ".2f"),
    "delay_mean_s": Quantity("delay mean", **_MS, form=".3f"),
    "delay_p99_s": Quantity("delay p99", **_MS, form=".3f"),
    "host_queue_drop_share": Quantity("drops in hosts' own queues", "%", 100, ".3g"),
}


def three_digits(value: float) -> str:
    """The value with three significant digits: "0.233", "1,360"."""
    return digits(value, 3)


def digits(value: float, count: int) -> str:
    """The value with so many significant digits, never with a power of ten."""
    return f"{Decimal(f'{value:.{count}g}'):,f}"


def time_at_size(most_s: float) -> Quantity:
    """A time in the unit in which times up to `most_s` seconds are easy to read."""
    if most_s >= 0.1 or most_s <= 0:
        return Quantity("time", "s", form=",.4g")
    unit, factor = ("ms", 1e3) if most_s >= 1e-3 else ("µs", 1e6)
    return Quantity("time", unit, factor, ".4g")


_SMALLEST_IN_MILLIONS = 100_000
_UNITS: dict[str, dict[str, Any]] = {"_bps": _MBPS, "_bytes": _KB, "_s": _MS}


def of_number(name: str) -> Quantity:
    """The quantity of that name; for an unlisted name, one made from the name."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    words = name.removesuffix(ending).replace("_", " ").replace("rtt", "RTT").replace("fct", "FCT")
    return Quantity(words, **_UNITS[ending]) if ending else Quantity(words)


def counted(number: int, what: str) -> str:
    """A number of things: "1 flow", "12 flows", "1,999 flows"."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def group_label(name: str) -> str:
    """A group of flow sizes (`completion.GROUPS`) for people: "≤ 100 kB"; "all" stays."""
    return name.replace("<=", "≤").replace("KB", "kB").replace("-", " to ")


def in_millions(count: float) -> str:
    """A large count in millions; a small one, which would be 0.0 M, in full."""
    return f"{count / 1e6:.1f} M" if count >= _SMALLEST_IN_MILLIONS else f"{count:,.0f}"


def median_count(count: float) -> str:
    """A number of things over several seeds, where a median may be a half: "12", "12.5"."""
    return f"{count:,.1f}".removesuffix(".0")


def in_ms(value_s: float) -> str:
    """A time in milliseconds, from a second on in seconds: "4.25 ms", "1.5 s"."""
    return f"{value_s * 1e3:,.4g} ms" if value_s < 1 else f"{value_s:,.4g} s"
