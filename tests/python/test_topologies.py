"""Topologies and routing as scenarios ask for them, and which ports the flows share."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import Command
from fairport import figures, layout
from fairport.errors import InputError, ScenarioError
from fairport.figures import paths as drawing
from fairport.layout import sharing
from fairport.scenario import json_schema

# kind and settings; hosts, switches and links by the formulas of docs/reference/topologies.md
COUNTS = [
    ({"kind": "fat-tree", "k": 6}, (6**3 // 4, 5 * 6**2 // 4, 3 * 6**3 // 4)),
    (
        {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 5},
        (15, 3 + 2, 15 + 3 * 2),
    ),
    (
        {"kind": "three-tier", "aggs": 3, "edges_per_agg": 2, "hosts_per_edge": 4},
        (3 * 2 * 4, 1 + 3 + 3 * 2, 3 + 3 * 2 + 3 * 2 * 4),
    ),
    (
        {"kind": "vl2", "d_a": 6, "d_i": 4, "hosts_per_rack": 2},
        (2 * 6 * 4 // 4, 6 // 2 + 4 + 6 * 4 // 4, 2 * 6 * 4 // 4 + 6 * 4),
    ),
    ({"kind": "bcube", "n": 4, "k": 1}, (4**2, 2 * 4, 2 * 4**2)),
    ({"kind": "star", "hosts": 9}, (9, 1, 9)),
    ({"kind": "dumbbell", "left": 3, "right": 4}, (7, 2, 3 + 4 + 1)),
    ({"kind": "dancehall", "clients": 20, "middle_clients": 2}, (62, 4 + 3, 40 + 4 + 2 + 22)),
    ({"kind": "testbed"}, (4, 3, 6)),
    ({"kind": "two-switch", "peers": 5}, (7, 2, 8)),
]
KINDS = [topology["kind"] for topology, _ in COUNTS]


def scenario(topology: dict[str, Any], **fields: Any) -> fp.Scenario:
    return fp.scenario(
        {
            "name": "some",
            "duration": "10ms",
            "topology": topology,
            "traffic": [{"from": "h1", "to": "h0"}],
            **fields,
        }
    )


@pytest.mark.parametrize(("topology", "counts"), COUNTS, ids=KINDS)
def test_a_topology_has_the_hosts_switches_and_links_of_its_formulas(
    topology: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    built = layout.network(scenario(topology))
    assert (len(built.hosts), len(built.switches), len(built.links)) == counts


def test_every_kind_of_topology_has_formulas() -> None:
    kinds = json_schema()["properties"]["topology"]["discriminator"]["mapping"]
    assert kinds.keys() - {"graph", "file"} == set(KINDS)


def test_a_large_share_is_shown_in_gbits_per_second() -> None:
    star = scenario(
        {"kind": "star", "hosts": 3},
        link={"rate": "100Gbps"},
        traffic=[{"from": "all", "to": "h0"}],
    )
    assert "share 100 Gbit/s, 50 Gbit/s each" in sharing.summary(layout.network(star))


def test_the_smallest_counts_of_the_schema_are_those_that_the_engine_builds() -> None:
    settings = {topology["kind"]: topology for topology, _ in COUNTS}
    checked = 0
    for definition in json_schema()["$defs"].values():
        kind = definition["properties"].get("kind", {}).get("const")
        for field, shown in definition["properties"].items() if kind in settings else ():
            # these two only change rates
            if shown.get("type") != "integer" or field in ("oversubscription", "speedup"):
                continue
            checked += 1
            least = shown["minimum"]
            layout.network(scenario(settings[kind] | {field: least}))
            with pytest.raises(ScenarioError, match=r"a number from|is too small|an even number"):
                layout.network(scenario(settings[kind] | {field: least - 1}))
    assert checked == 19


@pytest.mark.parametrize(("topology", "_counts"), COUNTS, ids=KINDS)
def test_every_topology_runs(topology: dict[str, Any], _counts: tuple[int, int, int]) -> None:
    slow = topology["kind"] == "dancehall"
    result = fp.run(scenario(topology, duration="2s" if slow else "10ms"))
    assert result.flows["delivered_bytes"][0] > 0


def fabric_rates(one: fp.Scenario) -> set[int]:
    built = layout.network(one)
    switches = set(built.switches)
    return {link.rate_bps for link in built.links if switches.issuperset(link.ends)}


def test_an_oversubscribed_fat_tree_has_slower_links_between_switches_alone() -> None:
    tree = {"kind": "fat-tree", "oversubscription": 4}
    assert fabric_rates(scenario(tree)) == {250_000_000}
    assert {link.rate_bps for link in layout.network(scenario(tree)).links} == {
        250_000_000,
        1_000_000_000,
    }


def test_the_fabric_has_the_rate_that_the_scenario_gives_before_the_topologys_own() -> None:
    vl2 = {"kind": "vl2", "hosts_per_rack": 2}
    assert fabric_rates(scenario(vl2)) == {10_000_000_000}
    assert fabric_rates(scenario(vl2, fabric={"rate": "40Gbps"})) == {40_000_000_000}


def test_two_rates_for_the_fabric_are_refused() -> None:
    tree = {"kind": "fat-tree", "oversubscription": 2}
    with pytest.raises(ScenarioError) as error:
        scenario(tree, fabric={"rate": "1Gbps"})
    assert error.value.field == "topology.oversubscription"


LEAF_SPINE = {"kind": "leaf-spine", "leaves": 3, "spines": 3, "hosts_per_leaf": 2}


def test_no_flow_takes_a_failed_link_and_ports_keep_their_names() -> None:
    traffic = [{"from": "all", "to": "h0"}]
    fabric = {"failed": ["spine1", "leaf0:2"]}
    failed = scenario(LEAF_SPINE, routing="ecmp", traffic=traffic, fabric=fabric)
    assert len(layout.network(failed).links) == 3 * 2 + 3 * 3 - 3 - 1
    ports = fp.run(failed).tables["ports"].filter(pl.col("packets") > 0)["port"].to_list()
    # leaf0:2 leads to spine0, whose port 0 leads to leaf0
    assert not {"leaf0:2", "spine0:0"} & set(ports)
    assert not [port for port in ports if port.startswith("spine1:")]
    # all that enters the receiver's rack comes by the one spine that is left
    assert "spine2:0" in ports


def test_a_switch_without_links_is_drawn_in_its_layer() -> None:
    built = layout.network(scenario(LEAF_SPINE, fabric={"failed": ["spine1"]}))
    assert [built.layers[height] for height in (1, 2)] == [
        ["leaf0", "leaf1", "leaf2"],
        ["spine0", "spine1", "spine2"],
    ]


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        (
            {"topology": LEAF_SPINE, "fabric": {"failed": ["spine0:1", "spine7"]}},
            "fabric.failed.1",
            '"spine7" is neither a port with a link nor a switch',
        ),
        (
            {"topology": LEAF_SPINE, "fabric": {"failed": ["leaf1"]}},
            "fabric.failed",
            "leaves no path between `h0` and `h2`",
        ),
        (
            {"topology": {"kind": "fat-tree"}, "routing": "two-level"}
            | {"fabric": {"failed": ["core0"]}},
            "routing",
            '"two-level" needs all links',
        ),
        (
            {"topology": {"kind": "star"}, "routing": "equal-length"},
            "routing",
            '"equal-length" needs core',
        ),
        ({"topology": {"kind": "star"}, "routing": "two-level"}, "routing", "needs a fat-tree"),
        (
            {"topology": {"kind": "fat-tree"}, "routing": {"kind": "equal-length", "core": 4}},
            "routing.core",
            "is not one of the 4 cores",
        ),
        (
            {"topology": {"kind": "star"}, "fabric": {"delay": "1us"}},
            "fabric.delay",
            '"1us" is given',
        ),
        ({"topology": {"kind": "star"}, "routing": "ospf"}, "routing", "is not one of"),
        ({"topology": {"kind": "fat-tree", "k": 5}}, "topology.k", "even"),
        ({"topology": {"kind": "vl2", "d_a": 5}}, "topology.d_a", "is odd"),
        ({"topology": {"kind": "bcube", "n": 64, "k": 8}}, "topology", "than the limit of 65536"),
        (
            {
                "topology": {
                    "kind": "graph",
                    "hosts": ["h0", "h1", "h2"],
                    "switches": ["s", "t"],
                    "links": [{"ends": [f"h{i}", "s" if i < 2 else "t"]} for i in range(3)],
                }
            },
            "topology.hosts.2",
            '"h2" is not connected with `h0`',
        ),
    ],
)
def test_what_cannot_be_built_is_named_with_a_remedy(
    fields: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        layout.network(scenario(**fields))
    assert error.value.field == field
    assert problem in str(error.value)
    assert error.value.remedy


def test_a_routing_by_its_name_is_the_table_with_its_kind() -> None:
    tree = {"kind": "fat-tree"}
    by_name = scenario(tree, routing="spray")
    assert by_name == scenario(tree, routing={"kind": "spray"})
    assert fp.scenario(by_name.document()) == by_name
    assert by_name.patch({"routing": "ecmp"}).patch({"routing.hash": "ripl"}).resolved()[
        "routing"
    ] == {"kind": "ecmp", "hash": "ripl"}


def outcast(routing: str | dict[str, Any]) -> layout.Network:
    return layout.network(fp.scenario("outcast").patch({"routing": routing}))


def test_the_outcast_has_an_ingress_port_of_its_own_at_the_expected_bottleneck() -> None:
    port = sharing.expected_bottleneck(outcast("destination-suffix"))
    assert port is not None
    assert port.port == "edge0.0:0"
    assert port.by_ingress == {"edge0.0:2": 14, "edge0.0:1": 1}
    assert port.share_bps == pytest.approx(1e9 / 15)


def test_a_shaper_is_the_bottleneck_that_it_makes() -> None:
    shaper = {"kind": "tbf", "rate": "100Mbps", "burst": "20KB", "hosts": False}
    several = scenario(
        {"kind": "two-switch", "peers": 3}, shaper=shaper, traffic=[{"from": "all", "to": "h0"}]
    )
    network = layout.network(several)
    bottleneck = sharing.expected_bottleneck(network)
    assert bottleneck is not None
    assert (bottleneck.port, bottleneck.share_bps) == ("s0:0", 25e6)
    assert network.rates_bps()["h1:0"] == 10**9


def test_under_equal_length_routing_all_flows_come_from_above_and_keep_their_hop_class() -> None:
    network = outcast("equal-length")
    port = sharing.expected_bottleneck(network)
    assert port is not None
    assert set(port.by_ingress) == {"edge0.0:2", "edge0.0:3"}
    assert sum(port.by_ingress.values()) == 15
    assert Counter(flow.hops for flow in network.flows) == {2: 1, 4: 2, 6: 12}
    assert {len(route) for flow in network.flows for route in flow.forward} == {6}


def test_with_one_core_for_all_the_bottleneck_is_the_first_port_that_flows_share() -> None:
    scenario = fp.scenario("outcast").patch({"routing": {"kind": "equal-length", "core": 0}})
    port = sharing.expected_bottleneck(layout.network(scenario))
    assert port is not None
    assert port.port == "core0:0"
    assert sorted(port.by_ingress.values()) == [3, 4, 4, 4]


def test_by_packet_every_flow_has_a_path_of_six_links_by_way_of_each_core() -> None:
    network = outcast({"kind": "equal-length", "per": "packet"})
    for flow in network.flows:
        assert {len(route) for route in flow.forward} == {6}
        cores = sorted(port for route in flow.forward for port in route if port.startswith("core"))
        assert cores == [f"core{core}:0" for core in range(4)]
    ports = {port.port: port for port in sharing.shared_ports(network)}
    assert sharing.expected_bottleneck(network) == ports["edge0.0:0"]
    assert ports["edge0.0:0"].by_ingress == {"edge0.0:2": 15, "edge0.0:3": 15}
    # each core and each of the two switches below it carries its part of the fifteen
    shares = [ports[name].share_bps * 15 / 1e9 for name in ("core0:0", "agg0.0:0", "edge0.0:0")]
    assert shares == [4, 2, 1]


def test_a_sprayed_flow_has_all_its_shortest_paths() -> None:
    paths = Counter(len(flow.forward) for flow in outcast("spray").flows)
    assert paths == {1: 1, 2: 2, 4: 12}


def test_a_hash_of_flows_depends_on_the_seed_and_ripls_does_not() -> None:
    def routes(routing: str, hash_: str, seed: int) -> list[Any]:
        patch = {"routing": {"kind": routing, "hash": hash_}, "seed": seed}
        network = layout.network(fp.scenario("outcast").patch(patch))
        return [flow.forward for flow in network.flows]

    assert routes("ecmp", "seeded", 1) != routes("ecmp", "seeded", 2)
    assert routes("ecmp", "ripl", 1) == routes("ecmp", "ripl", 2)


def test_names_of_nodes_fit_into_the_figure_of_the_paths_or_are_left_out() -> None:
    def names(nodes: list[str]) -> list[str]:
        links = [{"ends": [node, "s"], "rate": "1Gbps"} for node in nodes]
        graph = {"kind": "graph", "hosts": nodes, "switches": ["s"], "links": links}
        picture = drawing.draw(
            layout.network(scenario(graph, traffic=[{"from": nodes[1], "to": nodes[0]}]))
        )
        texts = [text for text in picture.axes[0].texts if text.get_position()[1] == 0]
        boxes = sorted(
            (box.x0, box.x1)
            for box in (text.get_window_extent() for text in texts)
            if box.width > 1
        )
        assert all(right <= left for (_, right), (left, _) in itertools.pairwise(boxes))
        return [text.get_text() for text in texts if text.get_text().strip()]

    assert names([f"h{i}" for i in range(16)]) == [f"h{i}" for i in range(16)]
    long = names([f"{i}-server-of-a-rack-with-a-long-name" for i in range(6)])
    assert [name[0] for name in long] == list("012345")
    assert all("…" in name for name in long)
    # the ends of these are alike
    assert names([f"server-of-a-rack-{i}-with-a-long-name" for i in range(6)]) == []


def test_a_figure_of_the_paths_is_a_png_or_svg(tmp_path: Path) -> None:
    network = outcast("destination-suffix")
    figures.save_as(drawing.draw(network), tmp_path / "paths.svg", "--figure", force=False)
    drawn = (tmp_path / "paths.svg").read_text(encoding="utf-8")
    assert "edge0.0:0: 1 + 14 flows from 2 ingress ports" in drawn
    with pytest.raises(InputError, match="is neither PNG, SVG nor PDF"):
        figures.require_file(tmp_path / "paths.txt", "--figure", force=False)


def test_in_the_figure_of_a_wide_network_every_host_is_seen_between_the_lines() -> None:
    racks = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 12}
    network = layout.network(scenario(racks, traffic=[{"kind": "poisson", "load": 0.1}]))
    axes = drawing.draw(network).axes[0]
    # matplotlib draws no box round an empty text
    assert all(text.get_text() for text in axes.texts)
    of_hosts = [line for line in axes.lines if min(line.get_ydata()) == 0]
    wide_points = sum(line.get_linewidth() for line in of_hosts)
    assert len(of_hosts) == 2 * 48
    assert wide_points < 72 * axes.get_window_extent().width / axes.figure.dpi


def test_a_figure_of_the_paths_is_the_same_in_every_process() -> None:
    tree = scenario({"kind": "fat-tree", "k": 4}, traffic=[{"from": "h15", "to": "h0"}])
    lines = drawing.draw(layout.network(tree)).axes[0].lines
    tops = [max(line.get_ydata()) for line in lines if line.get_zorder() >= 2]
    # links in the order of their names: from agg0.0, agg3.0, edge0.0, edge3.1, h0 and h15 upwards
    assert tops == [3, 3, 2, 2, 1, 1]


def test_a_bcube_of_one_level_is_a_star() -> None:
    def goodputs(topology: dict[str, Any]) -> list[float]:
        senders = [{"from": "h1..h3", "to": "h0"}]
        # no profile says how long hosts take to forward
        hosts = {"profile": "none"}
        result = fp.run(scenario(topology, duration="100ms", traffic=senders, host=hosts))
        return result.flows["goodput_bps"].to_list()

    star = goodputs({"kind": "star", "hosts": 4})
    assert goodputs({"kind": "bcube", "n": 4, "k": 0}) == pytest.approx(star, rel=0.01)


def test_paths_are_printed_for_people_and_for_programs(fairport: Command) -> None:
    shown = fairport("paths", "two-switch")
    assert shown.status == 0
    assert "h2:0 s1:0 s0:0" in shown.out
    document = json.loads(fairport("paths", "two-switch", "--json").out)
    assert set(document) == {"scenario", "routing", "bottleneck", "flows", "ports"}
    assert document["routing"] == {"kind": "destination-suffix"}
    assert document["bottleneck"] == "s0:0"
    assert document["flows"][1] == {
        "flow": 1,
        "src": "h2",
        "dst": "h0",
        "hops": 3,
        "paths": [["h2:0", "s1:0", "s0:0"]],
        "ack_paths": [["h0:0", "s0:2", "s1:1"]],
    }
    assert document["ports"][0] == {
        "port": "s0:0",
        "rate_bps": 10**9,
        "flows": 13,
        "by_ingress": {"s0:2": 12, "s0:1": 1},
    }


def test_pairs_between_which_a_workload_may_start_flows_are_shown_without_numbers(
    fairport: Command,
) -> None:
    assignment = 'traffic=[{kind="incast",from="h1..h3",to="h0",block="1KiB"}]'
    shown = fairport("paths", "two-switch", "--set", assignment, "--json")
    flows = json.loads(shown.out)["flows"]
    assert [(flow["flow"], flow["src"]) for flow in flows] == [
        (None, "h1"),
        (None, "h2"),
        (None, "h3"),
    ]


def test_an_export_goes_to_a_file_or_to_stdout(fairport: Command, tmp_path: Path) -> None:
    shown = fairport("topology", "export", "two-switch", "--format", "dot")
    into = ("--out", "net.dot")
    assert fairport("topology", "export", "two-switch", "--format", "dot", *into).out == ""
    assert (tmp_path / "net.dot").read_text(encoding="utf-8") == shown.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.dot"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--format", "gml"), 'error: --format: "gml" is not a format'),
        (("--format", "dot", "--out", "."), 'error: --out: "." cannot be written: is a folder'),
        (
            ("--format", "dot", "--out", "none/net.dot"),
            'error: --out: "none/net.dot" cannot be written: No such file',
        ),
    ],
)
def test_an_export_that_cannot_be_says_why(
    fairport: Command, arguments: tuple[str, ...], shown: str
) -> None:
    outcome = fairport("topology", "export", "two-switch", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(shown)
    assert outcome.err.splitlines()[1].startswith("hint: ")
