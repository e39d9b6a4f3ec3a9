"""How irregular must hosts be for an outcast? Table and picture of docs/validation/linux.md.

    sudo .venv/bin/python -m validation irregular-hosts

One flow against twelve through two switches, as in the case `linux`. Every packet reaches its host
later by a random time, `host.jitter`, which comes on top of what real hosts take, and in the
simulation on top of the default profile. Nothing else may run on the machine meanwhile. What came
out on Linux is kept in `beside_linux`: `--again` simulates and draws beside that, as any user.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from pathlib import Path

import fairport as fp
from fairport.figures.drawing import style
from fairport.scenario import host_profile
from fairport.scenario.network import LINUX_PROFILE
from fairport.study.validate import simulated
from fairport.study.validation import LINUX, SIMULATION
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from validation import DOCS
from validation.case import options
from validation.clocks import spread
from validation.linux import BASE, KEPT
from validation.markdown import table

_ON_LINUX = KEPT / "irregular-hosts.json"
_SCENARIO = fp.scenario(BASE).patch({"duration": "5s", "tcp.rto_min": "10ms"})
JITTERS_US = (0, 5, 10, 20, 40, 60)
SIDES = (LINUX, SIMULATION)
# a lone flow that gets nothing is drawn at the edge of a logarithmic scale
_LEAST_DRAWN = 0.003
_LOOKS = {LINUX: (style.BLUE, "o"), SIMULATION: (style.ORANGE, "s")}
# the points of the two sides are drawn left and right of their jitter, in us
_ASIDE_US = {LINUX: -0.6, SIMULATION: 0.6}

Ratios = dict[tuple[str, int], list[float]]


def main(arguments: Sequence[str]) -> int:
    """Runs everything, prints each row as it comes, and renews table and picture at the end."""
    again = "only simulate, beside the runs on Linux that are kept"
    given = options("irregular-hosts", __doc__, arguments, seeds=10, again=again)
    kept = json.loads(_ON_LINUX.read_text(encoding="utf-8")) if given.again else {}
    ratios: Ratios = {}
    rows: list[list[str]] = []
    for us in JITTERS_US:
        row = [f"U(0, {us} us)" if us else "none"]
        for side in SIDES:
            if side == LINUX and given.again:
                runs = kept[str(us)]
            else:
                runs = ratios_of(side, _SCENARIO.patch({"host.jitter": f"{us}us"}), given.seeds)
            ratios[side, us] = runs
            row.append(f"{spread(runs)}, {len(runs)} runs")
        print(*row, sep="; ", flush=True)
        rows.append(row)
    heads = ["jitter of hosts", "lone flow over its peers' mean: Linux", "simulated"]
    text = table(heads, rows)
    print(text)
    given.publish("validation/linux.md", "irregular", text)
    if not given.print_only:
        found = {us: ratios[LINUX, us] for us in JITTERS_US}
        _ON_LINUX.write_text(json.dumps(found) + "\n", encoding="utf-8")
        _draw(ratios, DOCS / "images" / "irregular-hosts.png")
    return 0


def ratios_of(side: str, scenario: fp.Scenario, seeds: Sequence[int]) -> list[float]:
    """The lone flow's goodput over its peers' mean, in each valid run."""
    if side == LINUX:
        results = fp.run_many(scenario, seeds, backend=LINUX)
    else:
        like_here = simulated(scenario, host_profile.find(LINUX_PROFILE))
        results = fp.run_many(like_here, seeds, jobs=os.cpu_count() or 1)
    classes = [one.summary["classes"] for one in results if one.summary["valid"]]
    ratios = [of["2-hop"]["throughput_ratio"] for of in classes]
    # none: the peers got nothing
    return [math.inf if ratio is None else ratio for ratio in ratios]


def _draw(ratios: Ratios, path: Path) -> None:
    with style.applied():
        figure = Figure(figsize=(style.WIDTH_IN, 3.2), layout="constrained")
        axes = figure.subplots()
        for side in SIDES:
            colour, marker = _LOOKS[side]
            where = [us + _ASIDE_US[side] for us in JITTERS_US]
            of_side = [ratios[side, us] for us in JITTERS_US]
            for at, runs in zip(where, of_side, strict=True):
                drawn = [max(_LEAST_DRAWN, one) for one in runs]
                axes.plot([at] * len(runs), drawn, marker, color=colour, alpha=0.35, markersize=4)
            medians = [statistics.median(runs) if runs else float("nan") for runs in of_side]
            release = ".".join(os.uname().release.split(".")[:2])
            name = f"real Linux {release}" if side == LINUX else "simulated, default profile"
            axes.plot(where, medians, marker, color=colour, linestyle="-", label=f"{name}: median")
        style.fair_share(axes, 1.0)
        style.label_line(axes, "as much as a peer", 1.0)
        axes.set_yscale("log")
        axes.set_ylim(top=10 * max(1.0, axes.get_ylim()[1]))  # room for the legend
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_ylabel("goodput of the lone flow\nover its peers' mean")
        axes.set_xticks(JITTERS_US)
        axes.set_xlabel("largest random delay of a packet before its host (µs)")
        axes.set_title("1 against 12 at 100 Mbit/s: hosts decide who starves", loc="left")
        axes.legend(loc="upper right", frameon=False)
        style.save(figure, path)
