"""Captures for the tests: of runs about which everything is known, and files damaged on purpose."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fairport as fp
import polars as pl
from fairport import run_and_save
from fairport.backends.protocol import Observation
from fairport.storage import load_run

_ENHANCED_PACKET = 6


@dataclass(frozen=True)
class Captured:
    """A run, with captures of its bottleneck and of the ports by which the ACKs leave."""

    run: fp.Result
    folder: Path
    port: str

    @property
    def files(self) -> list[str]:
        """All captures."""
        return sorted(str(file) for file in (self.folder / "captures").iterdir())

    def file(self, side: str, port: str | None = None) -> Path:
        """The capture of a port's ingress or egress."""
        name = (port or self.port).replace(":", "-")
        return self.folder / "captures" / f"{name}.{side}.pcapng"

    def table(self, name: str) -> pl.DataFrame:
        """A table of the run at the captured port."""
        return self.run.tables[name].filter(port=self.port).drop("run_id")


def captured(
    scenario: fp.Scenario,
    ports: list[str],
    folder: Path,
    backend: str = "simulation",
    snap_bytes: int = 0,
) -> Captured:
    """Runs a scenario with captures at these ports; the first one is the bottleneck."""
    run_and_save.run(
        scenario,
        [scenario.seed],
        backend=backend,
        folder=folder,
        figures=False,
        observation=Observation(captures=ports, snap_bytes=snap_bytes),
    )
    return Captured(load_run(folder), folder, ports[0])


def by_run(found: fp.Result, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of the analysis with the flow numbers of the run, which its source ports give."""
    numbers = found.tables["conversations"].select(
        "flow", number=(pl.col("src_port") - 20_000).cast(pl.UInt32)
    )
    joined = frame.join(numbers, on="flow", maintain_order="left")
    return joined.with_columns(flow="number").drop("number", "run_id")


def blocks(content: bytes) -> list[bytes]:
    """The blocks of a pcapng file."""
    found, at = [], 0
    while at < len(content):
        length = struct.unpack_from("<I", content, at + 4)[0]
        found.append(content[at : at + length])
        at += length
    return found


def thinned(file: Path, share: float, to: Path, seed: int = 1) -> int:
    """A copy without this share of its packets, drawn at random; how many are gone."""
    draw = random.Random(seed)
    all_of_them = blocks(file.read_bytes())
    kept = [
        block
        for block in all_of_them
        if struct.unpack_from("<I", block)[0] != _ENHANCED_PACKET or draw.random() >= share
    ]
    to.write_bytes(b"".join(kept))
    return len(all_of_them) - len(kept)


def doubled(file: Path, to: Path, later_ns: int) -> int:
    """A copy with each packet twice, the second time `later_ns` later; how many there were."""
    head: list[bytes] = []
    packets: list[tuple[int, bytes]] = []
    for block in blocks(file.read_bytes()):
        if struct.unpack_from("<I", block)[0] != _ENHANCED_PACKET:
            head.append(block)
            continue
        high, low = struct.unpack_from("<2I", block, 12)
        first_ns = high << 32 | low
        for time_ns in first_ns, first_ns + later_ns:
            stamp = struct.pack("<2I", *divmod(time_ns, 1 << 32))
            packets.append((time_ns, block[:12] + stamp + block[20:]))
    packets.sort(key=lambda packet: packet[0])
    to.write_bytes(b"".join(head) + b"".join(block for _, block in packets))
    return len(packets) // 2


def merged(files: list[Path], to: Path) -> None:
    """One capture of these, each interface once more, without directions: as mergecap makes it."""
    announced: list[bytes] = []
    packets: list[tuple[int, bytes]] = []
    for file in files:
        section, *rest = blocks(file.read_bytes())
        first = len(announced)
        for block in rest:
            if struct.unpack_from("<I", block)[0] != _ENHANCED_PACKET:
                announced.append(block)
                continue
            interface, high, low, kept = struct.unpack_from("<4I", block, 8)
            end = 28 + kept + -kept % 4
            bare = struct.pack("<2I", _ENHANCED_PACKET, end + 4)
            bare += struct.pack("<I", first + interface) + block[12:end]
            packets.append((high << 32 | low, bare + struct.pack("<I", end + 4)))
    packets.sort(key=lambda packet: packet[0])
    to.write_bytes(b"".join([section, *announced, *(block for _, block in packets)]))


def delayed(file: Path, to: Path, by_ns: int, drift: float = 0.0) -> None:
    """A copy with the times of a clock that is ahead, and gains `drift` more per second."""
    late = []
    for block in blocks(file.read_bytes()):
        if struct.unpack_from("<I", block)[0] == _ENHANCED_PACKET:
            high, low = struct.unpack_from("<2I", block, 12)
            time_ns = high << 32 | low
            time_ns += by_ns + round(time_ns * drift)
            block = block[:12] + struct.pack("<2I", *divmod(time_ns, 1 << 32)) + block[20:]
        late.append(block)
    to.write_bytes(b"".join(late))


def as_tcpdump_writes(
    file: Path, to: Path, back: Path | None = None, interface: int | None = None
) -> None:
    """A capture as classic pcap, which does not say which way packets went.

    With `back`, the packets of that capture are in it, too: a port in both directions. With
    `interface`, those of the others are left out.
    """
    packets = []
    for one in [file, *([back] if back else [])]:
        for block in blocks(one.read_bytes()):
            if struct.unpack_from("<I", block)[0] == _ENHANCED_PACKET:
                place, high, low, kept, wire = struct.unpack_from("<5I", block, 8)
                if interface in (None, place):
                    packets.append((high << 32 | low, wire, block[28 : 28 + kept]))
    packets.sort(key=lambda packet: packet[0])
    out = [bytes.fromhex("4d3cb2a1020004000000000000000000ffff000001000000")]
    for time_ns, wire, frame in packets:
        # a run's clock begins at zero, that of tcpdump in 1970
        stamp = (1_700_000_000 + time_ns // 10**9, time_ns % 10**9)
        out.append(struct.pack("<4I", *stamp, len(frame), wire) + frame)
    to.write_bytes(b"".join(out))


Change = Callable[[bytes, int], "tuple[bytes, int]"]
"""A frame's captured bytes and its length on the wire, as they are and as they become."""


def reframed(file: Path, to: Path, change: Change) -> None:
    """A copy of a classic pcap with other frames."""
    content = file.read_bytes()
    out, at = [content[:24]], 24
    while at < len(content):
        second, part, kept, wire = struct.unpack_from("<4I", content, at)
        frame = content[at + 16 : at + 16 + kept]
        changed, length = change(frame, wire)
        out.append(struct.pack("<4I", second, part, len(changed), length) + changed)
        at += 16 + kept
    to.write_bytes(b"".join(out))
