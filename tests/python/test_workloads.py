"""Workloads from the scenario to the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asking import HOSTS, asked, lowered
from fairport import figures, plot, run, scenario
from fairport.errors import ScenarioError
from fairport.metrics import completion
from fairport.metrics.completion import Span
from fairport.quantities import group_label
from fairport.workloads import read_cdf
from fairport.workloads.cdf import Cdf, CdfError, parse


def test_a_file_that_has_changed_is_another_distribution(tmp_path: Path) -> None:
    file = tmp_path / "sizes.cdf"
    # a twentieth and a sixtieth would be rounded to 0 and are drawn as 1
    for largest, mean_bytes in ((10, 5.05), (30, 15 + 1 / 60)):
        file.write_text(f"0 0\n{largest} 1", encoding="utf-8")
        assert read_cdf(str(file)).mean_bytes == pytest.approx(mean_bytes)


def test_a_file_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "sizes.cdf"
    file.write_text("1, 0.5\n3, 1\n", encoding="utf-8-sig")
    assert read_cdf(str(file)).points[0] == (1, 500_000_000)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 0\n10 0.5\n5 1", "does not rise in line 3: 5 1 comes after 10 0.5"),
        ("0 0\n10 0.5\n20 0.4\n30 1", "does not rise in line 3"),
        ("0 0\n10 0.97", "ends at 0.97 and not at 1"),
        ("-1 0\n10 1", "has a size of -1 in line 1"),
        ("0 0\n1000000000001 1", "has a size of 1000000000001 in line 2"),
        ("0 0\n10 1.5", "has a share of 1.5 in line 2"),
        ("0 0\nten 1", "does not have two numbers in line 2"),
        ("nan 0\n10 1", "has a size of nan in line 1"),
        ("unit x\n0 0\n10 1", "has no number of bytes in line 1"),
        ("10 1", "has fewer than two points"),
    ],
)
def test_a_file_that_is_no_cdf_is_refused(text: str, problem: str) -> None:
    with pytest.raises(CdfError) as error:
        parse(text)
    assert problem in error.value.problem
    assert error.value.remedy


def test_a_cdf_may_have_comments_commas_and_a_unit() -> None:
    cdf = parse("# sizes\nunit 500\n\n1, 0.5\n3, 1  # most\n")
    assert cdf.points == ((1, 500_000_000), (3, 1_000_000_000))
    assert cdf.mean_bytes == 500 * (0.5 * 1 + 0.5 * 2)


def test_a_load_is_lowered_with_its_capacity() -> None:
    poisson = {"kind": "poisson", "load": 0.6, "from": "h0..h3", "flows": 7}
    workload = lowered(poisson).workloads[0]
    plan = workload["pattern"]
    assert (plan["load_ppm"], plan["capacity_bps"], plan["flows"]) == (600_000, None, 7)
    assert (len(workload["senders"]), len(workload["receivers"])) == (4, 16)
    plan = lowered(poisson | {"capacity": "10Gbps"}).workloads[0]["pattern"]
    assert plan["capacity_bps"] == 10**10


def test_a_load_is_a_share_of_the_senders_own_links() -> None:
    links = [{"ends": [host, "s"], "rate": "10Gbps"} for host in "abc"]
    topology = {"kind": "graph", "hosts": ["a", "b", "c"], "switches": ["s"], "links": links}
    poisson = {"kind": "poisson", "load": 0.2, "from": ["a", "b"], "to": "c", "sizes": "100kB"}
    one = {"name": "fast", "duration": "20ms", "topology": topology, "traffic": [poisson]}
    # 4 Gbit/s in flows of 0.8 Mbit: 100 in 20 ms, within four standard deviations
    assert 60 <= run(one).flows.height <= 140


def test_flows_one_after_another_stop_in_the_opposite_order() -> None:
    """The convergence test: 30 s apart, for 270, 210, 150, 90 and 30 s (Alizadeh et al. 2010)."""
    flows = lowered(
        {
            "from": "h1..h5",
            "to": "h0",
            "start_interval": "30s",
            "stop": "270s",
            "stop_interval": "30s",
        },
        duration="300s",
    ).flows
    assert [flow["start_ps"] // 10**12 for flow in flows] == [0, 30, 60, 90, 120]
    spans = [(flow["stop_ps"] - flow["start_ps"]) // 10**12 for flow in flows]
    assert spans == [270, 210, 150, 90, 30]


def test_in_a_permutation_every_host_sends_to_one_other_and_receives_from_one() -> None:
    traffic = {"from": "h3..h9", "to": "permutation", "flows": 2, "size": "1kB"}
    others = [{"from": "h0", "to": "h1", "size": "1kB"}]
    udp = {"kind": "udp", "from": "all", "to": "permutation", "rate": "1Mbps"}
    job = lowered(*others, traffic, udp)
    assert job.document["permutations"] == [1, 2]
    drawn = set()
    for seed in (1, 2):
        flows = run(asked(*others, traffic, udp, duration="3ms"), seed=seed).flows
        for part, hosts, each in ((1, [f"h{n}" for n in range(3, 10)], 2), (2, HOSTS, 1)):
            pairs = flows.filter(traffic=part).select("src", "dst").rows()
            assert sorted(src for src, _ in pairs) == sorted(hosts * each)
            assert sorted(dst for _, dst in pairs) == sorted(hosts * each)
            assert len(set(pairs)) == len(hosts), "all flows of a host have one receiver"
            assert all(src != dst for src, dst in pairs)
            drawn.add(tuple(pairs))
    assert len(drawn) == 4


def test_a_permutation_of_one_host_is_refused_and_a_host_may_have_its_name() -> None:
    with pytest.raises(ScenarioError, match=r'traffic\.0\.from: "h1" selects one host') as error:
        lowered({"from": "h1", "to": "permutation"})
    assert error.value.remedy == "select two or more hosts"
    ends = ["h0", "permutation"]
    graph = {"kind": "graph", "hosts": ends, "switches": ["s"]}
    graph["links"] = [{"ends": [host, "s"]} for host in ends]
    flows = run(asked({"from": "all", "to": "permutation"}, topology=graph), seed=1).flows
    assert flows.select("src", "dst").rows() == [("h0", "permutation")]


def test_a_flow_that_would_start_after_the_run_is_refused() -> None:
    # it would count as one that was starved
    late = {"from": "h1..h5", "to": "h0", "start_interval": "80ms"}
    with pytest.raises(ScenarioError) as error:
        lowered(late)
    assert error.value.field == "traffic.0.start_interval"
    assert "makes flow 4, from `h5`, start at 320ms, and the run ends" in error.value.problem


def test_a_fixed_total_is_split_evenly_among_the_senders() -> None:
    incast = {"kind": "incast", "from": "h1..h3", "to": "h0"}
    plans = [
        lowered(incast | size).workloads[0]["pattern"]
        for size in ({"block": "1kB"}, {"total": "1kB"})
    ]
    assert [plan["block_bytes"] for plan in plans] == [1000, 334]


@pytest.mark.parametrize(
    ("traffic", "field", "problem"),
    [
        ({"kind": "poisson", "load": 0.0}, "load", "is not a load above 0"),
        ({"kind": "poisson", "load": 1.2}, "load", "is more than the network can carry"),
        ({"kind": "poisson", "load": 0.5, "sizes": "web"}, "sizes", "is not a distribution"),
        ({"kind": "poisson", "load": 0.5, "to": "h3", "from": "h1..h4"}, "from", "receiver `h3`"),
        ({"kind": "poisson", "load": 0.5, "to": "h99"}, "to", "names `h99`"),
        ({"kind": "incast", "from": "all", "to": "h0"}, "block", "is missing"),
        (
            {"kind": "incast", "from": "all", "to": "h0", "block": "1kB", "total": "1kB"},
            "block",
            "cannot be combined with",
        ),
        ({"kind": "udp", "from": "h1", "to": "h0"}, "rate", "is missing"),
        (
            {"kind": "udp", "from": "h1", "to": "h0", "rate": "1Mbps", "pattern": "on-off"},
            "on_mean",
            "is missing",
        ),
        ({"from": "h1", "to": "h0", "stop": "0s"}, "stop", "is not after `start`"),
        ({"from": "h1", "to": "h0", "stop_interval": "1s"}, "stop_interval", "has no `stop`"),
        (
            {"from": "h1..h3", "to": "h0", "stop": "2ms", "stop_interval": "1ms"},
            "stop_interval",
            "makes flow 2, from `h3`, stop before it starts",
        ),
        ({"kind": "web", "servers": "h1", "clients": "h1..h2"}, "clients", "includes the sender"),
        (
            {"kind": "web", "servers": "h1", "clients": "h2", "objects": [7, 2]},
            "objects",
            "is not a smallest and a largest",
        ),
        (
            {"kind": "web", "servers": "h1", "clients": "h2", "objects": [2, 2**60]},
            "objects",
            "number from 1 to 1000000",
        ),
        ({"kind": "periodic", "from": "h1", "to": "h0", "size": "1kB"}, "period", "is missing"),
        ({"kind": "burst"}, "kind", "is not one of"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(
    traffic: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        lowered(traffic)
    assert error.value.field == f"traffic.0.{field}"
    assert problem in error.value.problem
    assert error.value.remedy


def test_an_interval_that_is_too_long_is_shown_with_its_unit() -> None:
    with pytest.raises(ScenarioError) as error:
        lowered({"from": "h1..h3", "to": "h0", "stop": "2ms", "stop_interval": "1ms"})
    assert str(error.value).startswith('workload: traffic.0.stop_interval: "1ms" makes flow 2')


def test_a_load_above_1_can_be_allowed() -> None:
    plan = lowered({"kind": "poisson", "load": 1.2, "overload": True}).workloads[0]["pattern"]
    assert plan["load_ppm"] == 1_200_000


def test_slowdown_is_against_the_empty_network_and_by_size() -> None:
    flows = pl.DataFrame(
        {
            "protocol": ["tcp"] * 5,
            "start_s": [0.0, 1.0, 1.0, 1.0, 1.0],
            "size_bytes": [1, 100_000, 100_001, 20_000_000, None],
            "end_s": [9.0, 3.0, 7.0, None, None],
            "fct_s": [9.0, 2.0, 6.0, None, None],
            "ideal_fct_s": [1.0, 1.0, 2.0, 4.0, None],
        },
        schema_overrides={"size_bytes": pl.UInt64},
    )
    groups = completion.summary(flows, Span(0.5, 10.0, end_s=10.0))
    assert groups is not None
    assert list(groups) == ["all", "<= 100 KB", "100 KB-10 MB", "> 10 MB"]
    shown = [group_label(name) for name in groups]
    assert shown == ["all", "≤ 100 kB", "100 kB to 10 MB", "> 10 MB"]
    assert (groups["all"]["flows"], groups["all"]["completed"]) == (3, 2)
    assert groups["<= 100 KB"]["slowdown_max"] == 2.0
    assert groups["100 KB-10 MB"]["slowdown_p99"] == 3.0
    assert groups["> 10 MB"]["slowdown_median"] is None
    # of three transfers two are over after 2 s and 6 s; the third is under way at the age of 9 s
    assert groups["all"]["fct_median_s"] == 6.0
    assert (groups["all"]["fct_p99_s"], groups["all"]["fct_max_s"]) == (9.0, 9.0)


def test_a_run_of_several_workloads_tells_them_apart() -> None:
    result = run(
        asked(
            {"kind": "bulk", "from": "h1..h2", "to": "h0"},
            {"kind": "udp", "from": "h3", "to": "h0", "rate": "100Mbps"},
            {"kind": "incast", "from": "h5..h8", "to": "h4", "block": "20kB", "rounds": 3},
            {"kind": "poisson", "from": "h8..h15", "to": "h8..h15", "load": 0.3, "flows": 20},
            measure={"from": "0s"},
        )
    )
    counts = dict(result.flows.group_by("workload").len().iter_rows())
    assert counts == {"bulk": 2, "udp": 1, "incast": 12, "poisson": 20}
    assert result.rounds["round"].to_list() == [0, 1, 2]
    summary = result.summary
    assert (
        sum(one["flows"] for one in summary["classes"].values()) == 2
    )  # only bulk flows are compared
    assert summary["fct"]["all"]["flows"] == 32
    assert summary["udp"]["flows"] == 1
    tcp = result.flows.filter(pl.col("protocol") == "tcp")
    assert summary["goodput_bps_total"] == pytest.approx(tcp["goodput_bps"].sum())
    udp = result.flows.filter(pl.col("protocol") == "udp").row(0, named=True)
    in_flight = udp["segments_sent"] - udp["drops"] - udp["delivered_bytes"] / 1472
    assert 0 <= in_flight <= 200


def test_a_scenario_of_workloads_is_written_back_as_it_was(tmp_path: Path) -> None:
    mine = asked(
        {"kind": "web", "servers": "h1", "clients": "h2", "objects": [1, 2]},
        {"kind": "poisson", "load": 0.5, "sizes": "data-mining"},
    )
    file = tmp_path / "mine.toml"
    file.write_text(mine.to_toml(), encoding="utf-8")
    assert scenario(file) == mine


@pytest.mark.parametrize("queue", ["drop-tail", "red", "fq-codel"])
def test_losses_are_at_the_port_that_was_named(queue: str) -> None:
    bulk = {"kind": "bulk", "from": "h1", "to": "h0"}
    loss = {"at": "edge0.0:0", "kind": "random", "probability": 0.01}
    asked_for = asked(bulk, loss=[loss], queue={"kind": queue})
    drops = run(asked_for).drops.filter(pl.col("reason") == "loss")
    assert drops["port"].unique().to_list() == ["edge0.0:0"]


def test_a_loss_at_an_unknown_port_is_refused() -> None:
    bulk = {"kind": "bulk", "from": "h1", "to": "h0"}
    loss = {"at": "edge0.0:0", "kind": "random", "probability": 0.01}
    with pytest.raises(ScenarioError) as error:
        run(asked(bulk, loss=[loss | {"at": "edge9.9:0"}]))
    assert error.value.field == "loss.0.at"


def test_a_run_with_transfers_has_the_figure_of_their_slowdown() -> None:
    result = run(asked({"kind": "poisson", "load": 0.3}))
    assert "fct" in figures.kinds(result)
    legend = plot(result, "fct").axes[0].get_legend()
    shown = [text.get_text() for text in legend.get_texts()]
    groups = ["≤ 100 kB", "100 kB to 10 MB", "> 10 MB"]
    assert [text.split(":")[0] for text in shown] == groups[: len(shown)]
    assert "fct" not in figures.kinds(run(asked({"from": "h1", "to": "h0"})))


ASKS = {"kind": "request-response", "servers": "h1", "clients": "h0", "response": "20kB"}


def test_requests_have_response_times_in_a_table_and_in_the_summary() -> None:
    more = {"clients": "h4..h7", "requests": 5, "think": {"kind": "exponential", "mean": "1ms"}}
    result = run(asked(ASKS | more))
    requests = result.requests
    assert requests.height == 20
    assert requests["response_bytes"].unique().to_list() == [20_000]
    assert (
        requests.group_by("flow").agg(pl.col("request").sort())["request"].to_list()
        == [[0, 1, 2, 3, 4]] * 4
    )
    taken = requests["end_s"] - requests["start_s"]
    assert requests["response_s"].to_list() == pytest.approx(taken.to_list())
    figures = result.summary["requests"]
    assert (figures["requests"], figures["answered"]) == (20, 20)
    assert figures["response_mean_s"] == pytest.approx(requests["response_s"].mean())
    assert figures["response_max_s"] == requests["response_s"].max()
    assert result.summary["verdict"]["sentence"].startswith("20 of 20 requests were answered, in ")
    # one flow per connection, from the server to the client
    assert result.flows["src"].unique().to_list() == ["h1"]
    assert result.flows["delivered_bytes"].to_list() == [100_000] * 4
    assert result.summary["fct"] is None


def test_response_times_are_drawn_where_there_are_requests() -> None:
    result = run(asked(ASKS, ASKS | {"clients": "h5", "response": "1MB"}))
    assert figures.kinds(result)[-1] == "requests"
    [panel] = plot(result, "requests").axes
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert [label.partition(":")[0] for label in labels] == ["traffic 0", "traffic 1"]
    answered = result.requests.filter(traffic=0)["response_s"].drop_nulls().sort()
    assert panel.get_lines()[0].get_xdata()[1:] == pytest.approx((answered * 1e3).to_list())
    nothing_yet = run(asked(ASKS, duration="10us"))
    [panel] = plot(nothing_yet, "requests").axes
    assert [text.get_text() for text in panel.texts] == ["no request was answered"]
    assert nothing_yet.summary["verdict"]["sentence"] == "0 of 1 requests were answered."


def test_quantiles_of_response_times_count_ages_and_what_was_asked() -> None:
    requests = pl.DataFrame(
        {
            "start_s": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
            "response_s": [9.0, 0.1, 0.2, 0.3, None, 9.0],
        }
    )
    figures = completion.requests_summary(requests, Span(1.0, 5.0, end_s=4.15))
    assert figures == {
        "requests": 4,
        "answered": 3,
        "response_mean_s": pytest.approx(0.2),
        "response_median_s": 0.2,
        "response_p95_s": 0.3,  # the request without an answer had waited only 0.15 s
        "response_p99_s": 0.3,
        "response_max_s": 0.3,
    }
    assert completion.requests_summary(requests, Span(6.0, 9.0, end_s=9.0)) is None


def test_a_thought_that_is_a_time_alone_is_always_as_long() -> None:
    plan = lowered(ASKS | {"think": "1ms"}).workloads[0]["pattern"]
    assert plan["think"] == {"kind": "constant", "value_ps": 10**9}


@pytest.mark.parametrize(
    ("sizes", "mean_bytes"),
    [("20kB", 20_000), ("1B..99B", 50), ("web-search", 1_711_250)],
)
def test_sizes_are_fixed_uniform_or_of_a_distribution(sizes: str, mean_bytes: float) -> None:
    plan = lowered(ASKS | {"response": sizes}).workloads[0]["pattern"]
    points = tuple(map(tuple, plan["response"]["points"]))
    assert Cdf(points, plan["response"]["unit_bytes"]).mean_bytes == pytest.approx(mean_bytes)


@pytest.mark.parametrize(
    ("more", "field", "problem"),
    [
        ({"response": "0B"}, "response", "has a size of zero"),
        ({"response": "20 apples"}, "response", "apples"),
        ({"response": "2MB..1kB"}, "response", "does not rise"),
        ({"response": "1kB.."}, "response", "cannot be read as a size"),
        ({"response": "1kB..cats"}, "response", "cannot be read as a size"),
        ({"request": "web-serch"}, "request", "is not a distribution of sizes"),
        ({"requests": 0}, "requests", "is too small"),
        ({"think": "soon"}, "think", "cannot be read as a duration"),
        ({"think": {"kind": "uniform", "min": "2s", "max": "1s"}}, "think.min", "is above `max`"),
        ({"servers": "h0"}, "servers", "includes the receiver `h0`"),
        ({"servers": "h99"}, "servers", "is not a host"),
    ],
)
def test_requests_that_cannot_be_are_refused(
    more: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        lowered(ASKS | more)
    assert error.value.field == f"traffic.0.{field}"
    assert problem in error.value.problem
    assert error.value.remedy


def test_the_picture_of_slowdowns_has_the_summarys_quantiles_though_some_are_under_way() -> None:
    result = run(scenario("web-search").patch({"duration": "20ms"}), seed=1)
    [panel] = plot(result, "fct").axes
    known = [group for name, group in result.summary["fct"].items() if name != "all"]
    assert any(0 < group["completed"] < group["flows"] for group in known)
    ends = [line.get_ydata()[-1] for line in panel.get_lines() if line.get_marker() == "None"]
    assert min(ends) < 1
    dots = [line for line in panel.get_lines() if line.get_marker() == "o"]
    medians = [float(dot.get_xdata()[0]) for dot in dots if dot.get_ydata()[0] == 0.5]
    assert medians == [group["slowdown_median"] for group in known if group["completed"]]


def test_what_traffic_draws_does_not_change_when_more_is_appended() -> None:
    """Runs with one traffic more are compared in pairs if it is the last of the scenario."""
    first = {"kind": "poisson", "load": 0.2, "sizes": "10kB"}
    others: list[dict[str, Any]] = [
        {"kind": "poisson", "load": 0.1, "sizes": "1kB"},
        {"kind": "bulk", "from": "h1", "to": "h0"},
    ]
    star = {"name": "pairs", "duration": "5ms", "topology": {"kind": "star", "hosts": 4}}

    def drawn(*traffic: dict[str, Any]) -> list[tuple[Any, ...]]:
        flows = run({**star, "traffic": list(traffic)}, seed=3).flows
        here = flows.filter(traffic=traffic.index(first)).sort("start_s")
        return here.select("start_s", "src", "dst", "size_bytes").rows()

    alone = drawn(first)
    assert len(alone) > 30
    for other in others:
        assert drawn(first, other) == alone
    # inserted before it, a workload takes the place that decides about its draws
    assert drawn(others[0], first) != alone
