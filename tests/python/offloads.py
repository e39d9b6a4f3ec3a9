"""Captures as hosts with segmentation offloads take them: several segments in one packet."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_FILE_HEADER = 24
_ETHERNET = 14
_PUSH_AND_FIN = 0x09
_LONGEST_IP = 65_535


@dataclass(frozen=True)
class Offload:
    """Which segments become one packet, and when it is captured."""

    gap_ns: int
    """the most time between two of its segments"""
    most: int = 44
    """the most segments"""
    at_last: bool = False
    """it has the time of its last segment, as with GRO, and not of the first, as with TSO"""
    in_order: bool = False
    """a packet of another flow ends it, so that all packets keep their order"""


@dataclass
class _Packet:
    """Segments of a flow that were merged, or one."""

    time_ns: int
    last_ns: int
    frame: bytearray
    wire: int
    segment: int
    """the data of the first one"""
    count: int = 1

    @property
    def flow(self) -> bytes:
        return bytes(self.frame[26:38])

    @property
    def payload(self) -> int:
        return self.wire - _ETHERNET - 20 - (self.frame[46] >> 4) * 4

    def at(self, place: int, letter: str) -> int:
        """A number in the headers."""
        return int(struct.unpack_from(f">{letter}", self.frame, place)[0])

    def fits(self, one: _Packet, offload: Offload) -> bool:
        """Whether a segment can be added, by the rules of GRO."""
        options = slice(_ETHERNET + 40, _ETHERNET + 20 + (one.frame[46] >> 4) * 4)
        same = [slice(15, 16), slice(42, 47), options]
        return (
            0 < one.segment <= self.segment
            and self.payload == self.count * self.segment
            and not self.frame[47] & _PUSH_AND_FIN
            and one.frame[47] & ~_PUSH_AND_FIN == self.frame[47]
            and one.at(38, "I") == (self.at(38, "I") + self.payload) % 2**32
            and one.at(18, "H") == (self.at(18, "H") + self.count) % 2**16
            and all(self.frame[part] == one.frame[part] for part in same)
            and one.time_ns - self.last_ns <= offload.gap_ns
            and self.count < offload.most
            and self.wire + one.segment - _ETHERNET <= _LONGEST_IP
        )

    def add(self, one: _Packet) -> None:
        self.frame[47] |= one.frame[47]
        self.wire += one.segment
        self.count += 1
        self.last_ns = one.time_ns


def with_offload(file: Path, to: Path, offload: Offload) -> int:
    """A copy of a classic pcap in nanoseconds with merged segments; how many packets it has."""
    content = file.read_bytes()
    done: list[_Packet] = []
    newest: dict[bytes, _Packet] = {}
    at = _FILE_HEADER
    while at < len(content):
        second, part, kept, wire = struct.unpack_from("<4I", content, at)
        time_ns = second * 10**9 + part
        frame = bytearray(content[at + 16 : at + 16 + kept])
        at += 16 + kept
        one = _Packet(time_ns, time_ns, frame, wire, 0)
        one.segment = one.at(16, "H") - 20 - (frame[46] >> 4) * 4
        before = newest.get(one.flow)
        if before and before.fits(one, offload):
            before.add(one)
            continue
        if offload.in_order:
            newest.clear()
        newest[one.flow] = one
        done.append(one)
    if offload.at_last:
        done.sort(key=lambda one: one.last_ns)
    out = [content[:_FILE_HEADER]]
    for one in done:
        time_ns = one.last_ns if offload.at_last else one.time_ns
        if one.count > 1:
            struct.pack_into(">H", one.frame, 16, one.wire - _ETHERNET)
        out.append(struct.pack("<4I", *divmod(time_ns, 10**9), len(one.frame), one.wire))
        out.append(bytes(one.frame))
    to.write_bytes(b"".join(out))
    return len(done)
