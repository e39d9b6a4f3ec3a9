"""Networks are exported to other tools and imported again."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport import layout
from fairport.errors import InputError, ScenarioError
from fairport.layout.export import FORMATS, exported
from fairport.layout.graph import graph_of
from hypothesis import given, settings
from hypothesis import strategies as st

TWO_HOSTS = {
    "nodes": [
        {"id": "a", "kind": "host"},
        {"id": "s", "kind": "switch"},
        {"id": "b", "kind": "host"},
    ],
    "edges": [
        {"source": "a", "target": "s", "rate": "1Gbps"},
        {"source": "s", "target": "b", "rate": "10Mbps", "delay": "2ms", "limit": "16KiB"},
    ],
}


def imported(path: Path, **fields: Any) -> fp.Scenario:
    document = fp.scenario("outcast").document() | fields
    return fp.scenario(document | {"topology": {"kind": "file", "path": str(path)}})


def written(folder: Path, network: layout.Network, name: str) -> Path:
    path = folder / f"net.{name}"
    path.write_text(exported(network, name), encoding="utf-8")
    return path


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """A connected graph: a tree of switches, further links between them, hosts anywhere."""
    switches = [f"s{i}" for i in range(draw(st.integers(1, 5)))]
    hosts = [f"h{i}" for i in range(draw(st.integers(2, 6)))]
    ends = [[switches[draw(st.integers(0, i))], switches[i + 1]] for i in range(len(switches) - 1)]
    ends += [[host, draw(st.sampled_from(switches))] for host in hosts]
    if len(switches) > 1:
        pairs = st.lists(st.sampled_from(switches), min_size=2, max_size=2, unique=True)
        ends += draw(st.lists(pairs, max_size=4))
    ends = [end[::-1] if draw(st.booleans()) else end for end in draw(st.permutations(ends))]
    links = [
        {
            "ends": end,
            "rate": f"{draw(st.integers(10_000, 10**11))}bps",
            "delay": f"{draw(st.integers(0, 10**9))}ps",
        }
        | draw(st.sampled_from([{}, {"limit": "16KiB"}, {"limit": "2345B"}]))
        for end in ends
    ]
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": links}


@pytest.mark.parametrize("name", ["graphml", "json"])
@given(graph=graphs())
@settings(max_examples=40, deadline=None)
def test_a_network_comes_back_as_it_went_out(
    tmp_path_factory: pytest.TempPathFactory, name: str, graph: dict[str, Any]
) -> None:
    traffic = [{"from": "h1", "to": "h0"}]
    scenario = fp.scenario({"name": "some", "topology": graph, "traffic": traffic})
    network = layout.network(scenario)
    path = written(tmp_path_factory.mktemp("net"), network, name)
    again = layout.network(
        fp.scenario(scenario.document() | {"topology": {"kind": "file", "path": str(path)}})
    )
    assert (again.nodes, again.links, again.flows) == (network.nodes, network.links, network.flows)


@pytest.mark.parametrize("name", ["graphml", "json"])
def test_a_run_on_an_imported_network_has_the_same_packets(tmp_path: Path, name: str) -> None:
    outcast = fp.scenario("outcast").patch({"duration": "200ms"})
    path = written(tmp_path, layout.network(outcast), name)
    before = fp.run(outcast)
    after = fp.run(imported(path, duration="200ms"))
    assert after.manifest["fingerprint"] == before.manifest["fingerprint"]
    path.unlink()
    # the scenario contains the network itself, so it can be run again without the file
    again = fp.run(fp.scenario(after.scenario.document()))
    assert again.manifest["fingerprint"] == before.manifest["fingerprint"]


@pytest.mark.parametrize("name", ["graphml", "json"])
def test_failed_links_go_out_and_have_still_failed(tmp_path: Path, name: str) -> None:
    fields = {"duration": "50ms", "fabric": {"failed": ["agg0.0:2", "core2"]}}
    outcast = fp.scenario("outcast").patch(fields)
    network = layout.network(outcast)
    path = written(tmp_path, network, name)
    again = imported(path, **fields)
    assert layout.network(again).links == network.links
    assert fp.run(again).manifest["fingerprint"] == fp.run(outcast).manifest["fingerprint"]
    assert sum(failed for *_, failed in graph_of(network).edges(data="failed", default=0)) == 5
    # a picture leaves them out
    assert exported(network, "dot").count(" -- ") == 48 - 5


def test_hosts_that_forward_come_back_forwarding(tmp_path: Path) -> None:
    cube = fp.scenario("outcast").patch({"topology": {"kind": "bcube"}})
    network = layout.network(cube)
    again = layout.network(imported(written(tmp_path, network, "json")))
    assert set(again.links) == set(network.links)
    assert all(node.forwards for node in again.nodes)


def test_a_path_is_relative_to_the_scenarios_file(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps(TWO_HOSTS), encoding="utf-8")
    file = tmp_path / "some.toml"
    file.write_text(
        'name = "some"\ntopology = { kind = "file", path = "net.json" }\n'
        '[[traffic]]\nfrom = "b"\nto = "a"\n',
        encoding="utf-8",
    )
    links = layout.network(fp.scenario(file)).links
    assert [(link.rate_bps, link.delay_ps, link.limit_bytes) for link in links] == [
        (10**9, 500_000, None),
        (10**7, 2 * 10**9, 16384),
    ]


def without(part: str, index: int, key: str) -> dict[str, Any]:
    document = json.loads(json.dumps(TWO_HOSTS))
    del document[part][index][key]
    return dict(document)


def changed(part: str, index: int, **values: Any) -> dict[str, Any]:
    document = json.loads(json.dumps(TWO_HOSTS))
    document[part][index] |= values
    return dict(document)


@pytest.mark.parametrize(
    ("document", "shown", "hint"),
    [
        (without("edges", 0, "rate"), "link a - s: rate: is missing", '"1Gbps"'),
        (
            changed("edges", 0, rate=1000),
            "link a - s: rate: 1000 has no unit",
            'with its unit, in quotes: "1Gbps"',
        ),
        (changed("edges", 1, delay="2m"), 'link s - b: delay: "2m" has an unknown unit', "ms"),
        (
            changed("edges", 1, limit="3 packets"),
            'link s - b: limit: "3 packets" is counted in packets',
            "16KiB",
        ),
        (changed("edges", 1, target="x"), 'node: "x" is at an end of a link', "kind ="),
        (without("nodes", 1, "kind"), 'node: "s" is at an end of a link', "kind ="),
        (changed("nodes", 1, kind="router"), 'node s: kind: "router" is not one of', "switch"),
        (changed("nodes", 2, kind="switch"), "holds 1 hosts", "at least 2"),
        (TWO_HOSTS | {"edges": TWO_HOSTS["edges"][:1]}, 'node: "b" is not connected', "add"),
        (changed("edges", 1, target="s"), "link s - s: joins a node to itself", "two nodes"),
        (
            TWO_HOSTS | {"edges": [TWO_HOSTS["edges"][0], *TWO_HOSTS["edges"]]},
            'node: "a" is a host with 2 links',
            "`forwards`",
        ),
        (changed("nodes", 2, forwards=True), 'node: "a" does not forward, and `b`', "none"),
        (
            TWO_HOSTS
            | {"directed": True}
            | {"edges": [*TWO_HOSTS["edges"], {"source": "s", "target": "a", "rate": "2Gbps"}]},
            'link a - s: rate: "1Gbps" differs from that of s - a, 2Gbps',
            "both directions",
        ),
        ({"nodes": 7}, "is not node-link JSON: it has no list `nodes`", "topology export"),
        ([1], "is not node-link JSON: it holds no object", "topology export"),
        (
            {"nodes": [{"id": "a"}], "edges": [{"source": "a"}]},
            "is not node-link JSON: edges.0 has no `target`",
            "topology export",
        ),
        (
            {"nodes": [{}], "edges": []},
            "is not node-link JSON: nodes.0 has no `id`",
            "--format json",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(
    tmp_path: Path, document: dict[str, Any], shown: str, hint: str
) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        imported(path)
    assert str(error.value).startswith(f"{path}: {shown}")
    assert hint in error.value.remedy


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("b ", "ends with a space"),
        ("b\n", "is not shown"),
        ("b\u200b", "is not shown"),
        ("h" * 101, "has 101 characters"),
        ("A", "looks like `a`"),
    ],
)
def test_a_name_by_which_nobody_knows_a_node_is_refused(
    tmp_path: Path, name: str, problem: str
) -> None:
    path = tmp_path / "net.json"
    document = json.loads(json.dumps(TWO_HOSTS).replace('"b"', json.dumps(name)))
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ScenarioError) as in_file:
        imported(path)
    error = in_file.value
    assert (error.file, error.field, error.value) == (str(path), "node", name)
    graph = {
        "kind": "graph",
        "hosts": ["a", name],
        "switches": ["s"],
        "links": [{"ends": [host, "s"]} for host in ("a", name)],
    }
    with pytest.raises(ScenarioError) as in_scenario:
        fp.scenario("outcast").patch({"topology": graph})
    error = in_scenario.value
    assert (error.field, error.value) == ("topology.hosts.1", name)
    assert problem in error.problem


@pytest.mark.parametrize("suffix", ["json", "graphml"])
def test_two_nodes_of_one_id_are_not_taken_for_one(tmp_path: Path, suffix: str) -> None:
    text = json.dumps(changed("nodes", 2, id="a"))
    if suffix == "graphml":
        text = exported(layout.network(fp.scenario("two-switch")), "graphml")
        text = text.replace('<node id="h1">', '<node id="h0">')
    path = tmp_path / f"net.{suffix}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="two nodes have the id"):
        imported(path)


def test_a_file_that_is_not_there_or_not_of_a_known_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read: no such file"):
        imported(tmp_path / "net.json")
    (tmp_path / "net.csv").write_text("", encoding="utf-8")
    with pytest.raises(ScenarioError, match="has a format that Fairport does not read"):
        imported(tmp_path / "net.csv")
    (tmp_path / "net.graphml").write_text("<graphml>", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is not GraphML"):
        imported(tmp_path / "net.graphml")


def test_graphviz_gets_every_node_and_link() -> None:
    network = layout.network(fp.scenario("outcast"))
    text = exported(network, "dot")
    assert text.count(" -- ") == len(network.links)
    assert text.count("shape=circle") == 16
    assert '"h0" -- "edge0.0" [taillabel="0", headlabel="0"' in text


class Recorder:
    """Replaces Mininet, and records what a script asks of it."""

    def __init__(self) -> None:
        self.hosts: dict[str, str] = {}
        self.switches: dict[str, str] = {}
        self.links: list[tuple[Any, ...]] = []
        self.rules: list[tuple[str, str]] = []

    def script(self, monkeypatch: pytest.MonkeyPatch, text: str) -> dict[str, Any]:
        recorder = self

        class Topo:
            def __init__(self) -> None:
                self.build()  # type: ignore[attr-defined]

            def addHost(self, name: str, ip: str) -> None:  # noqa: N802
                recorder.hosts[name] = ip

            def addSwitch(self, name: str, dpid: str) -> None:  # noqa: N802
                recorder.switches[name] = dpid

            def addLink(self, *ends: str, **options: Any) -> None:  # noqa: N802
                recorder.links.append((*ends, options))

        parts = {"cli": "CLI", "link": "TCLink", "log": "setLogLevel", "net": "Mininet"}
        for module, name in (parts | {"node": "OVSSwitch"}).items():
            stand_in = types.ModuleType(f"mininet.{module}")
            setattr(stand_in, name, None)
            monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
        topo = types.ModuleType("mininet.topo")
        topo.Topo = Topo  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mininet.topo", topo)
        monkeypatch.setitem(sys.modules, "mininet", types.ModuleType("mininet"))
        space: dict[str, Any] = {"__name__": "script"}
        exec(compile(text, "script.py", "exec"), space)
        return space

    def get(self, switch: str) -> Any:
        return types.SimpleNamespace(dpctl=lambda _command, rule: self.rules.append((switch, rule)))


@pytest.mark.parametrize("routing", ["destination-suffix", "equal-length"])
def test_a_mininet_script_builds_the_same_network_and_paths(
    monkeypatch: pytest.MonkeyPatch, routing: str
) -> None:
    network = layout.network(fp.scenario("outcast").patch({"routing": routing}))
    recorder = Recorder()
    space = recorder.script(monkeypatch, exported(network, "mininet"))
    space["FairportTopo"]()
    assert (len(recorder.hosts), len(recorder.switches)) == (16, 20)
    assert len(set(recorder.switches.values())) == 20
    far = {}
    for a, b, options in recorder.links:
        assert (options["bw"], options["delay"], options["max_queue_size"]) == (1000.0, "0.0us", 10)
        far[a, options["port1"]] = (b, options["port2"])
        far[b, options["port2"]] = (a, options["port1"])
    space["install"](recorder)
    # follow the rules from each sender to the receiver, as the switches would
    for flow in network.flows:
        sender, receiver = (recorder.hosts[end].split("/")[0] for end in (flow.src, flow.dst))
        here, ingress = far[flow.src, 1]
        for _ in flow.forward[0][1:]:
            match = f"in_port={ingress},ip,nw_src={sender},nw_dst={receiver},actions="
            (rule,) = [rule for at, rule in recorder.rules if at == here and rule.startswith(match)]
            action = rule.removeprefix(match)
            output = ingress if action == "in_port" else int(action.removeprefix("output:"))
            here, ingress = far[here, output]
        assert here == flow.dst


def test_every_format_is_a_text_that_ends_in_one_newline() -> None:
    network = layout.network(fp.scenario("two-switch"))
    for name in FORMATS:
        text = exported(network, name)
        assert text.rstrip("\n") + "\n" == text


def test_an_unknown_format_is_refused() -> None:
    network = layout.network(fp.scenario("two-switch"))
    with pytest.raises(InputError) as error:
        exported(network, "graphm")
    assert error.value.remedy == "did you mean `graphml`?"
