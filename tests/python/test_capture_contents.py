"""Captures with more than TCP in Ethernet: labels, tunnels, other protocols."""

from __future__ import annotations

import struct
from pathlib import Path

import fairport as fp
import pytest
from captures import Change, as_tcpdump_writes, captured, reframed
from conftest import Command
from fairport.backends.captures import CaptureError, analyse

SCENARIO = {
    "name": "contents",
    "duration": "200ms",
    "topology": {"kind": "star", "hosts": 4},
    "link": {"rate": "1Gbps"},
    "queue": {"kind": "drop-tail", "limit": "16KiB"},
    "traffic": [{"from": "all", "to": "h0", "size": "2MB"}],
}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both sides of the receiver's port, as tcpdump writes them."""
    folder = tmp_path_factory.mktemp("contents")
    of_run = captured(fp.scenario(SCENARIO), ["s0:0"], folder / "run")
    for side in ("ingress", "egress"):
        as_tcpdump_writes(of_run.file(side), folder / f"{side}.pcap")
    return folder / "ingress.pcap", folder / "egress.pcap"


def labelled(frame: bytes, wire: int) -> tuple[bytes, int]:
    """With two labels of MPLS, as on a link between routers."""
    stack = struct.pack(">2I", 100 << 12 | 64, 101 << 12 | 1 << 8 | 64)
    return frame[:12] + b"\x88\x47" + stack + frame[14:], wire + 8


def mirrored(frame: bytes, wire: int) -> tuple[bytes, int]:
    """In ERSPAN, as a switch sends what it mirrors."""
    outer = struct.pack(">BBHHHBBH8x", 0x45, 0, 36 + wire, 1, 0, 64, 47, 0)
    between = struct.pack(">HHI8x", 0x1000, 0x88BE, 1)
    return bytes(12) + b"\x08\x00" + outer + between + frame, 50 + wire


def is_chosen(frame: bytes) -> bool:
    """One packet in a dozen, the same ones on both sides."""
    return int.from_bytes(frame[18:20], "big") % 12 == 0


def some_arp(frame: bytes, wire: int) -> tuple[bytes, int]:
    """Some ARP among the rest."""
    return (frame[:12] + b"\x08\x06" + frame[14:] if is_chosen(frame) else frame), wire


def some_cut_off(frame: bytes, wire: int) -> tuple[bytes, int]:
    """Some without TCP's header."""
    return (frame[:40] if is_chosen(frame) else frame), wire


def few_fragments(frame: bytes, wire: int) -> tuple[bytes, int]:
    """Few later fragments."""
    is_one = int.from_bytes(frame[18:20], "big") % 144 == 0
    return (frame[:20] + b"\x00\xb9" + frame[22:] if is_one else frame), wire


def changed(sides: tuple[Path, Path], folder: Path, change: Change) -> list[str]:
    for file in sides:
        reframed(file, folder / file.name, change)
    return [str(folder / file.name) for file in sides]


def test_labels_do_not_hide_the_packets(sides: tuple[Path, Path], tmp_path: Path) -> None:
    plain = analyse([str(file) for file in sides])
    found = analyse(changed(sides, tmp_path, labelled))
    assert plain.drops.height > 10
    columns = ["time_s", "port", "flow", "seq", "port_arrival"]
    assert found.drops.select(columns).equals(plain.drops.select(columns))


def test_what_a_switch_mirrors_is_found_in_its_tunnel(
    sides: tuple[Path, Path], tmp_path: Path
) -> None:
    files = changed(sides, tmp_path, mirrored)
    with pytest.raises(CaptureError, match=r"holds no TCP or UDP .*\(\d+ GRE\)") as refused:
        analyse(files)
    assert "--tunnels" in str(refused.value.remedy)
    plain = analyse([str(file) for file in sides])
    assert analyse(files, tunnels=True).drops.height == plain.drops.height


def test_what_is_left_out_is_said_with_its_kind(sides: tuple[Path, Path], tmp_path: Path) -> None:
    files = changed(sides, tmp_path, some_arp)
    captures = analyse(files).summary["captures"]  # type: ignore[typeddict-item]
    left_out = captures["files"][0]["unread"]
    assert left_out.keys() == {"ARP"}
    (said, _) = [note for note in captures["notes"] if "are left out" in note]
    assert f"{files[0]}: {left_out['ARP']} of" in said
    assert f"({left_out['ARP']} ARP)" in said


def test_headers_that_were_cut_off_are_said(sides: tuple[Path, Path], tmp_path: Path) -> None:
    cut = changed(sides, tmp_path, some_cut_off)
    notes = " ".join(analyse(cut).summary["captures"]["notes"])  # type: ignore[typeddict-item]
    assert "whose headers were cut off" in notes
    assert "-s 128" in notes


def test_fragments_are_said_however_few(sides: tuple[Path, Path], tmp_path: Path) -> None:
    captures = analyse(changed(sides, tmp_path, few_fragments)).summary["captures"]  # type: ignore[typeddict-item]
    file = captures["files"][0]
    assert 0 < file["unread"]["later fragments"] < file["packets"] / 50
    assert any("later fragments), and are left out" in note for note in captures["notes"])


def test_options_that_were_cut_off_are_said(sides: tuple[Path, Path], tmp_path: Path) -> None:
    cut = changed(sides, tmp_path, lambda frame, wire: (frame[:60], wire))
    notes = " ".join(analyse(cut).summary["captures"]["notes"])  # type: ignore[typeddict-item]
    assert "TCP's options were cut off" in notes
    whole = analyse([str(file) for file in sides]).summary["captures"]  # type: ignore[typeddict-item]
    assert "were cut off" not in " ".join(whole["notes"])


def test_what_the_capturing_host_lost_is_said(tmp_path: Path) -> None:
    of_run = captured(fp.scenario(SCENARIO), ["s0:0"], tmp_path / "run")
    file = of_run.file("egress")
    # statistics of its interface: 12 packets dropped by the system
    body = struct.pack("<3I2HQI", 0, 0, 0, 7, 8, 12, 0)
    block = struct.pack("<2I", 5, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))
    file.write_bytes(file.read_bytes() + block)
    notes = " ".join(analyse([str(file)]).summary["captures"]["notes"])  # type: ignore[typeddict-item]
    assert "the capturing host says that it lost 12 packets" in notes


def test_the_goodput_of_long_flows_that_ended_is_shown(
    fairport: Command, sides: tuple[Path, Path]
) -> None:
    shown = fairport("analyze", *map(str, sides))
    assert "Mbit/s" in shown.out
    assert "Jain index" in shown.out
    # the goodput of those that end first is a mean over a time in which they are over
    assert "ended before the measurement did, the first one at" in shown.out
    until = fairport("analyze", *map(str, sides), "--to", "0.015")
    assert "ended before the measurement" not in until.out


def test_a_connection_with_little_to_send_is_no_starved_flow(tmp_path: Path) -> None:
    asking = {
        "kind": "request-response", "clients": "h0", "servers": ["h1"], "connections": 1,
        "requests": 3, "request": "200B", "response": "2kB",
    }  # fmt: skip
    bulk = {"from": ["h2", "h3"], "to": "h0"}
    scenario = fp.scenario(SCENARIO | {"traffic": [bulk, asking], "duration": "100ms"})
    of_run = captured(scenario, ["s0:0"], tmp_path / "run")
    found = analyse([str(of_run.file("ingress")), str(of_run.file("egress"))])
    # it stays open, so that its end is not seen
    assert found.flows["size_bytes"].null_count() == 3
    assert found.flows.sort("src")["workload"].to_list() == ["short", "bulk", "bulk"]
    assert found.summary["classes"]["2-hop"]["flows"] == 2
