"""The microscope as a page: one HTML file that opens without a network and holds every packet.

The file has the packets in compressed blocks of 65,536, which the page unpacks when it needs them.
For views with too many packets to draw one by one, it has counts of packets in bins of several
widths (`pack.py`). `data.js` reads them, `draw.js` draws one view, `page.js` moves it. No library
is used: the drawing consists of rectangles and lines over time, and no plotting library draws fates
in lanes.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import polars as pl

from fairport.microscope import Slide
from fairport.report import template
from fairport.report.microscope.pack import Packed, pack

SCRIPTS = ("data.js", "draw.js", "page.js")
STYLE = "page.css"
# Windows are drawn only for this many flows, those with most packets.
_MOST_WINDOWS = 64


def page(whole: Slide, near: Slide) -> str:
    """The page of a whole run, which opens at the focus; `near` has the packets there."""
    packed = pack(whole.packets, whole.flows, float(whole.result.manifest["simulated_s"]))
    script = "\n".join(template.read(f"microscope/{name}") for name in SCRIPTS)
    style = template.read(f"microscope/{STYLE}")
    focus = whole.focus
    return template.fill(
        "microscope.html",
        title=f"{whole.result.title}: every packet at {focus.port}",
        policy=f"default-src 'none'; script-src {template.policy_hash(script)};"
        f" style-src {template.policy_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        script=script,
        style=style,
        document=_as_script(_document(whole, near, packed)),
        blocks=[base64.b64encode(block).decode("ascii") for block in packed.blocks],
    )


def _document(whole: Slide, near: Slide, packed: Packed) -> dict[str, Any]:
    focus = whole.focus
    dark = [time * 1e9 for time in focus.dark_s] if focus.dark_s else None
    lanes = [lane["name"] for lane in packed.document["lanes"]]
    shown = set(packed.document["shown"])
    if focus.ingress_port in lanes:
        shown.add(lanes.index(focus.ingress_port))
    return packed.document | {
        "shown": sorted(shown),
        "port": focus.port,
        "run": whole.result.run_id,
        "focus": {
            "from": focus.from_s * 1e9,
            "to": focus.to_s * 1e9,
            "dark": dark,
            "why": focus.why,
            "flow": next(iter(near.concerned), None),
        },
        "windows": _windows(whole, near),
        "windowsName": "windows" if whole.windows_name == "window" else whole.windows_name,
    }


def _windows(whole: Slide, near: Slide) -> list[dict[str, Any]]:
    """Windows over time by flow, in the finer steps that were recorded near the focus."""
    from_s, to_s = near.focus.from_s, near.focus.to_s
    # including the last step before the focus, which extends into it
    before: Any = near.windows.filter(pl.col("time_s") <= from_s)["time_s"].max()
    inside = pl.col("time_s").is_between(from_s if before is None else before, to_s)
    rows = pl.concat([whole.windows.filter(~inside), near.windows.filter(inside)])
    most = whole.flows.sort("packets", "flow", descending=[True, False]).head(_MOST_WINDOWS)
    windows = []
    for flow in most["flow"].sort():
        samples = rows.filter(flow=flow).sort("time_s")
        # an unchanged window needs no second sample
        samples = samples.filter(pl.col("bytes").ne_missing(pl.col("bytes").shift(1)))
        if samples.height:
            times = (samples["time_s"] * 1e9).round().cast(pl.Int64).to_list()
            windows.append({"flow": flow, "time": times, "bytes": samples["bytes"].to_list()})
    return windows


def _as_script(document: Any) -> str:
    """JSON in which no text can end the script element."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
