"""Captures as hosts with segmentation offloads take them: several segments in one record."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

_FILE_HEADER = 24
_ETHERNET = 14
_PUSH_AND_FIN = 0x09
# the longest IPv4 packet
_LONGEST = 65_535


@dataclass
class _Held:
    """A frame to which further segments may be added."""

    time_ns: int
    frame: bytearray
    wire: int
    payload: int
    segments: int = 1
    last_ns: int = 0
    is_over: bool = False
    place: int = field(default=0)


@dataclass(frozen=True)
class Offload:
    """Which segments become one record, and when it is written."""

    gap_ns: int = 50_000
    """the most time between two segments of a record"""
    most_segments: int = 44
    at_last: bool = False
    """as GRO, which hands over what it has collected; otherwise as TSO, with the first segment"""
    adjacent: bool = False
    """packets of other flows end a record, so that all packets keep their order"""


def with_offload(file: Path, to: Path, offload: Offload) -> int:
    """A copy of a classic pcap in nanoseconds with merged segments; how many segments are gone.

    The rules are those of GRO: equal acknowledgement, options, ECN codepoint and length, and
    identifications that count up. A shorter segment, PSH and FIN end a record.
    """
    content = file.read_bytes()
    done: list[_Held] = []
    open_: dict[bytes, _Held] = {}
    gone, at = 0, _FILE_HEADER
    while at < len(content):
        second, part, kept, wire = struct.unpack_from("<4I", content, at)
        frame = bytearray(content[at + 16 : at + 16 + kept])
        at += 16 + kept
        one = _Held(second * 10**9 + part, frame, wire, _payload(frame))
        one.last_ns = one.time_ns
        flow = bytes(frame[26:38])
        if offload.adjacent:
            open_ = {key: held for key, held in open_.items() if key == flow}
        held = open_.get(flow)
        if held is not None and _fits(held, one, offload):
            _add(held, one)
            gone += 1
        else:
            done.append(one)
            held = open_[flow] = one
        is_last = one.payload < held.payload // held.segments if held is not one else False
        if is_last or one.payload == 0 or frame[47] & (_PUSH_AND_FIN | 0x06):
            open_.pop(flow, None)
    if offload.at_last:
        done.sort(key=lambda one: one.last_ns)
    out = [content[:_FILE_HEADER]]
    for one in done:
        time_ns = one.last_ns if offload.at_last else one.time_ns
        frame = one.frame
        frame[16:18] = struct.pack(">H", one.wire - _ETHERNET)
        out.append(struct.pack("<4I", *divmod(time_ns, 10**9), len(frame), one.wire) + frame)
    to.write_bytes(b"".join(out))
    return gone


def _payload(frame: bytearray) -> int:
    total = struct.unpack_from(">H", frame, 16)[0]
    return int(total) - 20 - (frame[46] >> 4) * 4


def _fits(held: _Held, one: _Held, offload: Offload) -> bool:
    size = held.payload // held.segments
    ours, theirs = (struct.unpack_from(">H2x4xBBxxIIII", it.frame, 18) for it in (held, one))
    del ours, theirs
    seq, other = (struct.unpack_from(">I", it.frame, 38)[0] for it in (held, one))
    ident, next_ident = (struct.unpack_from(">H", it.frame, 18)[0] for it in (held, one))
    options = slice(_ETHERNET + 40, _ETHERNET + 20 + (one.frame[46] >> 4) * 4)
    return (
        0 < one.payload <= size
        and held.payload % held.segments == 0
        and held.segments < offload.most_segments
        and held.wire + one.payload - _ETHERNET <= _LONGEST
        and one.time_ns - held.last_ns <= offload.gap_ns
        and other == (seq + held.payload) % 2**32
        and (ident == next_ident == 0 or next_ident == (ident + held.segments) % 2**16)
        and held.frame[15] == one.frame[15]
        and held.frame[42:47] == one.frame[42:47]
        and held.frame[options] == one.frame[options]
        and (held.frame[47] ^ one.frame[47]) & ~_PUSH_AND_FIN == 0
    )


def _add(held: _Held, one: _Held) -> None:
    held.frame[47] |= one.frame[47]
    held.payload += one.payload
    held.wire += one.payload
    held.segments += 1
    held.last_ns = one.time_ns
