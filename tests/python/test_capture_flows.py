"""What one capture says about single flows: which one is starved, and since when."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import Command
from fairport import figures
from fairport.backends.captures import analyse

MSS = 1000
ACK, SYN, FIN = 16, 2, 1
Packet = tuple[float, bytes]


def packet(time_s: float, port: int, seq: int, payload: int, flags: int = ACK) -> Packet:
    """A packet of 10.0.0.1 to 10.0.1.9, or the other way if it has no data."""
    source, destination = bytes((10, 0, 0, 1)), bytes((10, 0, 1, 9))
    ports = (port, 80)
    numbers = (seq, 1)
    if flags == ACK and not payload:
        source, destination, ports, numbers = destination, source, ports[::-1], (1, seq)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0)
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 5 << 4, flags, 60_000, 0, 0)
    return time_s, bytes(12) + b"\x08\0" + head + source + destination + tcp


def write(path: Path, packets: Iterable[Packet]) -> str:
    """A capture of headers, in the order given."""
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)]
    for time_s, frame in packets:
        length = int.from_bytes(frame[16:18], "big") + 14
        whole, part = divmod(round(time_s * 1e6), 1_000_000)
        records.append(struct.pack("<4I", 1_700_000_000 + whole, part, len(frame), length) + frame)
    path.write_bytes(b"".join(records))
    return str(path)


def bulk(
    port: int, segments: int, every_s: float, silences: dict[int, float], ack_s: float = 1e-3
) -> list[Packet]:
    """A flow of full segments. Some of them are sent again after a silence."""
    now, packets = 0.0, [packet(0, port, 0, 0, SYN)]
    for number in range(segments):
        now += every_s
        seq = 1 + number * MSS
        packets.append(packet(now, port, seq, MSS))
        if number in silences:
            now += silences[number]
            packets.append(packet(now, port, seq, MSS))
        packets.append(packet(now + ack_s, port, seq + MSS, 0))
    return packets


@pytest.fixture
def starved(tmp_path: Path) -> str:
    """Two flows of one host to one receiver; the second waits for two timeouts."""
    packets = bulk(5001, 1500, 1e-3, {}) + bulk(5002, 1100, 1e-3, {300: 0.2, 600: 0.4})
    return write(tmp_path / "starved.pcap", sorted(packets, key=lambda one: one[0]))


def test_the_starved_flow_is_named_with_its_ports_and_its_waits(
    fairport: Command, starved: str
) -> None:
    result = analyse([starved])
    sentence = result.summary["verdict"]["sentence"]
    assert (
        "from 10.0.0.1:5002 to 10.0.1.9:80, gets 0.73 of the fastest, from 10.0.0.1:5001"
        in sentence
    )
    assert "waited 0.6 s for 2 timeouts, since 0.301 s" in sentence
    slowest, fastest = result.summary["captures"]["slowest"]
    assert (slowest["from"], slowest["retransmits"]) == ("10.0.0.1:5002", 2)
    assert slowest["longest_wait_s"] == pytest.approx(0.4, abs=0.01)
    assert (fastest["timeouts"], fastest["since_s"]) == (0, None)
    shown = fairport("analyze", starved).out
    assert "10.0.0.1:5002 > 10.0.1.9:80" in shown


def test_a_flow_alone_says_what_it_waited_for(tmp_path: Path) -> None:
    alone = write(tmp_path / "alone.pcap", bulk(5002, 1100, 1e-3, {300: 0.2}))
    result = analyse([alone])
    sentence = result.summary["verdict"]["sentence"]
    assert "from 10.0.0.1:5002 to 10.0.1.9:80 is alone" in sentence
    # drops are inferred, so nothing is said about their order or about a queue
    assert result.flows["drops"].sum() > 0
    assert not {"drop_runs", "queue"} & {*figures.kinds(result)}
    assert figures.draw(result, "drop_runs").title == "The order of the drops is not known"
    assert "It waited 0.2 s for 1 timeout, since 0.301 s." in sentence


@pytest.mark.parametrize("waits", [False, True])
def test_goodputs_of_short_flows_are_not_compared(tmp_path: Path, waits: bool) -> None:
    packets = []
    for port in range(5000, 5020):
        flow = bulk(port, port - 4990, 1e-3, {2: 0.2} if waits and port == 5007 else {})
        packets += [*flow, packet(flow[-1][0] + 1e-3, port, 1 + (port - 4990) * MSS, 0, ACK | FIN)]
    short = write(tmp_path / "short.pcap", sorted(packets, key=lambda one: one[0]))
    summary = analyse([short]).summary
    sentence = summary["verdict"]["sentence"]
    assert "None of 20 flows is long, so goodputs are not compared" in sentence
    if waits:
        assert "1 waited for timeouts, 0.2 s in all" in sentence
        assert "from 10.0.0.1:5007 to 10.0.1.9:80" in sentence
    else:
        assert "None was seen to wait for a timeout" in sentence
        assert summary["captures"]["slowest"] == []


def test_a_flow_that_has_just_begun_is_not_starved(tmp_path: Path) -> None:
    young = [(1.4 + time_s, frame) for time_s, frame in bulk(5002, 90, 1e-3, {})]
    packets = sorted(bulk(5001, 1500, 1e-3, {}) + young, key=lambda one: one[0])
    summary = analyse([write(tmp_path / "young.pcap", packets)]).summary
    assert "from 10.0.0.1:5001 to 10.0.1.9:80 is alone" in summary["verdict"]["sentence"]


def test_a_capture_near_the_receivers_says_what_it_cannot_show(tmp_path: Path) -> None:
    def handshake(to_receiver_s: float) -> list[Packet]:
        answer = packet(to_receiver_s, 5001, 1, 0)[1]
        answer = answer[:47] + bytes((ACK | SYN,)) + answer[48:]
        third = packet(10e-3, 5001, 1, 0, 24)
        later = [(one[0] + 20e-3, one[1]) for one in bulk(5001, 1100, 1e-3, {}, to_receiver_s)[1:]]
        return [packet(0, 5001, 0, 0, SYN), (to_receiver_s, answer), third, *later]

    for to_receiver_s, is_near in ((1e-4, True), (9e-3, False)):
        packets = sorted(handshake(to_receiver_s), key=lambda one: one[0])
        notes = " ".join(analyse([write(tmp_path / "near.pcap", packets)]).summary["caveats"])
        assert ("near the receivers" in notes) == is_near


def test_a_capture_that_lost_packets_says_so(tmp_path: Path) -> None:
    packets = bulk(5001, 1100, 1e-3, {})
    is_data = [len(frame) < int.from_bytes(frame[16:18], "big") for _, frame in packets]
    lossy = [one for place, one in enumerate(packets) if not (is_data[place] and place % 50 == 1)]
    for kept, lost in ((packets, False), (lossy, True)):
        notes = " ".join(analyse([write(tmp_path / "lossy.pcap", kept)]).summary["caveats"])
        assert ("of the data that was acknowledged" in notes) == lost


def test_timestamps_that_go_back_are_reported(tmp_path: Path) -> None:
    packets = bulk(5001, 1100, 1e-3, {})
    set_back = [
        (time_s - (0.5 if place > 1000 else 0), frame)
        for place, (time_s, frame) in enumerate(packets)
    ]
    notes = " ".join(analyse([write(tmp_path / "back.pcap", set_back)]).summary["caveats"])
    assert "timestamps go back by up to 0.5 s" in notes


def test_packets_of_several_queues_are_put_in_order(tmp_path: Path) -> None:
    """The queues of an adapter are read in turn, so a capture is out of order for a moment."""
    packets = sorted(bulk(5001, 3000, 5e-5, {}, ack_s=1e-4))
    is_data = [len(frame) < int.from_bytes(frame[16:18], "big") for _, frame in packets]
    # of each 0.4 ms, first the ACKs and then the data that they acknowledge
    queues = sorted(
        zip(is_data, packets, strict=True), key=lambda one: (int(one[1][0] / 4e-4), one[0])
    )
    slots = [one for _, one in queues]
    assert slots != packets
    found = analyse([write(tmp_path / "queues.pcap", slots)])
    assert "timestamps go back" not in " ".join(found.summary["caveats"])
    # it is noticed within the first of 375 spans, whose segments seem to come after their ACKs
    assert found.flows["retransmits"][0] < 8
    assert found.flows["segments_sent"][0] == 3000
    assert found.tables["conversations"]["unseen_bytes"][0] < 8 * MSS


def test_a_clock_that_was_set_forward_is_reported(tmp_path: Path) -> None:
    def said(flow: list[Packet], forward_s: float, place: int) -> bool:
        late = [(time_s + forward_s * (i > place), frame) for i, (time_s, frame) in enumerate(flow)]
        notes = " ".join(analyse([write(tmp_path / "forward.pcap", late)]).summary["caveats"])
        return "holds no packet for" in notes

    packets = bulk(5001, 1100, 1e-3, {})
    assert said(packets, 3.0, 1001)  # between a segment and its ACK
    assert not said(packets, 3.0, 1002)  # before a segment: there was nothing to send
    assert not said(packets, 0.0, 1001)


def test_a_damaged_length_makes_no_link_that_no_scenario_can_have(tmp_path: Path) -> None:
    # a total length of zero means that the frame's length counts, as for the largest of TSO's
    frame = packet(0, 5001, 1, MSS)[1]
    frame = frame[:16] + bytes(2) + frame[18:]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    damaged = 1 << 20
    record = struct.pack("<4I", 1_700_000_000, 0, len(frame), damaged) + frame
    file = tmp_path / "damaged.pcap"
    file.write_bytes(
        head + record + struct.pack("<4I", 1_700_000_000, 1, len(frame), len(frame)) + frame
    )
    assert analyse([str(file)]).scenario.link.rate == 500e9
