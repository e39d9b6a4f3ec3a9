"""What UDP and Poisson arrivals offer to links, and the caveat about links that are full."""

from __future__ import annotations

import json
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport import _core
from fairport.backends.jobs import job_of
from fairport.metrics.repeats import summarise

OVERHEAD = 1538 / 1460
"""Bytes on the link per byte of payload, in a TCP packet of 1500 B without options."""


def scenario(*traffic: dict[str, Any], **changes: Any) -> fp.Scenario:
    """A star of 8 hosts with links of 1 Gbit/s; transfers of 100 kB unless a traffic says more."""
    poisson = {"kind": "poisson", "sizes": "100kB"}
    sections = [one if "kind" in one else poisson | one for one in traffic]
    return fp.scenario(
        {
            "name": "offered",
            "duration": "20ms",
            "seed": 1,
            "topology": {"kind": "star", "hosts": 8},
            "traffic": sections,
        }
        | changes
    )


def fullest_link(one: fp.Scenario) -> dict[str, Any] | None:
    return _core.Simulation(json.dumps(job_of(one).document)).fullest_link()


def fullest(one: fp.Scenario) -> tuple[str, float, int]:
    """The port that is offered most, its payload in Mbit/s, and how many ports are overfilled."""
    found = fullest_link(one)
    assert found is not None
    payload_bps = found["offered_bps"] / OVERHEAD
    return found["port"], payload_bps / 1e6, found["overfilled_ports"]


@pytest.mark.parametrize(
    ("traffic", "port", "mbps", "overfilled"),
    [
        # seven senders of 1 Gbit/s, one receiver
        ({"load": 0.6, "from": "h1..h7", "to": "h0"}, "s0:0", 4200, 1),
        # all hosts send and receive alike: headers overfill their links in both directions
        ({"load": 1.0}, "h0:0", 1000, 16),
        ({"load": 0.94}, "h0:0", 940, 0),
        # six senders choose between two receivers; each of these always takes the other
        ({"load": 0.6, "to": "h0..h1"}, "s0:0", 2400, 2),
        # h4 to h7 receive 3.2 Gbit/s * (3/4 * 1/5 + 1/4 * 1/4) = 680 Mbit/s each
        ({"load": 0.8, "from": "h0..h3", "to": "h3..h7"}, "h0:0", 800, 0),
        ({"load": 0.9, "from": "h0..h3", "to": "h3..h4"}, "s0:4", 2250, 2),
        ({"load": 0.6, "capacity": "16Gbps"}, "h0:0", 1200, 16),
    ],
)
def test_the_fullest_link_of_one_traffic(
    traffic: dict[str, Any], port: str, mbps: float, overfilled: int
) -> None:
    assert fullest(scenario(traffic)) == (port, pytest.approx(mbps), overfilled)


@pytest.mark.parametrize(
    ("first", "start", "mbps"),
    [
        ({"stop": "10ms"}, "9ms", 1100),
        ({"stop": "10ms"}, "10ms", 600),
        # 6,000 flows per second: 30 take 5 ms
        ({"flows": 30}, "4ms", 1100),
        ({"flows": 30}, "6ms", 600),
    ],
)
def test_what_several_traffics_offer_at_a_time_adds_up(
    first: dict[str, Any], start: str, mbps: float
) -> None:
    one = scenario({"load": 0.6} | first, {"load": 0.5, "start": start})
    assert fullest(one)[1] == pytest.approx(mbps)


def test_a_slow_link_is_full_though_the_load_is_low() -> None:
    # at load 0.5 each of four senders offers 0.5 * 3.1 Gbit/s / 4, also that with 100 Mbit/s
    hosts = [f"h{n}" for n in range(4)]
    links: list[dict[str, Any]] = [{"ends": [host, "s"]} for host in hosts]
    links[3] |= {"rate": "100Mbps"}
    graph = {"kind": "graph", "hosts": hosts, "switches": ["s"], "links": links}
    one = scenario({"load": 0.5}, topology=graph)
    assert fullest(one) == ("h3:0", pytest.approx(387.5), 2)
    # so is a shaper, which every port has
    slow = {"kind": "tbf", "rate": "100Mbps", "burst": "10kB"}
    assert fullest(scenario({"load": 0.5}, shaper=slow))[1:] == (pytest.approx(500), 16)


def test_udp_counts_with_its_headers_while_it_is_sent() -> None:
    udp = {"kind": "udp", "to": "h0", "rate": "400Mbps", "payload": "972B"}
    on_link = 400 * (972 + 28 + 38) / 972 / OVERHEAD
    both = udp | {"from": "h1..h2"}
    assert fullest(scenario(both)) == ("s0:0", pytest.approx(2 * on_link), 0)
    bursts = {"pattern": "on-off", "on_mean": "1ms", "off_mean": "1ms"}
    half = udp | bursts | {"from": "h3", "start": "10ms"}
    assert fullest(scenario(both, half)) == ("s0:0", pytest.approx(2.5 * on_link), 1)
    assert fullest(scenario(both | {"stop": "10ms"}, half))[1] == pytest.approx(2 * on_link)
    # 450 kB take 9 ms at 400 Mbit/s
    assert fullest(scenario(both | {"size": "450kB"}, half))[1] == pytest.approx(2 * on_link)


def test_no_other_traffic_counts() -> None:
    assert fullest_link(scenario({"kind": "bulk", "from": "h1..h7", "to": "h0"})) is None


LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}


@pytest.mark.parametrize("routing", ["ecmp", "spray", "destination-suffix"])
def test_an_oversubscribed_layer_is_full_where_hosts_links_are_not(routing: str) -> None:
    def run(load: float, **fabric: Any) -> tuple[dict[str, Any], dict[str, float]]:
        network = {"topology": LEAVES, "routing": routing, "fabric": fabric}
        result = fp.run(scenario({"load": load}, duration="100ms", **network))
        between = result.ports.filter(pl.col("port").str.contains("leaf.:[45]|spine"))
        return result.summary, dict(between.select("port", "busy_share").iter_rows())

    # four hosts of each leaf send 4/7 of 600 Mbit/s through two links of 500 Mbit/s
    full, busy = run(0.6, rate="500Mbps")
    said = [text for text in full["caveats"] if "More arrives than links carry" in text]
    assert said
    assert "leaf0:4 (to spine0)" in said[0]
    assert "Mbit/s, 1.44 times its rate of 500.0 Mbit/s. Ports besides it" in said[0]
    assert full["fullest_link"]["overfilled_ports"] == len(busy) == 8
    assert min(busy.values()) > 0.85
    carried, busy = run(0.35, rate="500Mbps")
    assert carried["fullest_link"]["overfilled_ports"] == 0
    assert max(busy.values()) < 0.95
    assert not [text for text in carried["caveats"] if "links carry" in text]


def test_receivers_are_drawn_as_their_links_are_filled() -> None:
    part = {"load": 0.2, "from": "h0..h3", "to": "h3..h4", "sizes": "1kB"}
    drawn = fp.run(scenario(part)).flows["dst"].to_list()
    # 3/4 of the flows are of h0, h1 and h2, which choose; all of h3 go to h4
    share, expected = drawn.count("h4") / len(drawn), 0.75 / 2 + 0.25
    assert len(drawn) > 1000
    assert abs(share - expected) < 4 * (expected * (1 - expected) / len(drawn)) ** 0.5


def test_over_several_seeds_the_caveat_names_a_port_only_if_it_is_the_same_for_all() -> None:
    # the seed draws who sends to whom, and each flow takes the way that its hash chooses
    udp = {"kind": "udp", "from": "all", "to": "permutation", "rate": "400Mbps"}
    network = {"topology": LEAVES, "routing": "ecmp", "fabric": {"rate": "300Mbps"}}
    one = scenario(udp, duration="1ms", **network)
    summaries = [dict(fp.run(one, seed=seed).summary) for seed in (1, 3)]
    ports = [summary["fullest_link"]["port"] for summary in summaries]
    whole = summarise(summaries)
    assert ports[0] != ports[1]
    assert whole["fullest_link"]["port"] is None
    assert "offer the fullest port" in " ".join(whole["caveats"])
