"""Simulation beside real Linux: the table of docs/validation/simulation-and-linux.md.

    sudo .venv/bin/python -m validation linux --only "11 packets, n = 12"

runs one scenario with both (`fairport validate`) and keeps what came out in `beside_linux`; without
`--only` it runs those that are not kept yet. Nothing else may run on the machine meanwhile.
`--again` simulates what is kept once more, with the times that hosts took in those runs on Linux,
after a change of the model. The table is made of all that is kept. In rows "awake" no processor of
this machine halts during the runs on Linux.
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fairport as fp
from fairport.errors import InputError
from fairport.record import Record
from fairport.scenario import parse
from fairport.scenario.host_profile import HostProfile
from fairport.study.comparison.metrics import Groups, metrics_of
from fairport.study.point_statistics import FEWEST_OF_AN_INTERVAL, median_interval
from fairport.study.validate import simulated, validate
from fairport.study.validation import LINUX, SIMULATION, Validation, agrees

from validation import DOCS
from validation.case import parser_of
from validation.markdown import between_markers, table

KEPT = Path(__file__).parent / "beside_linux"
# what the table shows of a run
_NUMBERS = ("lone_goodput_bps_mean", "peers_goodput_bps_mean", "throughput_ratio")

BASE: dict[str, Any] = {
    "name": "beside-linux",
    "duration": "6s",
    "topology": {"kind": "two-switch", "peers": 12},
    "link": {"rate": "100Mbps", "delay": "0s", "clock_error": "50ppm"},
    "switch": {"processing_delay": "1us"},
    "queue": {"kind": "drop-tail", "limit": "11 packets"},
    # two ticks of HZ = 250: a kernel with that HZ has no shorter timeout
    "tcp": {"stack": "linux-6", "rto_min": "8ms"},
    "traffic": [{"kind": "bulk", "from": "all", "to": "h0", "start_jitter": "10ms"}],
    "measure": {"from": "1s"},
}
DCTCP = {"kind": "step-marking", "limit": "100 packets", "mark_above": "20 packets"}
# the title of each row -> its overrides of the base
SCENARIOS: dict[str, dict[str, Any]] = {
    "11 packets, n = 2": {"topology.peers": 2},
    "11 packets, n = 6": {"topology.peers": 6},
    "11 packets, n = 12": {},
    "128 KB, n = 6": {"topology.peers": 6, "queue.limit": "128KB"},
    "128 KB, n = 12": {"queue.limit": "128KB"},
    "RED of 30 packets, n = 12": {"queue": {"kind": "red", "limit": "30 packets"}},
    "SFQ, n = 12": {"queue": {"kind": "sfq"}},
    "DCTCP, K = 20, n = 6": {
        "topology.peers": 6,
        "queue": DCTCP,
        "tcp.congestion_control": "dctcp",
    },
    "fat-tree, 15 to 1, 11 packets": {"topology": {"kind": "fat-tree", "k": 4}},
    "fat-tree, 15 to 1, 1 Gbit/s, 16 KiB": {
        "topology": {"kind": "fat-tree", "k": 4},
        "link.rate": "1Gbps",
        "queue.limit": "16KiB",
    },
    # the simulated hosts have adapters
    "11 packets, n = 6, jitter of 40 us": {"topology.peers": 6, "host.jitter": "40us"},
    "11 packets, n = 12, jitter of 40 us": {"host.jitter": "40us"},
    "fat-tree, 15 to 1, 1 Gbit/s, 16 KiB, jitter of 60 us": {
        "topology": {"kind": "fat-tree", "k": 4},
        "link.rate": "1Gbps",
        "queue.limit": "16KiB",
        "host.jitter": "60us",
    },
}
# the same while the machine's processors do not halt
AWAKE = ", awake"
for _name in ("11 packets, n = 6", "11 packets, n = 12", "fat-tree, 15 to 1, 11 packets"):
    SCENARIOS[_name + AWAKE] = SCENARIOS[_name]
RUNS = 5
# here the seed decides which side leads, and with which flows the lone flow shares its bucket
RUNS_OF = {
    name: 12 if "1 Gbit/s" in name else 20
    for name in SCENARIOS
    if any(part in name for part in ("11 packets", "SFQ", "128 KB, n = 12", "1 Gbit/s"))
}
# two modes: the share of runs in each is compared
_BISTABLE = {"11 packets, n = 2"}
_LEADS_APART = 0.3
DEFAULT = "default profile"


def main(arguments: Sequence[str]) -> int:
    """Runs the chosen rows, prints the table, and renews the page."""
    parser = parser_of("linux", __doc__)
    parser.add_argument("--only", choices=[*SCENARIOS], help="run this one, kept or not")
    parser.add_argument("--again", action="store_true", help="simulate what is kept again")
    parser.add_argument("--print-only", action="store_true", help="do not renew the page in docs/")
    given = parser.parse_args(arguments)
    for name in [given.only] if given.only else SCENARIOS:
        if given.again:
            _simulate_again(name)
        elif given.only or not _file(name).exists():
            try:
                with _awake(name.endswith(AWAKE)):
                    _keep(name, validate(_scenario(name), repeat=RUNS_OF.get(name, RUNS)))
            except InputError as error:
                print(f"{name}: {error}", file=sys.stderr)
                _write(name, {"error": str(error)})
    text = _table()
    print(text)
    if not given.print_only:
        between_markers(DOCS / "validation/simulation-and-linux.md", "beside", text)
    return 0


@contextmanager
def _awake(is_wanted: bool) -> Iterator[None]:
    """No processor halts (Linux, admin-guide/pm/cpuidle.rst): it polls until it has work."""
    if not is_wanted:
        yield
        return
    # asks for a latency of 0 us for as long as the file is open
    with Path("/dev/cpu_dma_latency").open("wb", buffering=0) as latency:
        latency.write(bytes(4))
        yield


def _scenario(name: str) -> fp.Scenario:
    return fp.scenario(BASE).patch(SCENARIOS[name])


def _keep(name: str, found: Validation) -> None:
    """Both sides, and the simulation with the times that every Linux stack has by default."""
    _write(
        name,
        {
            "simulated": found.simulated.to_toml(),
            "groups": asdict(found.groups),
            "invalid": [dict(one) for one in found.invalid],
            **{
                side: found.runs.filter(side=side).select(_NUMBERS).to_dicts()
                for side in (LINUX, SIMULATION)
            },
            DEFAULT: _runs(_with_default(found.simulated), found.groups, len(found.seeds)),
        },
    )


def _simulate_again(name: str) -> None:
    kept = _kept(name)
    if kept is None or "error" in kept:
        return
    before, groups = parse(kept["simulated"], file=str(_file(name))), Groups(**kept["groups"])
    profile = before.host.profile
    assert isinstance(profile, HostProfile)  # written by `simulated`
    scenario = simulated(_scenario(name), profile)
    again = {SIMULATION: scenario, DEFAULT: _with_default(scenario)}
    seeds = len(kept[SIMULATION])
    sides = {side: _runs(one, groups, seeds) for side, one in again.items()}
    _write(name, kept | {"simulated": scenario.to_toml()} | sides)


def _with_default(scenario: fp.Scenario) -> fp.Scenario:
    """The same with the default host times of its stack, and with the same adapters."""
    return scenario.patch({"host": scenario.host.beside_measured()})


def _runs(scenario: fp.Scenario, groups: Groups, seeds: int) -> list[dict[str, Any]]:
    results = fp.run_many(scenario, range(1, seeds + 1), jobs=os.cpu_count() or 1)
    metrics = [metrics_of(Record.of(result), groups) for result in results]
    return [{name: of_run[name] for name in _NUMBERS} for of_run in metrics]


def _file(name: str) -> Path:
    return KEPT / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.json"


def _write(name: str, content: Mapping[str, Any]) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    _file(name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _kept(name: str) -> dict[str, Any] | None:
    if not _file(name).exists():
        return None
    kept: dict[str, Any] = json.loads(_file(name).read_text(encoding="utf-8"))
    return kept


def _table() -> str:
    heads = ["what", "lone flow, Linux", "simulated, times of these runs", "simulated, default"]
    heads += ["ratio: Linux, simulated, default", "peers: the same", "agree"]
    rows = []
    for name in SCENARIOS:
        kept = _kept(name)
        if kept is not None:
            rows.append([name, *_cells(name, kept)])
    return table(heads, rows)


def _cells(name: str, kept: Mapping[str, Any]) -> list[str]:
    if "error" in kept:
        return ["no run", *[""] * 5]
    # the default profile was measured on processors that halt
    given = (LINUX, SIMULATION) if name.endswith(AWAKE) else (LINUX, SIMULATION, DEFAULT)
    sides = [kept[side] for side in given]
    lone = [_spread([row["lone_goodput_bps_mean"] / 1e6 for row in side]) for side in sides]
    lone[0] += f", {len(sides[0])} {'run' if len(sides[0]) == 1 else 'runs'}"
    ratios = [_values(side, "throughput_ratio") for side in sides]
    peers = [_values(side, "peers_goodput_bps_mean") for side in sides]
    leads = [_share_of_leads(side) for side in sides]
    others = range(1, len(sides))
    if name in _BISTABLE:
        near = [abs(leads[at] - leads[0]) <= _LEADS_APART for at in others]
        lone = [f"{cell}, leads in {share:.0%}" for cell, share in zip(lone, leads, strict=True)]
    else:
        ratio, mean = ([statistics.median(side) for side in of] for of in (ratios, peers))
        near = [agrees((ratio[at], ratio[0]), (mean[at], mean[0])) for at in others]
    agree = ["yes" if one else "**no**" for one in near]
    return [
        *lone,
        *[""] * (3 - len(lone)),
        ", ".join(_middle(side, ".2f") for side in ratios),
        ", ".join(_middle([1e-6 * mean for mean in side], ".3g") for side in peers),
        ", ".join(agree),
    ]


def _share_of_leads(side: Sequence[Mapping[str, float]]) -> float:
    """The runs in which the lone flow has more than its peers' mean."""
    return statistics.mean(
        row["lone_goodput_bps_mean"] > row["peers_goodput_bps_mean"] for row in side
    )


def _values(side: Sequence[Mapping[str, float | None]], key: str) -> list[float]:
    # no ratio: the peers got nothing
    return [math.inf if value is None else value for value in (row[key] for row in side)]


def _spread(values: Sequence[float]) -> str:
    return f"{_short(min(values), '.2g')} to {max(values):.3g}, median {_middle(values, '.2g')}"


def _short(value: float, form: str) -> str:
    """The number in this form, but without a power of ten."""
    text = f"{value:{form}}"
    return f"{value:.0f}" if "e+" in text else text


def _middle(values: Sequence[float], form: str) -> str:
    """The median, and its 95 % interval in brackets, if there are enough values."""
    median = _short(statistics.median(values), form)
    if len(values) < FEWEST_OF_AN_INTERVAL:
        return median
    low, high = median_interval(values)
    return f"{median} ({_short(low, form)} to {_short(high, form)})"
