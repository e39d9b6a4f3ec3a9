"""The effect of each parameter of the model on `outcast`.

Each row changes one thing of the built-in scenario by the override mechanism that `--set` uses.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import fairport as fp
from fairport.quantities import counted

from validation.case import options
from validation.markdown import table

CLASSES = ("2-hop", "4-hop", "6-hop")
EQUAL_PROCESSING = {"kind": "constant", "value": "2500ns"}

# with these, two packets arrive in the same picosecond again and again
FROZEN: dict[str, Any] = {
    "host.processing": {"kind": "constant", "value": "0s"},
    "link.clock_error": "0ppm",
}

# parameter -> its values, each as overrides of `outcast`
PARAMETERS: dict[str, dict[str, dict[str, Any]]] = {
    "as it is": {"": {}},
    "base delay (host, switch)": {
        "1 us, 1 us": {"host.delay": "1us", "switch.processing_delay": "1us"},
        "1 us, 25 us": {"host.delay": "1us"},
        "30 us, 1 us": {"switch.processing_delay": "1us"},
        "80 us, 25 us": {"host.delay": "80us"},
        "160 us, 25 us": {"host.delay": "160us"},
    },
    "spread of the hosts' delays": {
        "0": {"host.delay_spread": "0s"},
        "1 us": {"host.delay_spread": "1us"},
        "5 us": {"host.delay_spread": "5us"},
        "80 us": {"host.delay_spread": "80us"},
    },
    "processing of a segment in a host": {
        "always 2.5 us": {"host.processing": EQUAL_PROCESSING},
        "a tenth of a microsecond": {"host.profile": "none"},
        "0 to 1 us": {"host.processing": {"kind": "uniform", "min": "0s", "max": "1us"}},
        "0 to 5 us": {"host.processing": {"kind": "uniform", "min": "0s", "max": "5us"}},
        "0 to 20 us": {"host.processing": {"kind": "uniform", "min": "0s", "max": "20us"}},
        "exponential, mean 2.5 us": {"host.processing": {"kind": "exponential", "mean": "2500ns"}},
    },
    "shortest time between interrupts": {
        f"{us} us": {"host.interrupt_interval": f"{us}us"} for us in (20, 50, 125, 250)
    },
    "start jitter": {
        "0": {"traffic.0.start_jitter": "0s"},
        "100 us": {"traffic.0.start_jitter": "100us"},
        "1 s": {"traffic.0.start_jitter": "1s"},
    },
    "clock error": {
        "0": {"link.clock_error": "0ppm"},
        "100 ppm": {"link.clock_error": "100ppm"},
    },
    "no spread, no clock error, constant processing": {
        "start jitter 10 ms": {
            "host.delay_spread": "0s",
            "host.processing": EQUAL_PROCESSING,
            "link.clock_error": "0ppm",
        },
        "no start jitter": {
            "host.delay_spread": "0s",
            "host.processing": EQUAL_PROCESSING,
            "link.clock_error": "0ppm",
            "traffic.0.start_jitter": "0s",
        },
    },
    "RTO": {
        "rule of RFC 6298": {"tcp.rto_rule": "rfc6298"},
        "rto_min 200 ms": {"tcp.rto_min": "200ms"},
        "rto_min 10 ms": {"tcp.rto_min": "10ms"},
    },
    "ACKs": {
        "of every segment": {"tcp.ack_policy": "every-segment"},
        "delayed, no quick-ACK": {"tcp.ack_policy": "delayed"},
    },
    "SACK": {"off": {"tcp.sack": False}},
    "buffer": {
        "11 packets": {"queue.limit": "11 packets"},
        "16 KB (1000 B)": {"queue.limit": "16KB"},
        "packet in service counted": {"queue.count_in_service": True},
        "8 KiB": {"queue.limit": "8KiB"},
        "32 KiB": {"queue.limit": "32KiB"},
        "128 KiB": {"queue.limit": "128KiB"},
    },
    "ties": {
        "arbitration fixed": {"switch.arbitration": "fixed"},
        "arbitration random": {"switch.arbitration": "random"},
        "arrival before departure": {"switch.departure_first": False},
    },
    "ties, with exact clocks and hosts that take no time": {
        "departure before arrival": FROZEN | {"switch.departure_first": True},
        "arrival before departure": FROZEN | {"switch.departure_first": False},
    },
    "framing": {"none": {"link.framing": "none"}},
    "congestion control": {
        "NewReno": {"tcp.congestion_control": "newreno"},
        "CUBIC": {"tcp.congestion_control": "cubic"},
    },
    "stack": {
        "linux-3.0": {"tcp.stack": "linux-3.0"},
        "linux-6": {"tcp.stack": "linux-6"},
        "linux-6, CUBIC": {"tcp.stack": "linux-6", "tcp.congestion_control": "cubic"},
        "ns2": {"tcp": {"stack": "ns2", "rto_min": "2ms"}},
        "rfc": {"tcp": {"stack": "rfc", "rto_min": "2ms"}},
    },
}


def main(arguments: Sequence[str]) -> int:
    """Runs and prints every row; renews the page at the end."""
    given = options("sensitivity", __doc__, arguments, seeds=20)
    rows = []
    for parameter, values in PARAMETERS.items():
        for value, overrides in values.items():
            rows.append([parameter, value, *measured(overrides, given.seeds)])
            print(" | ".join(rows[-1]), flush=True)
    heads = ["parameter", "value", "2-hop", "4-hop", "6-hop", "ratio 2-hop to 6-hop", "its range"]
    heads += ["Jain index", "all", "timeouts", "mean RTT 2-hop, 6-hop", "flows at zero"]
    text = f"Medians over {len(given.seeds)} seeds; goodput in Mbit/s, RTT in ms."
    given.publish("validation/sensitivity.md", "sensitivity", f"{text}\n\n{table(heads, rows)}")
    return 0


def measured(overrides: Mapping[str, Any], seeds: range) -> list[str]:
    """The row's figures."""
    scenario = fp.scenario("outcast").patch(dict(overrides))
    results = list(fp.run_many(scenario, seeds, jobs=os.cpu_count() or 1))
    summaries = [result.summary for result in results]
    goodputs = [_median(of_class(summaries, name, "goodput_bps_mean")) / 1e6 for name in CLASSES]
    ratios = sorted(of_class(summaries, "2-hop", "throughput_ratio"))
    rtts = [_median(of_class(summaries, name, "rtt_mean_s")) * 1e3 for name in ("2-hop", "6-hop")]
    # a flow that delivers less than one segment per second has stalled
    zeros = [int((result.flows["goodput_bps"] < 8 * 1448).sum()) for result in results]
    timeouts = [
        sum(one["timeouts"] for one in summary["classes"].values()) for summary in summaries
    ]
    return [
        *(f"{goodput:.1f}" for goodput in goodputs),
        _ratio(_median(ratios)),
        f"{_ratio(ratios[0])} to {_ratio(ratios[-1])}" if ratios else "",
        f"{_median([summary['jain_index'] or 0.0 for summary in summaries]):.3f}",
        f"{_median([summary['goodput_bps_total'] for summary in summaries]) / 1e6:.0f}",
        f"{_median(timeouts):.0f}",
        ", ".join(f"{rtt:.2f}" for rtt in rtts),
        f"{sum(zeros)} in {counted(sum(zero > 0 for zero in zeros), 'run')}"
        if any(zeros)
        else "none",
    ]


def of_class(summaries: Sequence[Mapping[str, Any]], name: str, key: str) -> list[float]:
    """A figure of a hop class in every run that has it."""
    values = [summary["classes"][name][key] for summary in summaries]
    return [value for value in values if value is not None]


def _ratio(value: float) -> str:
    """Two digits from 10 on: a flow that got next to nothing makes any ratio."""
    return f"{value:.2f}" if not value >= 10 else f"{float(f'{value:.2g}'):,.0f}"


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")
