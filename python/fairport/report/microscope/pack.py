"""Packets in a form that a page can read quickly: blocks of columns, and counts in bins.

A block is 65,536 packets, compressed: the columns one after the other, little-endian, first those
of 32 bits, then of 16, then of 8. Times are differences in ns from the previous packet; the first
is 0, and its time is in the document.

A level counts, for bins of one width, the packets of each fate by group: an ingress port and one
of the flows with most packets, or all other flows together. Each level has bins four times as wide
as the one before. Beside the counts are the least and the greatest queue of each bin.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

FATES = ("forwarded", "marked", "dropped", "waiting")
BLOCK_PACKETS = 65_536
NO_WAIT = 2**32 - 1
# A difference of times must fit into 32 bits.
_LONGEST_GAP_NS = 4_000_000_000
# Packets per bin of the finest level, on average.
_BIN_PACKETS = 64
_FEWEST_BINS, _MOST_BINS = 1024, 2**18
# Number of ingress ports that are shown until others are chosen: those with most packets.
_SHOWN_LANES = 12
# Number of flows whose packets are counted separately in the levels.
_MOST_GROUPED_FLOWS = 16


@dataclass(frozen=True, slots=True)
class Packed:
    """The contents of a page."""

    document: dict[str, Any]
    """The directory: lanes, flows, reasons, blocks, levels. Blocks are given by number in
    `blocks`."""
    blocks: list[bytes]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The packets as arrays, with numbers instead of names."""

    time_ns: NDArray[np.int64]
    wait_ns: NDArray[np.uint32]
    seq: NDArray[np.uint32]
    flow: NDArray[np.uint32]
    queue_bytes: NDArray[np.uint32]
    size_bytes: NDArray[np.uint16]
    lane: NDArray[np.uint16]
    fate: NDArray[np.uint8]
    reason: NDArray[np.uint8]


def pack(packets: pl.DataFrame, flows: pl.DataFrame, duration_s: float) -> Packed:
    """Packs packets in order of time; `flows` are the flows to which they belong."""
    lanes = packets["ingress_port"].unique().sort().to_list()
    reasons = packets["reason"].drop_nulls().unique().sort().to_list()
    columns = _columns(packets, lanes, flows["flow"].to_list(), reasons)
    end_ns = max(duration_s * 1e9, float(columns.time_ns[-1]) + 1)
    blocks: list[bytes] = []
    document: dict[str, Any] = {
        "end": end_ns,
        "packets": packets.height,
        "fates": list(FATES),
        "reasons": reasons,
        "lanes": _lanes(packets, lanes),
        "shown": _shown(columns, len(lanes)),
        "flows": flows.select("flow", "src", "dst", "hops", "packets", "dropped").to_dicts(),
        "blocks": _blocks(columns, blocks),
    }
    groups = _groups(columns, len(lanes), document["flows"])
    document["groups"] = [{"lane": lane, "flow": flow} for lane, flow in groups]
    document["levels"] = _levels(columns, groups, end_ns, blocks)
    return Packed(document, blocks)


def _lanes(packets: pl.DataFrame, lanes: list[str]) -> list[dict[str, Any]]:
    counts = packets.group_by("ingress_port").agg(
        packets=pl.len(), dropped=(pl.col("fate") == "dropped").sum()
    )
    return counts.rename({"ingress_port": "name"}).sort("name").to_dicts() if lanes else []


def _shown(columns: _Columns, lanes: int) -> list[int]:
    """The lanes with most packets, in order."""
    counts = np.bincount(columns.lane, minlength=lanes)
    most = np.argsort(-counts, kind="stable")[:_SHOWN_LANES]
    return sorted(int(lane) for lane in most)


def _columns(
    packets: pl.DataFrame, lanes: list[str], flows: list[int], reasons: list[str]
) -> _Columns:
    def numbers(column: str, names: list[Any], dtype: Any) -> NDArray[Any]:
        known = {name: number for number, name in enumerate(names)}
        return (
            packets[column].replace_strict(known, default=255, return_dtype=pl.UInt32).to_numpy()
        ).astype(dtype)

    time_ns = (packets["time_s"] * 1e9).round().cast(pl.Int64)
    wait = ((packets["depart_s"] - packets["time_s"]) * 1e9).round()
    return _Columns(
        time_ns=time_ns.to_numpy(),
        wait_ns=wait.fill_null(NO_WAIT).clip(0, NO_WAIT).cast(pl.UInt32).to_numpy(),
        seq=packets["seq"].to_numpy(),
        flow=numbers("flow", flows, np.uint32),
        queue_bytes=packets["queue_bytes"].clip(0, NO_WAIT).cast(pl.UInt32).to_numpy(),
        size_bytes=packets["size_bytes"].clip(0, 65_535).cast(pl.UInt16).to_numpy(),
        lane=numbers("ingress_port", lanes, np.uint16),
        fate=numbers("fate", list(FATES), np.uint8),
        reason=numbers("reason", reasons, np.uint8),
    )


def _blocks(columns: _Columns, blocks: list[bytes]) -> list[dict[str, Any]]:
    """Adds the blocks of packets; returns where each begins and ends."""
    times = columns.time_ns
    jumps = np.flatnonzero(np.diff(times) > _LONGEST_GAP_NS) + 1
    edges = [0, *jumps.tolist(), len(times)]
    found = []
    for low, high in pairwise(edges):
        for first in range(low, high, BLOCK_PACKETS):
            part = slice(first, min(first + BLOCK_PACKETS, high))
            place = {"block": len(blocks), "first": first, "count": part.stop - part.start}
            found.append(place | {"from": int(times[first]), "to": int(times[part.stop - 1])})
            blocks.append(_block(columns, part))
    return found


def _block(columns: _Columns, part: slice) -> bytes:
    gaps = np.diff(columns.time_ns[part], prepend=columns.time_ns[part.start]).astype("<u4")
    words = (columns.wait_ns, columns.seq, columns.flow, columns.queue_bytes)
    content = [gaps.tobytes(), *(column[part].astype("<u4").tobytes() for column in words)]
    halves = (columns.size_bytes, columns.lane)
    content += [column[part].astype("<u2").tobytes() for column in halves]
    content += [column[part].tobytes() for column in (columns.fate, columns.reason)]
    return _compressed(b"".join(content))


def _groups(
    columns: _Columns, lanes: int, flows: list[dict[str, Any]]
) -> list[tuple[int, int | None]]:
    """The groups that are counted separately: lane and flow (place in the list; None: others)."""
    most = sorted(range(len(flows)), key=lambda flow: -flows[flow]["packets"])
    single = np.zeros(len(flows), dtype=bool)
    single[most[:_MOST_GROUPED_FLOWS]] = True
    pair = columns.lane.astype(np.int64) * len(flows) + columns.flow
    pairs = [divmod(int(one), len(flows)) for one in np.unique(pair)]
    found: list[tuple[int, int | None]] = [(lane, flow) for lane, flow in pairs if single[flow]]
    return found + [(lane, None) for lane in range(lanes)]


def _levels(
    columns: _Columns,
    groups: list[tuple[int, int | None]],
    end_ns: float,
    blocks: list[bytes],
) -> list[dict[str, Any]]:
    """Adds the levels' blocks, the finest first; returns each level's number of bins and block."""
    wanted = max(len(columns.time_ns) // _BIN_PACKETS, 1)
    bins = int(np.clip(2 ** int(np.ceil(np.log2(wanted))), _FEWEST_BINS, _MOST_BINS))
    # the number of a group, by lane and flow
    shape = (int(columns.lane.max()) + 1, int(columns.flow.max()) + 1)
    number = np.empty(shape, dtype=np.int64)
    for index, (lane, flow) in reversed(list(enumerate(groups))):
        number[lane, slice(None) if flow is None else flow] = index
    group = number[columns.lane, columns.flow]
    place = np.minimum((columns.time_ns * (bins / end_ns)).astype(np.int64), bins - 1)
    fate = np.array([0, 1, 2, 0])[columns.fate]
    rows = (group * 3 + fate) * bins + place
    counts = np.bincount(rows, minlength=len(groups) * 3 * bins).reshape(len(groups) * 3, bins)
    least = np.full(bins, NO_WAIT, dtype=np.uint32)
    most = np.zeros(bins, dtype=np.uint32)
    np.minimum.at(least, place, columns.queue_bytes)
    np.maximum.at(most, place, columns.queue_bytes)
    levels = []
    while True:
        levels.append({"bins": bins, "block": len(blocks)})
        content = [counts.astype("<u4"), least.astype("<u4"), most.astype("<u4")]
        blocks.append(_compressed(b"".join(part.tobytes() for part in content)))
        if bins <= _FEWEST_BINS:
            return levels
        bins //= 4
        counts = counts.reshape(-1, bins, 4).sum(axis=2)
        least = least.reshape(bins, 4).min(axis=1)
        most = most.reshape(bins, 4).max(axis=1)


def _compressed(content: bytes) -> bytes:
    """Compresses without a timestamp, so that the same content gives the same bytes."""
    return gzip.compress(content, compresslevel=6, mtime=0)
