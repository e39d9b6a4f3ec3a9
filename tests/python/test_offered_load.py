"""What Poisson traffic offers to the links of hosts, and the caveat about links that are full."""

from __future__ import annotations

from typing import Any

import fairport as fp
import pytest
from fairport.backends.jobs import job_of
from fairport.backends.offered_load import fullest_link


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


def fullest(one: fp.Scenario) -> tuple[str, str, float, int]:
    found = fullest_link(one, job_of(one))
    assert found is not None
    return found["host"], found["direction"], found["offered_bps"] / 1e6, found["rate_bps"]


@pytest.mark.parametrize(
    ("traffic", "host", "direction", "mbps"),
    [
        # seven senders of 1 Gbit/s, one receiver
        ({"load": 0.6, "from": "h1..h7", "to": "h0"}, "h0", "receive", 4200),
        # all hosts send and receive alike
        ({"load": 1.0}, "h0", "receive", 1000),
        # six senders choose between two receivers; each of these always takes the other
        ({"load": 0.6, "to": "h0..h1"}, "h0", "receive", 2400),
        # h4 to h7 receive 3.2 Gbit/s * (3/4 * 1/5 + 1/4 * 1/4) = 680 Mbit/s each
        ({"load": 0.8, "from": "h0..h3", "to": "h3..h7"}, "h0", "send", 800),
        ({"load": 0.9, "from": "h0..h3", "to": "h3..h4"}, "h4", "receive", 2250),
        ({"load": 0.6, "capacity": "16Gbps"}, "h0", "receive", 1200),
    ],
)
def test_the_fullest_link_of_one_traffic(
    traffic: dict[str, Any], host: str, direction: str, mbps: float
) -> None:
    found = fullest(scenario(traffic))
    assert found == (host, direction, mbps, 1_000_000_000)


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
    assert fullest(one)[2] == pytest.approx(mbps)


def test_a_slow_link_is_full_though_the_load_is_low() -> None:
    # at load 0.5 each of four senders offers 0.5 * 3.1 Gbit/s / 4, also that with 100 Mbit/s
    hosts = [f"h{n}" for n in range(4)]
    links: list[dict[str, Any]] = [{"ends": [host, "s"]} for host in hosts]
    links[3] |= {"rate": "100Mbps"}
    graph = {"kind": "graph", "hosts": hosts, "switches": ["s"], "links": links}
    one = scenario({"load": 0.5}, topology=graph)
    assert fullest(one) == ("h3", "receive", 387.5, 100_000_000)


def test_no_other_traffic_counts() -> None:
    one = scenario({"kind": "bulk", "from": "h1..h7", "to": "h0"})
    assert fullest_link(one, job_of(one)) is None


def test_receivers_are_drawn_as_their_links_are_filled() -> None:
    part = {"load": 0.2, "from": "h0..h3", "to": "h3..h4", "sizes": "1kB"}
    drawn = fp.run(scenario(part)).flows["dst"].to_list()
    # 3/4 of the flows are of h0, h1 and h2, which choose; all of h3 go to h4
    share, expected = drawn.count("h4") / len(drawn), 0.75 / 2 + 0.25
    assert len(drawn) > 1000
    assert abs(share - expected) < 4 * (expected * (1 - expected) / len(drawn)) ** 0.5


def test_a_run_whose_links_cannot_carry_what_arrives_says_so() -> None:
    full = scenario({"load": 0.6, "from": "h1..h7", "to": "h0"}, duration="2ms")
    said = "Poisson arrivals give h0 4200.0 Mbit/s of payload to receive, 4.2 times the 1000.0"
    assert [text for text in fp.run(full).summary["caveats"] if said in text]
    carried = fp.run(scenario({"load": 1.0}, duration="2ms")).summary
    assert carried["fullest_link"]["offered_bps"] == carried["fullest_link"]["rate_bps"]
    assert not [text for text in carried["caveats"] if "links carry" in text]
