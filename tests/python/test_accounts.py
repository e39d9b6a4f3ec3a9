"""The accounts of ports, kept a second time from the table of packets."""

import fairport as fp
import polars as pl
import pytest

# Ethernet: header and FCS in the buffer; on the wire also preamble and gap
_FRAME_BYTES = 1500 + 18
_WIRE_BITS = (_FRAME_BYTES + 20) * 8


def test_what_a_host_has_yet_to_send_at_the_end_has_not_reached_its_nic():
    # The application writes a datagram every 10 us, and the host takes 100 us for each. So one in
    # ten reaches the NIC within the run, which sends it at once.
    scenario = {
        "name": "late-host",
        "duration": "10ms",
        "topology": {"kind": "star", "hosts": 2},
        "host": {"processing": "100us"},
        "traffic": [
            {
                "kind": "udp",
                "from": "h1",
                "to": "h0",
                "payload": "1250B",
                "rate": "1Gbps",
                "start_jitter": "0s",
            }
        ],
    }
    result = fp.run(scenario, observation=fp.Observation(packets=["h1:0"]))
    (nic,) = result.ports.filter(port="h1:0").to_dicts()
    packets = result.packets
    assert packets.height == pytest.approx(100, abs=1)
    assert (nic["packets"], nic["bytes"]) == (packets.height, packets["size_bytes"].sum())
    assert nic["queue_max_bytes"] == packets["size_bytes"].max()
    # a packet that is being sent is in the NIC's buffer
    assert nic["queue_mean_bytes"] == pytest.approx(nic["busy_share"] * 1296)


def test_a_forwarding_host_holds_no_more_than_its_queue():
    # h1 forwards datagrams from h0, and sends segments of its own, by the adapter that leads to h3.
    line_bps, places = 100e6, 20
    scenario = {
        "name": "forwarding",
        "duration": "100ms",
        "topology": {
            "kind": "graph",
            "hosts": ["h0", "h1", "h3"],
            "hosts_forward": True,
            "switches": ["s0", "s1"],
            "links": [
                {"ends": ["h0", "s0"]},
                {"ends": ["s0", "h1"]},
                {"ends": ["h1", "s1"]},
                {"ends": ["s1", "h3"]},
            ],
        },
        "link": {"rate": f"{line_bps:.0f}bps", "clock_error": "0ppm"},
        "host": {"queue": f"{places} packets", "delay": "1ms"},
        "traffic": [
            {"kind": "udp", "from": "h0", "to": "h3", "rate": "80Mbps"},
            {"kind": "bulk", "from": "h1", "to": "h3", "flows": 4},
        ],
    }
    result = fp.run(scenario, observation=fp.Observation(packets=["h1:1"]))
    assert result.ports.filter(port="h1:1")["drops"].item() > 0, "the queue was never full"
    longest_s = result.packets.select(pl.col("depart_s") - pl.col("time_s")).max().item()
    assert longest_s <= places * _WIRE_BITS / line_bps * (1 + 1e-9)
