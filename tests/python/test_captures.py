"""Captures of a run's ports agree with the tables, also when other tools read them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from conftest import Command
from fairport.backends.observation import capture_files
from fairport.backends.protocol import BOTTLENECK, Observation
from fairport.errors import InputError
from fairport.result import Result
from fairport.scenario import Scenario

PORT = "edge0.0:0"


@dataclass(frozen=True)
class Packet:
    interface: str
    time_ns: int
    identification: int
    ttl: int
    source: bytes
    seq: int
    wire_bytes: int
    comment: str | None


def read(path: Path) -> list[Packet]:
    """The packets of TCP in a pcapng file of little-endian blocks."""
    content = path.read_bytes()
    interfaces: list[str] = []
    packets = []
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        body = content[at + 8 : at + length - 4]
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        at += length
        if kind == 1:
            interfaces.append(options(body[8:])[2].decode())
        elif kind == 6:
            number, high, low, kept, wire = struct.unpack_from("<5I", body)
            frame = body[20 : 20 + kept]
            found = options(body[20 + -(-kept // 4) * 4 :])
            packets.append(
                Packet(
                    interface=interfaces[number],
                    time_ns=high << 32 | low,
                    identification=int.from_bytes(frame[18:20], "big"),
                    ttl=frame[22],
                    source=frame[26:30],
                    seq=int.from_bytes(frame[38:42], "big"),
                    wire_bytes=wire,
                    comment=found[1].decode() if 1 in found else None,
                )
            )
    return packets


def options(body: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + -(-length // 4) * 4
    return found


@pytest.fixture(params=["drop-tail", "red", "sfq"])
def queue(request: pytest.FixtureRequest) -> dict[str, object]:
    return {
        "drop-tail": {},
        "red": {"queue": {"kind": "red", "limit": "32KiB", "min": "8KiB", "max": "24KiB"}},
        "sfq": {"queue": {"kind": "sfq", "limit": "20 packets"}},
    }[request.param]


def observed(scenario: Scenario, folder: Path, *ports: str) -> Result:
    observation = Observation(captures=ports, packets=ports, folder=lambda _: folder)
    return fp.run(scenario, observation=observation)


def test_captures_hold_every_packet_and_change_nothing(
    short: Scenario, queue: dict[str, object], tmp_path: Path
) -> None:
    scenario = short.patch(queue)
    result = observed(scenario, tmp_path, BOTTLENECK)
    assert result.fingerprint == fp.run(scenario).fingerprint
    ingress = read(tmp_path / "edge0.0-0.ingress.pcapng")
    egress = read(tmp_path / "edge0.0-0.egress.pcapng")
    (port,) = result.ports.filter(port=PORT).iter_rows(named=True)
    drops = result.drops.filter(port=PORT)

    dropped = [packet for packet in ingress if packet.comment is not None]
    assert len(dropped) == port["drops"] == drops.height > 0
    assert Counter(packet.comment for packet in dropped) == Counter(
        f"dropped: {reason}" for reason in drops["reason"]
    )
    rows = sorted(zip(drops["ingress_port"], drops["seq"], strict=True))
    assert sorted((packet.interface, packet.seq) for packet in dropped) == rows

    packets = result.packets
    assert packets["port"].unique().to_list() == [PORT]
    assert [packet.time_ns for packet in ingress] == pytest.approx(
        (packets["time_s"] * 1e9).to_list(), abs=1.5
    )
    assert [packet.interface for packet in ingress] == packets["ingress_port"].to_list()
    assert [packet.seq for packet in ingress] == packets["seq"].to_list()
    left = packets.filter(pl.col("depart_s").is_not_null()).sort("depart_s")
    assert [packet.seq for packet in egress] == left["seq"].to_list()
    assert set(packets.filter(fate="dropped")["reason"]) == set(drops["reason"])


def test_a_packet_keeps_its_identification_and_loses_a_hop_at_each_switch(
    short: Scenario, tmp_path: Path
) -> None:
    observed(short.patch({"duration": "50ms"}), tmp_path, "h5:0", PORT)
    sent = read(tmp_path / "h5-0.egress.pcapng")
    assert {packet.ttl for packet in sent} == {64}
    assert len({packet.identification for packet in sent}) == len(sent)
    arrived = [
        packet
        for packet in read(tmp_path / "edge0.0-0.ingress.pcapng")
        if packet.source == sent[0].source
    ]
    # from another pod: edge, aggregation, core, aggregation
    assert {packet.ttl for packet in arrived} == {60}
    known = {packet.identification: packet.seq for packet in sent}
    assert [known[packet.identification] for packet in arrived] == [one.seq for one in arrived]


def test_capture_all_writes_two_files_for_each_port(fairport: Command, tmp_path: Path) -> None:
    done = fairport(
        *("run", "outcast", "--duration", "20ms", "--capture-all", "--no-figures", "--quiet"),
        *("--out", str(tmp_path / "run"), "--repeat", "2", "--packets", "bottleneck"),
    )
    assert done.status == 0, done.err
    for seed in (1, 2):
        folder = tmp_path / "run" / f"seed-{seed}"
        assert len(list((folder / "captures").iterdir())) == 2 * (20 * 4 + 16)
        packets = pl.read_parquet(folder / "tables" / "packets.parquet")
        assert packets.height == len(read(folder / "captures" / "edge0.0-0.ingress.pcapng"))


def test_a_snap_length_keeps_data(short: Scenario, tmp_path: Path) -> None:
    observation = Observation(captures=(PORT,), snap_bytes=200, folder=lambda _: tmp_path)
    fp.run(short.patch({"duration": "20ms"}), observation=observation)
    content = (tmp_path / "edge0.0-0.ingress.pcapng").read_bytes()
    at, kept = 0, set()
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            kept.add(struct.unpack_from("<I", content, at + 20)[0])
        at += length
    # a SYN is 74 bytes, a full segment 1514
    assert kept == {74, 200}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pcap", "edge0.0:7"], '--pcap: "edge0.0:7" is not a port of this network'),
        (["--packets", "nothing"], '--packets: "nothing" is not a port of this network'),
        (["--pcap", "bottleneck", "--no-output"], "--pcap: needs a folder for the captures"),
        (["--capture-all", "--no-output"], "--capture-all: needs a folder for the captures"),
        (["--packets", "bottleneck", "--no-output"], "--packets: needs a folder for the table"),
        (["--csv", "--no-output"], "--csv: needs a folder for the tables"),
        (["--snaplen", "100"], "--snaplen: is about captures, and none is asked for"),
        (["--pcap", " ,"], '--pcap: " ," names no port'),
    ],
)
def test_what_cannot_be_captured_is_refused_before_the_run(
    fairport: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    out = [] if "--no-output" in arguments else ["--out", str(tmp_path / "run")]
    done = fairport("run", "outcast", *arguments, *out)
    assert done.status == 2
    assert said in done.err
    assert not (tmp_path / "run").exists()


def test_a_capture_that_cannot_be_written_is_an_error(short: Scenario, tmp_path: Path) -> None:
    (tmp_path / capture_files(PORT)[0]).mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        observed(short, tmp_path, PORT)


def test_every_port_has_captures_of_its_own_whatever_its_nodes_name_is() -> None:
    assert capture_files("edge0.0:2")[0] == "edge0.0-2.ingress.pcapng"
    ports = [f"{node}:{port}" for node in ("x/1", "x-1", "x 1", "x:1", "x%2F1") for port in (0, 11)]
    files = {name for port in ports for name in capture_files(port)}
    assert len(files) == 2 * len(ports)
    assert all(re.fullmatch(r"[\w.%-]+", name) for name in files)


def test_queues_of_the_kernel_write_no_captures() -> None:
    pytest.importorskip("pyroute2")
    scenario = fp.scenario("two-switch").patch(
        {
            "link.rate": "100Mbps",
            "queue": {"kind": "drop-tail", "limit": "16KiB", "implementation": "tc"},
        }
    )
    observation = Observation(captures=(BOTTLENECK,), folder=lambda _: Path())
    with pytest.raises(InputError, match="no captures of the kernel's queues"):
        fp.run(scenario, backend="linux", observation=observation)


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (apt install tshark tcptrace)")
    return found


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def finite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Every flow of outcast sends 150 kB and ends: whole segments of data, and all packets left."""
    folder = tmp_path_factory.mktemp("captures")
    scenario = fp.scenario("outcast").patch({"duration": "4s", "traffic.0.size": "150kB"})
    result = observed(scenario, folder, "h1:0", "h9:0", BOTTLENECK)
    assert result.flows["end_s"].is_not_null().all()
    return result, folder


def test_tshark_finds_no_malformed_packet_and_no_bad_checksum(finite: tuple[Result, Path]) -> None:
    _, folder = finite
    for path in folder.iterdir():
        fields = output(
            *(tool("tshark"), "-r", str(path), "-T", "fields"),
            *("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"),
            *("-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "_ws.malformed"),
        )
        lines = Counter(fields.splitlines())
        # 1: good; a TCP checksum of a frame that is not whole cannot be verified (2)
        assert lines
        assert set(lines) <= {"1\t1\t", "1\t2\t"}


def test_whole_frames_have_good_checksums(short: Scenario, tmp_path: Path) -> None:
    observation = Observation(captures=(PORT,), snap_bytes=65_535, folder=lambda _: tmp_path)
    fp.run(short.patch({"duration": "30ms"}), observation=observation)
    fields = output(
        *(tool("tshark"), "-r", str(tmp_path / "edge0.0-0.egress.pcapng"), "-T", "fields"),
        *("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"),
        *("-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "_ws.malformed"),
    )
    assert set(fields.splitlines()) == {"1\t1\t"}


@pytest.mark.parametrize("host", ["h1", "h9"])
def test_tshark_and_tcptrace_count_retransmissions_and_bytes_as_our_tables(
    finite: tuple[Result, Path], host: str
) -> None:
    result, folder = finite
    (flow,) = result.flows.filter(src=host).iter_rows(named=True)
    capture = str(folder / f"{host}-0.egress.pcapng")
    resent = (
        "tcp.len > 0 && (tcp.analysis.retransmission || tcp.analysis.fast_retransmission || "
        "tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order)"
    )
    # at the sender's adapter no packet is out of order: tshark calls retransmissions so
    shown = output(tool("tshark"), "-r", capture, "-Y", resent)
    assert len(shown.splitlines()) == flow["retransmits"] > 0
    lengths = output(tool("tshark"), "-r", capture, "-T", "fields", "-e", "tcp.len")
    segments = [int(length) for length in lengths.split() if length != "0"]
    assert len(segments) == flow["segments_sent"]
    said = output(tool("tcptrace"), "-l", "-n", capture)
    counts = {
        name.strip(): int(rest.split()[0])
        for line in said.splitlines()
        if line.startswith("     ") and ":" in line
        for name, rest in [line.split(":", 1)]
        if rest.split() and rest.split()[0].isdigit()
    }
    assert counts["rexmt data pkts"] == flow["retransmits"]
    assert counts["actual data pkts"] == flow["segments_sent"]
    assert counts["unique bytes sent"] == flow["delivered_bytes"] == 150_000
    assert counts["actual data bytes"] == sum(segments)
