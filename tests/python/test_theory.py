"""Runs whose result is known from arithmetic, from queueing theory or from the theory of TCP.

Hosts take no time and clocks are exact unless a test says otherwise, so every time can be added up
by hand. Results of random traffic are means over a time that keeps their error well below the
tolerance.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import fairport as fp
import polars as pl
import pytest

IDEAL = {"profile": "none", "delay": "0s", "delay_spread": "0s", "processing": "0s"}
MSS = 1448  # of 1500 B, with timestamps
ACK, SYN = 52, 60  # TCP/IP headers with timestamps alone, and with all options of a SYN


def scenario(**changes: Any) -> dict[str, Any]:
    """A star of two hosts with 10 Mbit/s and 10 ms per link, and `changes` of it."""
    given: dict[str, Any] = {
        "name": "theory",
        "duration": "10s",
        "topology": {"kind": "star", "hosts": 2},
        "link": {"rate": "10Mbps", "delay": "10ms", "clock_error": "0ppm", "framing": "none"},
        "switch": {"processing_delay": "0s"},
        "host": IDEAL,
        "queue": {"limit": "1000 packets"},
        "tcp": {"stack": "rfc", "ack_policy": "every-segment"},
        "traffic": [bulk()],
    }
    for name, change in changes.items():
        adds = name in ("link", "host", "tcp")
        given[name] = given[name] | change if adds else change
    return given


def bulk(**changes: Any) -> dict[str, Any]:
    return {"kind": "bulk", "from": "h1", "to": "h0", "start_jitter": "0s"} | changes


def udp(load: float, payload: int, sender: str = "h1", **changes: Any) -> dict[str, Any]:
    """Poisson datagrams that take this share of 10 Mbit/s, with their headers of 28 B."""
    rate = round(load * 10e6 * payload / (payload + 28))
    given = {"kind": "udp", "pattern": "poisson", "payload": f"{payload}B", "rate": f"{rate}bps"}
    return bulk() | given | {"from": sender} | changes


def into_one_port(senders: int) -> dict[str, Any]:
    """Fast links of the senders `h1`.., and one of 10 Mbit/s from `s0` to `h0` (port `s0:0`)."""
    hosts = [f"h{i}" for i in range(senders + 1)]
    links = [{"ends": ["h0", "s0"], "delay": "0s"}]
    links += [{"ends": [host, "s0"], "rate": "1Gbps", "delay": "0s"} for host in hosts[1:]]
    return {"kind": "graph", "hosts": hosts, "switches": ["s0"], "links": links}


def on_line(packet_bytes: int) -> float:
    """Seconds of a packet on Gigabit Ethernet, with its header, FCS, preamble and gap."""
    return (max(packet_bytes, 46) + 38) * 8 / 1e9


@pytest.mark.parametrize("window", [1, 2, 10])
@pytest.mark.parametrize("segments", [1, 10, 1000])
@pytest.mark.parametrize("links", [2, 5])
def test_slow_start_doubles_per_round_trip(window: int, segments: int, links: int) -> None:
    switches = [f"s{i}" for i in range(links - 1)]
    nodes = ["h1", *switches, "h0"]
    ends = [{"ends": list(pair)} for pair in pairwise(nodes)]
    topology = {"kind": "graph", "hosts": ["h0", "h1"], "switches": switches, "links": ends}
    result = fp.run(
        scenario(
            topology=topology,
            link={"rate": "1Gbps", "framing": "ethernet"},
            tcp={"initial_window": window},
            traffic=[bulk(size=f"{segments * MSS}B")],
        )
    )
    delay = 10e-3
    one_way, back = (links * (on_line(size) + delay) for size in (MSS + ACK, ACK))
    rounds = math.ceil(math.log2(segments / window + 1))
    of_the_last = segments - window * (2 ** (rounds - 1) - 1)
    # ACKs come as far apart as segments, and each lets out two: a round's segments are back to back
    expected = 2 * links * (on_line(SYN) + delay) + (rounds - 1) * (one_way + back)
    expected += one_way + (of_the_last - 1) * on_line(MSS + ACK)
    assert result.flows["fct_s"][0] == pytest.approx(expected, abs=1e-9)


def test_a_first_window_of_one_segment_waits_for_the_delayed_ack() -> None:
    times = []
    for policy in ("every-segment", "delayed"):
        tcp = {"initial_window": 1, "ack_policy": policy}
        result = fp.run(scenario(tcp=tcp, traffic=[bulk(size=f"{3 * MSS}B")]))
        times.append(result.flows["fct_s"][0])
    assert times[1] - times[0] == pytest.approx(0.200, abs=1e-9)


def test_nagle_and_a_delayed_ack_hold_the_end_of_a_request() -> None:
    """RFC 896 with RFC 1122: the short second segment waits for the ACK, and the ACK for it."""
    asked = {"kind": "request-response", "servers": "h1", "clients": "h0", "requests": 2}
    sizes = {"request": "1560B", "response": "100B"}
    tcp = {"timestamps": False, "ack_policy": "delayed"}
    link = {"rate": "100Gbps"}
    times = {}
    for nagle in (True, False):
        run = scenario(link=link, tcp=tcp | {"nagle": nagle}, traffic=[asked | sizes])
        times[nagle] = fp.run(run).requests["response_s"][1]
    assert times[False] == pytest.approx(0.040, abs=1e-5)
    assert times[True] == pytest.approx(0.040 + 0.200 + 0.040, abs=1e-5)


def test_timeouts_double_from_three_round_trips() -> None:
    """RFC 6298: after one sample R, RTO = R + 4 R/2; each timeout doubles it."""
    lost = {"kind": "on-off", "at": "s0:0", "drops": 1000, "off": "41ms"}
    tcp = {"rto_min": "10ms"}
    result = fp.run(scenario(tcp=tcp, loss=[lost], link={"rate": "1Gbps", "framing": "ethernet"}))
    sample = 4 * (on_line(SYN) + 10e-3)
    expected = [3 * sample * 2**i for i in range(6)]
    assert result.timeouts["rto_s"].to_list() == pytest.approx(expected, abs=1e-9)


def test_after_an_outage_a_sender_waits_for_its_next_doubled_timeout() -> None:
    """The link is up again at 0.8 s, the third timeout of 3, 6 and 12 round trips is at 0.88 s."""
    outage = {"kind": "outage", "at": "s0:0", "from": "45ms", "to": "800ms"}
    tcp = {"rto_min": "10ms"}
    link = {"rate": "1Gbps", "framing": "ethernet"}
    run = scenario(tcp=tcp, loss=[outage], link=link, traffic=[bulk(size=f"{MSS}B")])
    round_trip = 4 * (on_line(SYN) + 10e-3)
    one_way = 2 * (on_line(MSS + ACK) + 10e-3)
    result = fp.run(run)
    assert result.flows["fct_s"][0] == pytest.approx(22 * round_trip + one_way, abs=1e-9)
    assert result.drops["reason"].to_list() == ["loss"] * 3


@pytest.mark.parametrize("losses", [1, 2, 5, 10])
@pytest.mark.parametrize("sack", [False, True])
def test_newreno_repairs_one_loss_per_round_trip_and_sack_all(losses: int, sack: bool) -> None:
    """RFC 6582 and RFC 6675: without any loss the transfer takes one and a half round trips."""
    run = scenario(
        link={"rate": "10Gbps", "delay": "25ms"},
        loss=[{"kind": "numbered", "at": "s0:0", "packets": list(range(6, 6 + losses))}],
        tcp={"initial_window": 40, "sack": sack},
        traffic=[bulk(size=f"{40 * MSS}B")],
    )
    result = fp.run(run)
    expected = 1.5 + (1 if sack else losses)
    assert result.flows["fct_s"][0] / 0.1 == pytest.approx(expected, abs=0.01)


def test_newreno_obeys_the_square_root_law() -> None:
    """Mathis et al. 1997: with one loss per 1/p segments, MSS/R sqrt(3/2p)."""
    run = scenario(
        duration="330s",
        link={"rate": "1Gbps", "delay": "25ms"},
        loss=[{"kind": "periodic", "at": "s0:0", "every": 10_000}],
        tcp={"window_unit": "segments"},
        measure={"from": "30s"},
    )
    goodput_bps = fp.run(run).flows["goodput_bps"][0]
    assert goodput_bps == pytest.approx(MSS * 8 / 0.1 * math.sqrt(1.5e4), rel=0.03)


def test_dctcp_marks_the_share_that_its_sawtooth_needs() -> None:
    """Alizadeh et al. 2010, 3.3, with Linux's round after a reduction, in which nothing grows.

    A cut of W a/2 segments takes as many rounds to regrow; one round of all is marked:
    a = 1 / (W a/2 + 2).
    """
    threshold, line_bps, delay_s = 20, 1e9, 125e-6
    run = scenario(
        duration="4s",
        topology={
            "kind": "graph",
            "hosts": ["h0", "h1"],
            "switches": ["s0"],
            "links": [{"ends": ["h0", "s0"]}, {"ends": ["h1", "s0"], "rate": "2Gbps"}],
        },
        link={"rate": "1Gbps", "delay": "125us"},
        queue={"kind": "step-marking", "limit": "1000 packets", "mark_above": "20 packets"},
        tcp={"stack": "linux-6", "congestion_control": "dctcp"},
    )
    result = fp.run(run)
    packet_s = 1500 * 8 / line_bps
    window = threshold + (4 * delay_s + 1.5 * packet_s + 1.5 * ACK * 8 / line_bps) / packet_s
    share = (math.sqrt(4 + 2 * window) - 2) / window
    flow = result.flows.row(0, named=True)
    assert flow["marks"] / flow["segments_sent"] == pytest.approx(share, rel=0.05)
    assert flow["drops"] == 0


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_poisson_datagrams_wait_as_in_m_d_1(load: float) -> None:
    topology, traffic = into_one_port(1), [udp(load, 972)]
    result = fp.run(scenario(duration="300s", topology=topology, traffic=traffic), seed=1)
    service_s = 1000 * 8 / 10e6
    wait_s = load * service_s / 2 / (1 - load)
    found_s = result.flows["rtt_mean_s"][0] - service_s * 1.01
    assert found_s == pytest.approx(wait_s, rel=0.05)
    # Little's law: exact, but for packets that wait at the end
    port = result.ports.filter(port="s0:0").row(0, named=True)
    assert port["queue_mean_bytes"] == pytest.approx(found_s * port["bytes"] / 300, rel=1e-3)


def test_hosts_with_exponential_times_are_two_queues_m_m_1() -> None:
    """Burke 1956: what leaves the sender is a Poisson process again, so the receiver is M/M/1."""
    host = {"processing": {"kind": "exponential", "mean": "100us"}}
    sent = udp(3.888, 972)  # 5000 datagrams of 1000 B per second
    link = {"rate": "100Gbps", "delay": "0s"}
    result = fp.run(scenario(duration="60s", host=host, link=link, traffic=[sent]), seed=1)
    rate = result.flows["segments_sent"][0] / 60
    assert result.flows["rtt_mean_s"][0] == pytest.approx(2 / (10_000 - rate), rel=0.03)


def test_codel_drops_after_interval_over_square_root_of_n() -> None:
    """RFC 8289 5.3: the n-th next drop follows at the first departure after interval/sqrt(n)."""
    run = scenario(
        duration="3s",
        topology=into_one_port(1),
        queue={"kind": "codel", "limit": "10000 packets"},
        traffic=[udp(1.5, 972, pattern="constant")],
    )
    drops = fp.run(run).drops["time_s"].to_list()[:60]
    due = drops[0]
    for count, drop in enumerate(drops[1:], 1):
        due += 0.1 / math.sqrt(count)
        # Linux's and our square root has 16 bits
        assert due - 1e-5 <= drop <= due + 1e-5 + 1000 * 8 / 10e6


@pytest.mark.parametrize("alpha", [0.5, 2.0])
@pytest.mark.parametrize("full", [1, 4])
def test_full_ports_share_a_memory_by_the_dynamic_threshold(alpha: float, full: int) -> None:
    """Choudhury & Hahne 1998: alpha / (1 + alpha n) of the memory for each of n full ports."""
    hosts = [f"{side}{i}" for i in range(full) for side in "rt"]
    rates = {"r": "10Mbps", "t": "1Gbps"}
    links = [{"ends": [host, "s0"], "rate": rates[host[0]], "delay": "0s"} for host in hosts]
    run = scenario(
        duration="4s",
        topology={"kind": "graph", "hosts": hosts, "switches": ["s0"], "links": links},
        queue={"kind": "shared-buffer", "limit": "2MB", "alpha": alpha},
        traffic=[udp(4.0, 72, f"t{i}", to=f"r{i}", pattern="constant") for i in range(full)],
    )
    ports = fp.run(run).ports.filter(pl.col("port").str.starts_with("s0"), pl.col("flows") > 0)
    share = alpha / (1 + alpha * full) * 2e6
    assert ports["queue_max_bytes"].to_list() == pytest.approx([share] * full, rel=0.005)


@pytest.mark.parametrize("kind", ["drr", "linux-sfq", "fq-codel"])
def test_fair_queueing_gives_bytes_and_leaves_max_min_shares(kind: str) -> None:
    payloads, loads, shares = (1472, 372, 172), (0.1, 0.9, 0.7), (0.1, 0.45, 0.45)
    traffic = [udp(loads[i], payloads[i], f"h{i + 1}") for i in range(3)]
    queue = {"kind": kind, "limit": "60 packets"}
    run = scenario(duration="20s", topology=into_one_port(3), queue=queue, traffic=traffic)
    goodputs = fp.run(run).flows["goodput_bps"]
    on_wire = [bps * (size + 28) / size for bps, size in zip(goodputs, payloads, strict=True)]
    assert on_wire == pytest.approx([share * 10e6 for share in shares], rel=0.04)


@pytest.mark.parametrize("mbps", [[10, 20, 20], [40, 10, 25], [100, 25, 10], [10, 10, 100]])
@pytest.mark.parametrize("size", [700, 3 * MSS, 5 * MSS + 662])
def test_one_window_without_its_handshake_takes_the_ideal_time(mbps: list[int], size: int) -> None:
    """The ideal time is that of segments in the empty network, the short last one included."""
    nodes = ["h1", "s0", "s1", "h0"]
    links: list[dict[str, Any]] = [{"ends": list(pair)} for pair in pairwise(nodes)]
    for link, rate in zip(links, mbps, strict=True):
        link["rate"] = f"{rate}Mbps"
    graph = {"kind": "graph", "hosts": ["h0", "h1"], "switches": ["s0", "s1"], "links": links}
    sent = [bulk(size=f"{size}B")]
    run = scenario(topology=graph, link={"framing": "ethernet"}, traffic=sent)
    flow = fp.run(run).flows.row(0, named=True)
    took_s = flow["fct_s"] - flow["established_s"]
    assert took_s == pytest.approx(flow["ideal_fct_s"], abs=1e-9)


def small_fat_tree(faster: int, queue: dict[str, Any]) -> dict[str, Any]:
    """Fifteen flows to one host, with all rates multiplied and all times divided by `faster`."""

    def time(us: int) -> str:
        return f"{us * 1000 // faster}ns"

    host = {"profile": "none", "delay": time(50), "delay_spread": time(10)}
    host["processing"] = {"kind": "uniform", "min": time(1), "max": time(3)}
    tcp = {"stack": "linux-2.6", "rto_min": time(20_000), "rto_initial": time(1_000_000)}
    tcp |= {"delayed_ack_min": time(40_000), "delayed_ack_max": time(200_000)}
    tcp |= {"clock_granularity": time(1000)}
    return {
        "name": "scaled",
        "duration": time(1_000_000),
        "topology": {"kind": "fat-tree"},
        "link": {"rate": f"{100 * faster}Mbps", "delay": time(5), "delay_spread": time(1)},
        "switch": {"processing_delay": time(10)},
        "host": host,
        "queue": {"limit": "20 packets"} | queue,
        "tcp": tcp,
        "traffic": [{"from": "h1..h15", "to": "h0", "start_jitter": time(10_000)}],
    }


COUNTS = ("segments_sent", "retransmits", "timeouts", "drops", "delivered_bytes")


@pytest.mark.parametrize("kind", ["drop-tail", "red", "drr", "port-fair", "codel"])
def test_a_network_ten_times_as_fast_has_the_same_packets(kind: str) -> None:
    """Only CUBIC, BBR, PIE and parts of today's Linux have constants in seconds."""
    runs = []
    for faster in (1, 10):
        times = {"target": f"{1500 // faster}us", "interval": f"{20_000 // faster}us"}
        queue = {"kind": kind} | (times if kind == "codel" else {})
        runs.append(fp.run(small_fat_tree(faster, queue), seed=1).flows)
    assert runs[0]["drops"].sum() > 100
    for name in COUNTS:
        assert runs[0][name].to_list() == runs[1][name].to_list(), name


def with_random_hosts(**changes: Any) -> dict[str, Any]:
    """Three senders to `h0`, with everything drawn that can be."""
    host = {"processing": {"kind": "exponential", "mean": "1us"}, "jitter": "3us"}
    return scenario(
        link={"rate": "100Mbps", "delay": "5us", "delay_spread": "2us", "clock_error": "50ppm"},
        host=host | {"delay_spread": "5us"},
        queue={"kind": "red", "limit": "30 packets"},
        tcp={"rto_min": "10ms"},
        **changes,
    )


def test_a_later_start_changes_nothing_else() -> None:
    flows = []
    for start in ("0s", "7s"):
        sent = bulk(size="2MB", start=start, **{"from": "h1..h3"})
        star = {"kind": "star", "hosts": 4}
        flows.append(fp.run(with_random_hosts(topology=star, duration="20s", traffic=[sent])).flows)
    for name in (*COUNTS, "fct_s"):
        assert flows[0][name].to_list() == pytest.approx(flows[1][name].to_list()), name


def test_an_idle_network_behind_the_last_switch_changes_nothing() -> None:
    flows = []
    for idle in (0, 8):
        hosts = [f"h{i}" for i in range(4)] + [f"x{i}" for i in range(idle)]
        ends = [[host, "s0" if host in ("h0", "h1") else "s1"] for host in hosts[:4]]
        ends += [["s0", "s1"]] + ([["s1", "s2"]] if idle else [])
        ends += [[host, "s2"] for host in hosts[4:]]
        switches = ["s0", "s1", "s2"] if idle else ["s0", "s1"]
        graph = {"kind": "graph", "hosts": hosts, "switches": switches}
        graph["links"] = [{"ends": pair} for pair in ends]
        sent = bulk(**{"from": "h1..h3"})
        flows.append(fp.run(with_random_hosts(topology=graph, duration="1s", traffic=[sent])).flows)
    assert flows[0]["drops"].sum() > 0
    assert flows[0].equals(flows[1])


def test_a_lone_flow_has_rows_of_its_queue() -> None:
    """AIMD with a buffer of one bandwidth-delay product: the queue falls from full to empty."""
    topology = into_one_port(1)
    topology["links"][1]["delay"] = "20ms"
    run = scenario(
        duration="60s",
        topology=topology,
        queue={"limit": "33 packets"},
        tcp={"window_unit": "segments"},
        measure={"from": "20s"},
    )
    result = fp.run(run)
    steady = result.queue.filter(pl.col("time_s") > 20, port="s0:0")["packets"]
    assert steady.max() == 33
    assert steady.min() <= 2
    assert result.flows["goodput_bps"][0] == pytest.approx(10e6 * MSS / 1500, rel=0.01)


@pytest.mark.parametrize(("delay", "of_equal_loss"), [("0s", 1.87), ("10ms", 0.0)])
def test_the_phase_decides_how_much_of_a_stream_at_a_ports_own_pace_is_lost(
    delay: str, of_equal_loss: float
) -> None:
    """Three ports of 10 Mbit/s in a row, each offered 20 by another source, with exact clocks."""
    lines = [("h1", "s1", "1Gbps"), ("s4", "h0", "1Gbps")]
    for i in (1, 2, 3):
        lines += [(f"s{i}", f"s{i + 1}", "10Mbps"), (f"a{i}", f"s{i}", "1Gbps")]
        lines += [(f"b{i}", f"s{i + 1}", "1Gbps")]
    topology = {
        "kind": "graph",
        "hosts": ["h0", "h1", *(f"{side}{i}" for side in "ab" for i in (1, 2, 3))],
        "switches": [f"s{i}" for i in (1, 2, 3, 4)],
        "links": [{"ends": [one, other], "rate": rate} for one, other, rate in lines],
    }
    traffic = [udp(1.0, 972, pattern="constant")]
    traffic += [udp(2.0, 972, f"a{i}", to=f"b{i}", pattern="constant") for i in (1, 2, 3)]
    run = scenario(
        topology=topology,
        link={"delay": delay},
        queue={"limit": "20 packets"},
        traffic=traffic,
    )
    goodput_bps = fp.run(run).flows["goodput_bps"][0]
    share = 1.0
    for _ in range(3):
        share /= share + 2
    assert goodput_bps * 1000 / 972 / 10e6 / share == pytest.approx(of_equal_loss, abs=0.05)
