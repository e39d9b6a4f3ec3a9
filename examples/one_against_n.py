"""One 2-hop flow against n 6-hop flows: the table and picture of docs/validation/one-against-n.md.

    python examples/one_against_n.py --seeds 20 --picture one-against-n.png

Prakash et al. (2012) saw parity at n = 2, about half at 6, and 1/6 to 1/8 at 12.
"""

from __future__ import annotations

import argparse
import os
import statistics

import fairport as fp
from matplotlib.figure import Figure

# The peers are spread evenly over the pods that are not the receiver's.
PEERS = {
    1: ["h4"],
    2: ["h4", "h8"],
    6: ["h4", "h6", "h8", "h10", "h12", "h14"],
    12: ["h4..h15"],
}
# each with what a reader of the picture knows it by
SCENARIOS = {"outcast": "the testbed's delays", "outcast-lan": "almost no delay"}
# Ratios above this are drawn at it: the lone flow has nearly everything.
MOST = 10


def ratios(scenario: str, peers: list[str], seeds: int, duration: str) -> list[float]:
    """The lone flow's goodput over the mean of its peers', one for each seed, sorted."""
    changed = fp.scenario(scenario).patch({"traffic.0.from": ["h1", *peers], "duration": duration})
    results = fp.run_many(changed, range(1, seeds + 1), jobs=os.cpu_count() or 1)
    found = [result.summary["classes"]["2-hop"]["throughput_ratio"] for result in results]
    return sorted(ratio for ratio in found if ratio is not None)


def draw(found: dict[str, dict[int, list[float]]]) -> Figure:
    """One dot per run, a line through the medians."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for (scenario, by_n), marker, color, beside in zip(
        found.items(), "os", ("#0072b2", "#d55e00"), (-0.06, 0.06), strict=True
    ):
        places = [place + beside for place in range(len(by_n))]
        for place, values in zip(places, by_n.values(), strict=True):
            shown = [min(value, MOST) for value in values]
            axes.plot([place] * len(shown), shown, marker, color=color, alpha=0.35, markersize=4)
        medians = [statistics.median(values) for values in by_n.values()]
        axes.plot(places, medians, marker=marker, color=color, label=SCENARIOS[scenario])
    axes.axhline(1, color="0.4", linestyle=":", label="an equal share")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(0, MOST * 1.15)
    axes.set_yticks([0, 0.1, 0.2, 0.5, 1, 2, 5, MOST])
    axes.set_yticklabels(["0", "0.1", "0.2", "0.5", "1", "2", "5", f"≥{MOST}"])
    axes.set_xticks(range(len(PEERS)), [f"1 against {n}" for n in PEERS])
    axes.set_ylabel("lone flow's goodput / peers' mean")
    axes.spines[["top", "right"]].set_visible(False)
    one, *_, twelve = (statistics.median(values) for values in found["outcast"].values())
    axes.set_title(
        f"The lone flow over its peers: {one:.1f} beside one, {twelve:.2f} beside twelve",
        loc="left",
        fontsize="medium",
        fontweight="bold",
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.set_xlabel("a dot: one seed; a line: the medians", fontsize="small", color="0.35")
    return figure


def main() -> None:
    """Runs everything, prints the table and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each kind (default: 5)")
    parser.add_argument("--duration", default="10s", help="simulated time per run (default: 10s)")
    parser.add_argument("--picture", default="one-against-n.png", help="where the picture goes")
    options = parser.parse_args()
    found: dict[str, dict[int, list[float]]] = {}
    for scenario in SCENARIOS:
        found[scenario] = {}
        for n, peers in PEERS.items():
            values = ratios(scenario, peers, options.seeds, options.duration)
            found[scenario][n] = values
            median = statistics.median(values)
            print(f"{scenario:12} 1:{n:<3} {median:6.2f}  ({values[0]:.2f} to {values[-1]:.2f})")
    draw(found).savefig(options.picture, dpi=150)
    print(f"The picture: {options.picture}")


if __name__ == "__main__":
    main()
