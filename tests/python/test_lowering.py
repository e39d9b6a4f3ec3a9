"""From a scenario to the engine's job: base units, hosts, stacks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from fairport import _core, run
from fairport.errors import ScenarioError
from fairport.scenario import load
from fairport.scenario.job_errors import scenario_field
from fairport.scenario.lower import Job, lower
from fairport.scenario.selectors import SelectorError, select
from fairport.scenario.tcp import ENGINE_NAMES

HOSTS = [f"h{index}" for index in range(16)]
PRESETS = {name: _core.preset(name) for name in _core.presets()}


def lowered(**overrides: Any) -> Job:
    scenario = load("outcast").patch(
        {key.replace("__", "."): value for key, value in overrides.items()}
    )
    return lower(scenario, HOSTS, PRESETS)


def test_a_job_is_in_base_units() -> None:
    job = lowered().document
    assert job["duration_ps"] == 10 * 10**12
    assert job["link"]["rate_bps"] == 10**9
    assert job["link"]["clock_error_ppb"] == 50_000
    assert job["switch"]["processing_delay_ps"] == 25 * 10**6
    assert job["queue"] == {
        "kind": "drop-tail",
        "limit": {"bytes": 16384},
        "count_in_service": False,
    }
    assert job["probes"]["measure_from_ps"] is None


def test_all_means_every_host_but_the_receiver() -> None:
    flows = lowered().flows
    assert [flow["src"] for flow in flows] == HOSTS[1:]
    assert {flow["dst"] for flow in flows} == {"h0"}


def test_a_limit_in_packets_is_counted_in_packets() -> None:
    queue = lowered(queue__limit="100 packets").document["queue"]
    assert queue["limit"] == {"packets": 100}


def test_rio_ps_takes_its_thresholds_as_shares_of_the_limit() -> None:
    job = lowered(queue={"kind": "rio-ps", "limit": "200 packets"}, classifier={}).document
    queue = job["queue"]
    assert queue["kind"] == "rio-ps"
    assert queue["limit"] == {"packets": 200}
    assert (queue["short_min_ppb"], queue["short_max_ppb"]) == (150_000_000, 350_000_000)
    assert queue["short_max_p_ppb"] == 50_000_000
    assert queue["weight_ppb"] == 1_953_125
    assert job["classifier"]["threshold_packets"] == 50
    assert job["classifier"]["tuning"] is None


def test_red_as_linux_has_it_is_a_discipline_of_its_own() -> None:
    queue = {"kind": "red", "variant": "linux", "limit": "150KB", "min": "7500B", "max": "22500B"}
    job = lowered(queue=queue).document["queue"]
    assert (job["kind"], job["min_bytes"], job["max_bytes"]) == ("red-linux", 7500, 22_500)
    assert not {"variant", "gentle", "min", "max"} & job.keys()


def test_a_tbf_s_latency_sizes_the_buffer_as_tc_does() -> None:
    shaper = {"kind": "tbf", "rate": "100Mbps", "burst": "20KB", "latency": "10ms"}
    scenario = load("outcast").document()
    del scenario["queue"]
    job = lower(load(scenario | {"shaper": shaper}), HOSTS, PRESETS).document
    # 12.5 MB/s for 10 ms, and the burst
    assert job["queue"]["limit"] == {"bytes": 145_000}
    assert job["shaper"]["burst_bytes"] == 20_000


def test_the_classes_of_weighted_tail_drop_have_shares_of_the_limit() -> None:
    queue = {"kind": "weighted-tail-drop", "limit": "100 packets", "thresholds": [0.4, 0.6, 1.0]}
    shares = lowered(queue=queue).document["queue"]["thresholds_ppb"]
    assert shares == [400_000_000, 600_000_000, 1_000_000_000]


def test_hosts_that_agree_share_a_stack() -> None:
    job = lowered()
    assert len(job.stacks) == 1
    assert job.stacks[0]["preset"] == "linux-2.6"
    assert job.stacks[0]["overrides"]["rto_min_ps"] == 2 * 10**9


def test_more_particular_settings_win_one_by_one() -> None:
    job = lowered(
        host_tcp=[{"hosts": "h1", "rto_min": "1ms"}, {"hosts": "h1..h2", "sack": False}],
        traffic__0__tcp={"nagle": False},
    )
    stacks = {flow["src"]: job.stacks[flow["sender_stack"]]["overrides"] for flow in job.flows}
    assert (stacks["h1"]["rto_min_ps"], stacks["h1"]["sack"]) == (10**9, False)
    assert (stacks["h2"]["rto_min_ps"], stacks["h2"]["sack"]) == (2 * 10**9, False)
    assert "sack" not in stacks["h3"]
    assert all(stack["nagle"] is False for stack in stacks.values())
    receiver = job.stacks[job.flows[0]["receiver_stack"]]["overrides"]
    assert receiver["nagle"] is False
    assert "sack" not in receiver


def test_another_stack_at_a_host_keeps_the_settings_given_for_all() -> None:
    job = lowered(host_tcp=[{"hosts": "h1", "stack": "rfc"}])
    stack = job.stacks[job.flows[0]["sender_stack"]]
    assert stack["preset"] == "rfc"
    assert stack["overrides"]["congestion_control"] == "bic"


def test_the_mss_is_what_the_mtu_leaves() -> None:
    assert lowered().stacks[0]["overrides"]["mss_bytes"] == 1460
    jumbo = lowered(link__mtu="9000B")
    assert jumbo.stacks[0]["overrides"]["mss_bytes"] == 8960


def test_a_stack_with_a_fixed_header_keeps_its_own_mss() -> None:
    job = lowered(tcp={"stack": "ns2"})
    assert job.stacks[0] == {"preset": "ns2", "overrides": {}}


def test_flows_of_a_host_stand_together() -> None:
    job = lowered(traffic__0__flows=2)
    assert [flow["src"] for flow in job.flows][:4] == ["h1", "h1", "h2", "h2"]


@pytest.mark.parametrize(
    ("job_field", "field"),
    [
        ("flows.3.dst", "traffic.0.to"),
        ("flows.3.src", "traffic.0.from"),
        ("flows.0.size_bytes", "traffic.0.size"),
        ("flows.0.on_mean_ps", "traffic.0.on_mean"),
        ("stacks.0.overrides.congestion_control", "tcp.congestion_control"),
        ("stacks.0.rto_min_ps", "tcp.rto_min"),
        ("stacks.0.mss_bytes", "traffic.0.tcp.mss"),
        ("queue.limit_bytes", "queue.limit"),
        ("topology.links.2.rate_bps", "topology.links.2.rate"),
        ("probes.measure_from_ps", "measure.from"),
        ("link.clock_error_ppb", "link.clock_error"),
    ],
)
def test_what_the_engine_refuses_is_found_in_the_scenario(job_field: str, field: str) -> None:
    job = lowered(traffic__0__tcp={"mss": "1000B"})
    assert scenario_field(job, job_field) == field


def test_parameters_of_tcprand_go_to_the_engine_in_thousandths() -> None:
    job = lowered(tcp={"payload_sizing": "adaptive", "tcprand": [1, 0.5, "inf", 0]})
    assert job.stacks[0]["overrides"]["tcprand"] == [1000, 500, None, 0]
    job = lowered(tcp={"tcprand": "aggressive"})
    assert job.stacks[0]["overrides"]["tcprand"] == "aggressive"


def test_what_the_engine_refuses_is_told_in_the_scenario_s_words() -> None:
    with pytest.raises(ScenarioError) as error:
        run(load("outcast").patch({"tcp.delayed_ack_max": "1ms"}))
    assert str(error.value) == (
        'outcast:29: tcp.delayed_ack_min: "40ms" is above delayed_ack_max = 1ms'
    )
    assert "delayed_ack_max" in error.value.remedy
    assert "_ps" not in error.value.remedy


@pytest.mark.parametrize(
    ("overrides", "field", "problem"),
    [
        ({"traffic__0__from": "h0..h3"}, "traffic.0.from", "includes the receiver `h0`"),
        ({"traffic__0__from": "h1..h99"}, "traffic.0.from", "names `h99`"),
        ({"traffic__0__from": "h5..h2"}, "traffic.0.from", "ends before it begins"),
        ({"traffic__0__to": "all"}, "traffic.0.to", "names `all`"),
        ({"host_tcp": [{"hosts": "x"}]}, "host_tcp.0.hosts", "names `x`"),
        ({"traffic__0__from": ["h1", "h2", "h1"]}, "traffic.0.from", "names `h1` twice"),
    ],
)
def test_a_selector_that_selects_nothing_is_refused(
    overrides: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        lowered(**overrides)
    assert error.value.field == field
    assert problem in error.value.problem
    assert error.value.remedy


@pytest.mark.parametrize("kind", [{"kind": "bulk"}, {"kind": "incast", "total": "1MB"}])
def test_in_a_network_of_one_host_nobody_can_send_to_it(kind: dict[str, str]) -> None:
    scenario = load("outcast").patch({"traffic": [kind | {"from": "all", "to": "h0"}]})
    with pytest.raises(ScenarioError) as error:
        lower(scenario, ["h0"], PRESETS)
    assert (error.value.field, error.value.problem) == ("traffic.0.from", "selects no host")
    assert "`h0`" in error.value.remedy


def test_selectors() -> None:
    assert select("h3", HOSTS) == ["h3"]
    assert select("h3..h5", HOSTS) == ["h3", "h4", "h5"]
    assert select(["h5", "h4..h6"], HOSTS) == ["h5", "h4", "h6"]
    assert select("all", HOSTS, but="h7") == [host for host in HOSTS if host != "h7"]
    assert select("b..c", ["a", "b", "c"]) == ["b", "c"]


def test_every_setting_of_a_stack_has_its_name_in_scenarios() -> None:
    assert set(ENGINE_NAMES.values()) == set(_core.preset("linux-6"))


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("h1,h2", 'write several hosts as a list: ["h1", "h2"]'),
        # a shell takes the quotes of a list away
        ("[h1,h2]", 'write several hosts as a list: ["h1", "h2"]'),
        ("h1 h2 h3", 'write several hosts as a list: ["h1", "h2", "h3"]'),
        ("h1-h3", 'write a range as "h1..h3"'),
        ("h1-h99", "the topology's hosts are h0 .. h15"),
    ],
)
def test_hosts_joined_otherwise_are_meant_as_a_range_or_a_list(written: str, remedy: str) -> None:
    with pytest.raises(SelectorError) as error:
        select(written, HOSTS)
    assert error.value.remedy == remedy


def test_a_list_for_one_receiver_is_said_to_be_a_list() -> None:
    with pytest.raises(ScenarioError) as error:
        lowered(traffic__0__to=["h0"])
    assert str(error.value).endswith('["h0"] is a list')
