"""What docs/reference/workloads.md promises about when flows start, between whom and how large.

Times, ends and sizes of many flows are compared with the distributions of the page. The runs have
fixed seeds, so a test passes always or never; a wrong distribution fails by far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
import pytest
from fairport.result import Result
from fairport.workloads import read_cdf
from scipy import stats

HOSTS = 8
LEAST_P = 1e-3
"""Of tests of the right distribution a thousandth has a lower p-value."""


def run(*traffic: dict[str, Any], seed: int = 1, **more: Any) -> Result:
    given = {
        "name": "laws",
        "duration": "100ms",
        "topology": {"kind": "star", "hosts": HOSTS},
        "link": {"rate": "100Gbps", "clock_error": "0ppm"},
        "queue": {"limit": "4MB"},
        "host": {"profile": "none", "delay": "1us", "delay_spread": "0s", "processing": "0s"},
        "tcp": {"stack": "rfc", "rto_min": "1ms"},
        "probes": {"series_interval": "100ms"},
        "measure": {"from": "0s"},
        "traffic": list(traffic),
    }
    return fp.run(fp.scenario(given | more), seed=seed)


def assert_exponential(times: Sequence[float] | np.ndarray, mean: float) -> None:
    assert len(times) > 200
    assert stats.kstest(times, "expon", args=(0, mean)).pvalue > LEAST_P, np.mean(times)


def assert_uniform(times: Sequence[float] | np.ndarray, least: float, most: float) -> None:
    assert len(times) > 200
    assert least <= min(times) <= max(times) <= most
    assert stats.kstest(times, "uniform", args=(least, most - least)).pvalue > LEAST_P


def assert_counts(found: Counter[Any], expected: dict[Any, float]) -> None:
    """The counts of categories, each with its expected share."""
    assert set(found) <= set(expected)
    numbers = [found[key] for key in expected]
    shares = np.array(list(expected.values()))
    assert stats.chisquare(numbers, shares / shares.sum() * sum(numbers)).pvalue > LEAST_P, found


def assert_unrelated(one: Sequence[float] | np.ndarray, other: Sequence[float]) -> None:
    assert stats.spearmanr(one, other).pvalue > LEAST_P


def poisson(**more: Any) -> dict[str, Any]:
    return {"kind": "poisson", "load": 0.02, "capacity": "100Gbps", "sizes": "10kB"} | more


# Poisson arrivals


def test_flows_arrive_as_a_poisson_process_between_uniform_pairs() -> None:
    """2 Gbit/s in flows of 80 kbit: 25,000 per second."""
    to = ["h0", "h1", "h7"]
    found = run(poisson(start="10ms", stop="90ms", **{"from": "h0..h3", "to": to})).flows
    starts = np.sort(found["start_s"].to_numpy())
    assert starts[0] > 0.010
    assert starts[-1] < 0.090
    assert abs(len(starts) - 2000) < 3.3 * 2000**0.5
    gaps = np.diff(starts, prepend=0.010)
    assert_exponential(gaps, 40e-6)
    assert_unrelated(gaps[1:], gaps[:-1].tolist())
    expected = {
        (src, dst): 1 / len(set(to) - {src})
        for src in ("h0", "h1", "h2", "h3")
        for dst in to
        if src != dst
    }
    assert_counts(Counter(found.select("src", "dst").iter_rows()), expected)


def test_a_load_is_that_of_the_drawn_sizes_and_the_senders_own_links() -> None:
    """Of 30 Gbit/s a load of 0.4 is 12 Gbit/s."""
    links = [{"ends": [f"h{i}", "s"], "rate": "20Gbps" if i else "10Gbps"} for i in range(3)]
    graph = {"kind": "graph", "hosts": ["h0", "h1", "h2"], "switches": ["s"], "links": links}
    flows = {"kind": "poisson", "load": 0.4, "from": ["h0", "h1"], "sizes": "2kB..8kB"}
    sizes = run(flows, topology=graph, duration="20ms").flows["size_bytes"].to_numpy()
    offered_bps = 8 * sizes.sum() / 0.020
    # 6000 flows: two standard errors of number and size are 2.9 %
    assert offered_bps == pytest.approx(12e9, rel=0.035)
    assert_uniform(sizes, 2000, 8000)


WEB_SEARCH = {
    10e3: 0.15, 20e3: 0.2, 30e3: 0.3, 50e3: 0.4, 80e3: 0.53, 200e3: 0.6, 1e6: 0.7, 2e6: 0.8,
    5e6: 0.9, 10e6: 0.97, 30e6: 1,
}  # fmt: skip
DATA_MINING = {
    180: 0.1, 216: 0.2, 560: 0.3, 900: 0.4, 1100: 0.5, 1870: 0.6, 3160: 0.7, 10e3: 0.8, 400e3: 0.9,
    3.16e6: 0.95, 100e6: 0.98, 1e9: 1,
}  # fmt: skip
WEB_SEARCH_PACKETS = {
    6: 0.15, 13: 0.2, 19: 0.3, 33: 0.4, 53: 0.53, 133: 0.6, 667: 0.7, 1333: 0.8, 3333: 0.9,
    6667: 0.97, 20000: 1,
}  # fmt: skip
DATA_MINING_PACKETS = {
    1: 0.5, 2: 0.6, 3: 0.7, 7: 0.8, 267: 0.9, 2107: 0.95, 66667: 0.99, 666667: 1,
}  # fmt: skip
PUBLISHED = {
    "web-search": (WEB_SEARCH, 1, 1_711_250),
    "data-mining": (DATA_MINING, 1, 12.66e6),
    "web-search-packets": (WEB_SEARCH_PACKETS, 1460, 1141 * 1460),
    "data-mining-packets": (DATA_MINING_PACKETS, 1460, 5117 * 1460),
}
"""HKUST's DCTCP_CDF.txt and VL2_CDF.txt, pFabric's CDF_dctcp.tcl and CDF_vl2.tcl; the means."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_have_the_published_distribution(name: str) -> None:
    points, unit, mean = PUBLISHED[name]
    sizes = [0.0 if unit == 1 else min(points), *points]
    shares = [0.0 if unit == 1 else points[min(points)], *points.values()]
    by_hand = sum(
        (b - a) * (q + p) / 2 for (a, q), (b, p) in pairwise(zip(shares, sizes, strict=False))
    )
    by_hand = unit * (by_hand + shares[0] * sizes[0])
    assert read_cdf(name).mean_bytes == pytest.approx(by_hand) == pytest.approx(mean, rel=5e-4)
    # many flows that do not get far: the run is over before
    load = 3000 / 0.010 * 8 * mean / 10e12
    many = poisson(sizes=name, load=load, capacity="10Tbps", overload=True)
    slow = {"rate": "1Gbps"}
    drawn = run(many, duration="10ms", link=slow).flows["size_bytes"].to_numpy() / unit
    assert len(drawn) > 2000
    assert abs(len(drawn) - 3000) < 4 * 3000**0.5
    assert (drawn == drawn.astype(int)).all()
    for size, share in points.items():
        # between two points sizes are linear, rounded to the nearest whole unit
        at = np.interp(size + 0.5 if size < max(points) else size, sizes, shares)
        error = (at * (1 - at) / len(drawn)) ** 0.5
        assert abs((drawn <= size).mean() - at) <= 3.5 * error, (size, share)


# the draws of one workload do not depend on anything else


def drawn(traffic: Sequence[dict[str, Any]], index: int, **more: Any) -> list[tuple[Any, ...]]:
    flows = run(*traffic, duration="10ms", **more).flows.filter(traffic=index)
    return flows.select("start_s", "src", "dst", "size_bytes").rows()


OTHER = {"kind": "udp", "from": "h1", "to": "h2", "rate": "1Gbps", "pattern": "poisson"}
UNRELATED: dict[str, dict[str, Any]] = {
    "queue": {"queue": {"kind": "red", "limit": "20kB", "min": "3kB", "max": "9kB"}},
    "stack": {"tcp": {"stack": "linux-6", "congestion_control": "bbr"}},
    "network": {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}},
    "routing": {"routing": "ecmp", "link": {"rate": "10Gbps"}},
    "losses": {"loss": [{"kind": "random", "probability": 0.01}]},
}


@pytest.mark.parametrize("setting", UNRELATED)
def test_what_arrives_does_not_depend_on_other_settings(setting: str) -> None:
    """So that what is compared differs by the setting alone (common random numbers)."""
    traffic = [poisson(sizes="web-search-packets", load=2, overload=True)]
    assert drawn(traffic, 0, **UNRELATED[setting]) == drawn(traffic, 0)


@pytest.mark.parametrize("setting", ["queue", "losses"])
def test_who_waits_for_answers_still_draws_the_same(setting: str) -> None:
    """A user's n-th object and a connection's n-th request, although their times differ."""
    web = {"kind": "web", "servers": "h0", "clients": "h1..h3", "sessions": 3, "think": "100us"}
    asks = {"kind": "request-response", "servers": "h4", "clients": "h5..h7", "request": "1B..9kB"}
    asks |= {"response": "1kB..90kB"}

    def sizes(**more: Any) -> list[list[int]]:
        users = web | {"session_gap": "1us", "object_gap": "1us"}
        result = run(users, asks, duration="30ms", **more)
        objects = result.flows.filter(traffic=0).sort("start_s")
        of_user = [objects.filter(dst=client)["size_bytes"].to_list() for client in ("h1", "h2")]
        asked = result.requests.join(result.flows.select("flow", "dst"), "flow").sort("request")
        return [
            *of_user,
            *(asked.filter(dst=client)["request_bytes"].to_list() for client in ("h5", "h6")),
            *(asked.filter(dst=client)["response_bytes"].to_list() for client in ("h5", "h6")),
        ]

    for one, other in zip(sizes(), sizes(**UNRELATED[setting]), strict=True):
        both = min(len(one), len(other))
        assert both >= 5
        assert one[:both] == other[:both]


def test_what_arrives_depends_on_the_seed_and_on_no_other_traffic() -> None:
    alone = drawn([poisson()], 0)
    assert (
        alone == drawn([poisson(), poisson(sizes="1kB"), OTHER], 0) == drawn([OTHER, poisson()], 1)
    )
    one, other = ([row[0] for row in rows] for rows in (alone, drawn([poisson()], 0, seed=2)))
    assert not set(one) & set(other)
    twice = [poisson(), poisson()]
    assert not set(drawn(twice, 0)) & set(drawn(twice, 1))


# bulk and UDP


def test_bulk_flows_start_at_intervals_plus_a_uniform_jitter() -> None:
    ends = {"from": "h1..h7", "to": "h0", "flows": 60, "start": "1ms", "size": "1B"}
    flows = run(ends | {"start_interval": "10us", "start_jitter": "30us"}).flows.sort("flow")
    late = flows["start_s"].to_numpy() - 1e-3 - 10e-6 * np.arange(420)
    assert_uniform(late, 0, 30e-6)
    assert_unrelated(late[1:], late[:-1].tolist())
    assert flows["src"].to_list() == [f"h{i}" for i in range(1, 8) for _ in range(60)]


def sending_times(pattern: dict[str, Any]) -> np.ndarray:
    """When the datagrams of a source of 8 Gbit/s and 1000 B leave the application."""
    source = {"kind": "udp", "from": "h1", "to": "h0", "rate": "8Gbps", "payload": "1000B"}
    scenario = {
        "name": "udp",
        "duration": "3ms",
        "topology": {"kind": "star", "hosts": 2},
        "link": {"rate": "100Gbps"},
        "host": {"profile": "none", "delay": "1us", "delay_spread": "0s", "processing": "0s"},
        "traffic": [source | {"start": "100us", "start_jitter": "0s"} | pattern],
    }
    result = fp.run(scenario, seed=3, observation=fp.Observation(packets=["h1:0"]))
    return result.packets["time_s"].to_numpy() - 1e-6


def test_a_constant_source_sends_one_datagram_per_payload_over_rate() -> None:
    times = sending_times({"stop": "2ms"})
    # one is due at `stop`, and still sent
    assert times == pytest.approx(100e-6 + 1e-6 * np.arange(1901), abs=1e-12)


def test_a_poisson_source_has_exponential_gaps() -> None:
    assert_exponential(np.diff(sending_times({"pattern": "poisson"}), prepend=100e-6), 1e-6)


def test_an_on_off_source_has_exponential_bursts_and_silences() -> None:
    """While it is on, it sends at its rate; in each microsecond of that a burst may end."""
    on_off = {"pattern": "on-off", "on_mean": "5us", "off_mean": "3us"}
    silent = np.diff(sending_times(on_off)) - 1e-6
    ended = silent > 1e-10
    share = 1 - np.exp(-1 / 5)
    assert ended.mean() == pytest.approx(share, abs=3.3 * (share / len(silent)) ** 0.5)
    # n silences in a row have an Erlang distribution, and n a Poisson one
    numbers = np.arange(1, 9)
    weights = stats.poisson.pmf(numbers, 1 / 5) / share

    def cdf(times: np.ndarray) -> np.ndarray:
        parts = [
            w * stats.gamma.cdf(times, n, scale=3e-6)
            for n, w in zip(numbers, weights, strict=False)
        ]
        return np.sum(parts, axis=0)

    assert stats.kstest(silent[ended], cdf).pvalue > LEAST_P


# workloads that wait for what they have sent


def test_a_round_of_incast_has_a_block_per_sender_and_ends_with_the_last_one() -> None:
    incast = {"kind": "incast", "from": "all", "to": "h0", "total": "100000B", "rounds": 100}
    result = run(incast | {"pause": "7us", "jitter": "20us", "start": "1ms"})
    rounds = result.rounds
    assert rounds["round"].to_list() == list(range(100))
    assert rounds["start_s"][0] == 0.001
    pauses = rounds["start_s"].to_numpy()[1:] - rounds["end_s"].to_numpy()[:-1]
    assert pauses == pytest.approx(7e-6, abs=1e-12)
    flows = result.flows.sort("start_s")
    assert flows["size_bytes"].unique().to_list() == [14286]  # a seventh of it, rounded up
    late = []
    for number, (start, end) in enumerate(rounds.select("start_s", "end_s").iter_rows()):
        own = flows[7 * number : 7 * number + 7]
        assert sorted(own["src"]) == [f"h{i}" for i in range(1, 8)]
        assert own["end_s"].max() == pytest.approx(end, abs=1e-12)
        late += (own["start_s"] - start).to_list()
    assert_uniform(late, 0, 20e-6)


WEB: dict[str, Any] = {
    "kind": "web", "servers": "h0..h2", "clients": "h3..h7", "sessions": 5, "session_gap": "1us",
    "object_packets": [4, 100],
}  # fmt: skip
"""Each client is one user."""


def test_web_users_think_when_the_last_object_of_a_page_has_arrived() -> None:
    found = run(WEB | {"objects": [3, 3], "object_gap": "50us", "think": "80us"}).flows
    thoughts: list[float] = []
    gaps: list[float] = []
    for _, own in found.group_by("dst"):
        starts, ends = own.sort("start_s").select("start_s", "end_s").get_columns()
        over = 0.0
        for first in range(0, len(starts) - 3, 3):
            thoughts += [starts[first] - over] if first else []
            gaps += starts[first : first + 3].diff()[1:].to_list()
            over = ends[first : first + 3].max()
    assert_exponential(thoughts, 80e-6)
    assert_exponential(gaps, 50e-6)


def test_web_users_who_think_from_the_start_of_a_page_wait_for_nothing() -> None:
    pages = WEB | {"objects": [1, 1], "think": "20us", "think_from": "start"}
    found = run(pages, duration="10ms").flows
    apart: list[float] = []
    for _, own in found.group_by("dst"):
        own = own.sort("start_s")
        apart += own["start_s"].diff()[1:].to_list()
    assert_exponential(apart, 20e-6)
    # a transfer takes longer than a page waits for the next
    assert found["fct_s"].min() > 10e-6  # type: ignore[operator]


def test_web_pages_come_from_one_server_and_have_pareto_objects() -> None:
    """The objects of a page start so close together that a gap is a thought."""
    found = run(WEB | {"object_gap": "1ns", "think": "500us"}, duration="200ms").flows
    counts, servers = Counter[int](), Counter[str]()
    for _, own in found.group_by("dst"):
        number = (own.sort("start_s")["start_s"].diff().fill_null(1) > 1e-6).cum_sum()
        for _, page in own.sort("start_s").group_by(number):
            counts[page.height] += 1
            [server] = page["src"].unique()
            servers[server] += 1
    assert_counts(servers, dict.fromkeys(("h0", "h1", "h2"), 1))
    assert_counts(counts, dict.fromkeys(range(2, 8), 1))
    packets = found["size_bytes"].to_numpy() / 500
    assert (packets == packets.astype(int)).all()
    for size in (4, 5, 7, 10, 20, 50, 99):
        share = (1 - (4 / (size + 0.5)) ** 1.2) / (1 - (4 / 100) ** 1.2)
        error = (share * (1 - share) / len(packets)) ** 0.5
        assert (packets <= size).mean() == pytest.approx(share, abs=3.5 * error)


def test_users_of_the_web_begin_at_exponential_gaps() -> None:
    web = {"kind": "web", "servers": "h0", "clients": "h1..h7", "sessions": 300, "start": "1ms"}
    many = run(web | {"session_gap": "200us", "object_gap": "1s", "think": "9s"}).flows
    starts = np.sort(many["start_s"].to_numpy())
    assert starts[0] == 0.001
    assert_exponential(np.diff(starts), 200e-6)


def test_a_client_asks_again_after_its_thought() -> None:
    asks: dict[str, Any] = {
        "kind": "request-response", "servers": ["h0", "h1", "h2"], "clients": ["h2", "h5"],
        "connections": 4, "requests": 100, "request": "100B..300B", "response": "1kB..9kB",
        "think": {"kind": "exponential", "mean": "20us"},
    }  # fmt: skip
    result = run(asks, duration="1s")
    requests = result.requests.sort("flow", "request")
    thoughts = []
    for _, own in requests.group_by("flow"):
        assert own["request"].to_list() == list(range(100))
        thoughts += (own["start_s"][1:] - own["end_s"][:-1]).to_list()
    assert_exponential(thoughts, 20e-6)
    assert_uniform(requests["request_bytes"].to_numpy(), 100, 300)
    assert_uniform(requests["response_bytes"].to_numpy(), 1000, 9000)
    assert_unrelated(requests["request_bytes"].to_numpy(), requests["response_bytes"].to_list())
    # in turn, and none to itself
    pairs = sorted(result.flows.select("dst", "src").iter_rows())
    assert pairs == sorted(
        [("h2", server) for server in ("h0", "h1", "h0", "h1")]
        + [("h5", server) for server in ("h2", "h0", "h1", "h2")]
    )


def test_periodic_transfers_start_once_per_period_and_never_two_at_a_time() -> None:
    periodic = {"kind": "periodic", "from": ["h1", "h2"], "to": "h0", "period": "100us"}
    quick = run(periodic | {"size": "1kB", "start": "1ms", "stop": "2ms"}).rounds
    expected = sorted(2 * [1e-3 + 100e-6 * i for i in range(10)])
    assert sorted(quick["start_s"]) == pytest.approx(expected, abs=1e-12)
    # 2.5 MB take 200 us of the line: each transfer waits for the one before it, and starts at once
    slow = run(periodic | {"from": "h1", "size": "2500kB"}).rounds
    waited = slow["start_s"].to_numpy()[1:] - slow["end_s"].to_numpy()[:-1]
    assert waited[:-1] == pytest.approx(0, abs=1e-12)
    late = run(periodic | {"size": "1kB", "jitter": "40us"}).rounds
    offsets = np.mod(late["start_s"].to_numpy(), 100e-6)
    assert_uniform(offsets, 0, 40e-6)


def test_a_periodic_transfer_that_waits_for_another_keeps_its_jitter() -> None:
    """It starts when it is due, or when the transfer before it is complete, whichever is later."""
    periodic = {"kind": "periodic", "from": "h1", "to": "h0", "period": "100us"}
    rounds = run(periodic | {"size": "400kB", "jitter": "80us"}).rounds.sort("start_s")
    starts, ends = rounds["start_s"].to_numpy()[1:-1], rounds["end_s"].to_numpy()[:-2]
    over = ends - 100e-6 * np.arange(1, len(ends) + 1)
    starts, ends, over = starts[over > 0], ends[over > 0], over[over > 0]
    assert (starts >= ends - 1e-12).all()
    at_once, share = starts < ends + 1e-12, over / 80e-6
    error = (share * (1 - share)).sum() ** 0.5
    assert abs(at_once.sum() - share.sum()) < 3.3 * error


@pytest.mark.parametrize(
    "traffic",
    [
        poisson(),
        {"kind": "incast", "from": "all", "to": "h0", "block": "1kB", "jitter": "1us"},
        {
            "kind": "web", "servers": "h0", "clients": "h1..h7", "think": "10us",
            "object_gap": "1us", "session_gap": "1us",
        },
        {"kind": "periodic", "from": "all", "to": "h0", "size": "1kB", "period": "10us"},
    ],
    ids=lambda one: one["kind"],
)  # fmt: skip
def test_nothing_starts_before_start_or_from_stop_on(traffic: dict[str, Any]) -> None:
    starts = run(traffic | {"start": "1ms", "stop": "2ms"}, duration="10ms").flows["start_s"]
    assert starts.len() > 20
    assert starts.is_between(0.001, 0.002, closed="left").all()


def test_a_trace_is_played_as_it_is(tmp_path: Any) -> None:
    rows = pl.DataFrame(
        {
            "start_s": [0.0, 1e-6, 1e-6, 5e-3],
            "src": ["h1", "h2", "h3", "h1"],
            "dst": ["h0", "h0", "h5", "h0"],
            "size_bytes": [1, 20_000, 3, 4],
        }
    )
    rows.write_csv(tmp_path / "trace.csv")
    trace = {"kind": "trace", "file": str(tmp_path / "trace.csv"), "start": "1ms", "stop": "5ms"}
    played = run(trace).flows.select("start_s", "src", "dst", "size_bytes")
    assert played["start_s"].to_list() == pytest.approx([0.001, 0.001001, 0.001001], abs=1e-12)
    assert played.drop("start_s").rows() == rows.drop("start_s").rows()[:3]
