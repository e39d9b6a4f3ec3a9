"""Incast, and a short minimum RTO as its cure: goodput over the number of servers.

    python examples/incast.py --seeds 6 --picture incast.pdf --table incast.csv

A client reads 1 MB, split evenly over n servers, again and again. With the usual minimum RTO of
200 ms its goodput collapses (Phanishayee et al., FAST 2008), with 1 ms it does not (Vasudevan et
al., SIGCOMM 2009). The picture is for a column of 3.3 inches, and can be read without colours.
"""

from __future__ import annotations

import argparse

import fairport as fp
import matplotlib
import polars as pl
from matplotlib.figure import Figure

SERVERS = [1, 2, 4, 8, 16, 24, 32, 48]
LINES = {"1ms": ("o-", "0"), "200ms": ("s--", "0.45")}


def study(seeds: int, rounds: int, folder: str) -> pl.DataFrame:
    """One row per run of reads through a port with room for 21 full packets."""
    read = {"kind": "incast", "from": "all", "to": "h0", "total": "1MB"}
    base = {
        "name": "incast",
        "duration": f"{rounds}s",
        "topology": {"kind": "star"},
        "link": {"rate": "1Gbps", "delay": "20us"},
        "queue": {"limit": "32KiB"},
        "tcp": {"congestion_control": "newreno"},
        "traffic": [read | {"rounds": rounds, "connections": "persistent"}],
    }
    axes = {"topology.hosts": [1 + servers for servers in SERVERS], "tcp.rto_min": list(LINES)}
    keep = ["round_goodput_bps", "timeouts"]
    runs = fp.sweep(base, axes, seeds=seeds, keep=keep, folder=folder).to_polars()
    return runs.select(
        (pl.col("topology.hosts") - 1).alias("servers"),
        pl.col("tcp.rto_min").alias("rto_min"),
        "seed",
        (pl.col("round_goodput_bps") / 1e6).alias("goodput_mbps"),
        "timeouts",
    )


def draw(medians: pl.DataFrame) -> Figure:
    """A line through the medians of each minimum RTO, and the range of the seeds."""
    figure = Figure(figsize=(3.3, 2.1), layout="constrained")
    axes = figure.subplots()
    for rto_min, (line, grey) in LINES.items():
        at = medians.filter(rto_min=rto_min)
        axes.fill_between(
            at["servers"], at["least"], at["most"], color=grey, alpha=0.2, linewidth=0
        )
        label = f"minimum RTO {rto_min.replace('ms', ' ms')}"
        axes.plot(at["servers"], at["median"], line, color=grey, markersize=4, label=label)
    axes.set_xlabel("servers")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(0, 1000)
    axes.legend(frameon=False, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Runs everything, prints the medians, and writes the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each kind (default: 3)")
    parser.add_argument("--rounds", type=int, default=20, help="reads per run (default: 20)")
    parser.add_argument("--folder", default="incast-study", help="where the study goes")
    parser.add_argument("--picture", default="incast.pdf", help="a PDF, SVG or PNG")
    parser.add_argument("--table", default="incast.csv", help="one row per run, as CSV")
    options = parser.parse_args()
    runs = study(options.seeds, options.rounds, options.folder)
    runs.write_csv(options.table)
    goodput = pl.col("goodput_mbps")
    medians = (
        runs.group_by("servers", "rto_min")
        .agg(median=goodput.median(), least=goodput.min(), most=goodput.max())
        .sort("servers", "rto_min")
    )
    for servers, rto_min, median, least, most in medians.iter_rows():
        print(
            f"{servers:2} servers, {rto_min:>5}: {median:3.0f} Mbit/s ({least:.0f} to {most:.0f})"
        )
    # TrueType fonts, which publishers ask for, and letters of 8 pt
    with matplotlib.rc_context({"pdf.fonttype": 42, "font.size": 8}):
        draw(medians).savefig(options.picture, dpi=300)


if __name__ == "__main__":
    main()
