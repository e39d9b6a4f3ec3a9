"""Scenarios: which are refused, and that a scenario is written back as its author wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fairport as fp
import jsonschema
import pytest
from fairport.errors import ScenarioError
from fairport.published import experiment_names, published_beside, published_figures
from fairport.scenario import Scenario, builtin_names, json_schema, load, parse
from fairport.scenario.base import Section
from fairport.scenario.phase import phase_parameters

MINIMAL: dict[str, Any] = {
    "name": "minimal",
    "topology": {"kind": "fat-tree"},
    "traffic": [{"from": "h1", "to": "h0"}],
}


@pytest.mark.parametrize(
    ("name", "heading"), [("topology", "[topology]"), ("traffic", "[[traffic]]")]
)
def test_a_missing_section_is_named_as_a_file_writes_it(name: str, heading: str) -> None:
    without = {field: value for field, value in MINIMAL.items() if field != name}
    with pytest.raises(ScenarioError) as raised:
        load(without)
    assert str(raised.value) == f"{name}: is missing"
    assert raised.value.remedy.startswith(f"add a section {heading}, ")


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"link": {"mtu": "100B"}}, "link.mtu", "is not between 104 B (64 B of data"),
        ({"link": {"mtu": "104B"}, "tcp": {"mss": "65B"}}, "tcp.mss", "does not fit an MTU"),
        (
            {"traffic": [{"kind": "udp", "from": "h1", "to": "h0", "rate": "1Mbps",
                          "payload": "1473B"}]},
            "traffic.0.payload",
            "does not fit an MTU of 1500B with 28 B of headers",
        ),
        (
            {"traffic": [{"kind": "web", "servers": "h0", "clients": "h1", "objects": [2]}]},
            "traffic.0.objects.1",
            "is missing",
        ),
        ({"queue": {"kind": "strict-priority"}}, "queue.kind", "needs a [classifier]"),
        # no table would grow, so nothing but this check ends a run of 10^13 samples
        ({"probes": {"queue_interval": "1ps"}}, "probes.queue_interval", "is shorter than 1us"),
    ],
)  # fmt: skip
def test_what_no_run_could_do_is_refused(change: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load(MINIMAL | change)
    assert raised.value.field == field
    assert problem in raised.value.problem


def test_the_smallest_mtu_is_run() -> None:
    scenario = load(MINIMAL | {"link": {"mtu": "104B"}, "duration": "1ms"})
    assert fp.run(scenario).flows["delivered_bytes"].sum() > 0


@pytest.mark.parametrize("name", builtin_names())
def test_a_scenario_written_back_is_the_same_in_its_author_s_units(name: str) -> None:
    scenario = load(name)
    again = parse(scenario.to_toml(), file="again.toml")
    assert again == scenario
    assert again.document() == scenario.document()


def test_units_are_written_back_as_they_were_written() -> None:
    scenario = load(MINIMAL | {"queue": {"limit": "0.016 MB"}, "duration": "1500ms"})
    assert 'limit = "0.016 MB"' in scenario.to_toml()
    assert 'duration = "1500ms"' in scenario.to_toml()


def test_line_ends_of_windows_are_written_back() -> None:
    scenario = load(MINIMAL | {"description": "two\r\nlines"})
    assert parse(scenario.to_toml(), file="again.toml") == scenario


def test_scenarios_that_run_differently_are_not_equal() -> None:
    linux = load(MINIMAL | {"tcp": {"stack": "linux-6"}})
    assert linux == load(MINIMAL | {"tcp": {"stack": "linux-6"}})
    # without a delay of its own, a host of a Linux stack has none
    assert linux != linux.patch({"host.delay": "5us"})
    assert linux.patch({"queue.limit": "9000B"}) != linux.patch({"queue.limit": "9000 packets"})


def test_a_resolved_scenario_holds_every_default_and_loads() -> None:
    scenario = load(MINIMAL)
    resolved = scenario.resolved()
    assert resolved["queue"]["limit"] == "128KiB"
    assert "queue" not in scenario.document()
    assert load(resolved).resolved() == resolved


def test_the_json_schema_accepts_the_built_in_scenarios() -> None:
    schema = jsonschema.Draft202012Validator(json_schema())
    for name in builtin_names():
        for document in (load(name).document(), load(name).resolved()):
            assert list(schema.iter_errors(document)) == [], name


@pytest.mark.parametrize("field", ["measure", "loss.0"])
def test_a_span_ends_after_it_begins(field: str) -> None:
    span = {"from": "2ms", "to": "2ms"}
    outage = {"kind": "outage"} | span
    with pytest.raises(ScenarioError) as error:
        load(MINIMAL | ({"measure": span} if field == "measure" else {"loss": [outage]}))
    assert error.value.field == f"{field}.from"


def test_the_json_schema_refuses_unknown_fields_and_bare_numbers() -> None:
    for wrong in ({"queue": {"limt": "16KB"}}, {"queue": {"limit": 16384}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(MINIMAL | wrong, json_schema())


def test_the_json_schema_is_valid_and_describes_every_field() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for section in (schema, *schema["$defs"].values()):
        for name, field in section["properties"].items():
            # a field without a text of its own has that of the section that it holds
            assert field.get("description") or "$ref" in field, f"{section['title']}.{name}"
    json.dumps(schema)


def test_every_default_of_the_json_schema_is_a_value_that_it_allows() -> None:
    schema = json_schema()
    for section in (schema, *schema["$defs"].values()):
        for name, field in section["properties"].items():
            if field.get("default") is not None:
                shape = {"$defs": schema["$defs"], **field}
                assert jsonschema.Draft202012Validator(shape).is_valid(field["default"]), name


def test_every_section_says_what_it_is() -> None:
    for section in Section.__subclasses__():
        assert section.__doc__


def test_outcast_is_the_paper_s_experiment() -> None:
    scenario = load("outcast")
    assert scenario.queue.limit == 16 * 1024
    assert scenario.link.rate == 10**9
    assert scenario.tcp.rto_min == 2 * 10**9
    assert scenario.tcp.congestion_control == "bic"
    assert scenario.duration.seconds == 10
    assert scenario.paper == "prakash2012/fifteen-to-one"


def test_published_figures_agree_with_what_was_computed_from_them() -> None:
    p1 = published_figures("prakash2012/fifteen-to-one")
    flows = [rate for one in p1["classes"].values() for rate in one["goodput_bps"]]
    assert len(flows) == 15
    # each of 15 bars was read to a tenth of a Mbit/s
    assert sum(flows) == pytest.approx(p1["goodput_bps_total"], abs=15 * 0.1e6)
    jain = sum(flows) ** 2 / (len(flows) * sum(rate * rate for rate in flows))
    assert jain == pytest.approx(p1["jain_index"], abs=0.0005)
    assert 1 / p1["classes"]["2-hop"]["throughput_ratio"] == pytest.approx(5.8, abs=0.05)


def test_published_figures_stand_only_beside_runs_with_the_same_flows() -> None:
    def ratio(flows: dict[str, int]) -> float | None:
        summary = {"classes": {hops: {"flows": number} for hops, number in flows.items()}}
        found = published_beside(summary, "prakash2012/one-to-n")
        return found and round(found["classes"]["2-hop"]["throughput_ratio"], 3)

    assert [ratio({"2-hop": 1, "6-hop": peers}) for peers in (2, 6, 12)] == [1.0, 0.523, 0.167]
    assert [ratio({"2-hop": 1, "6-hop": 5}), ratio({"2-hop": 1})] == [None, None]
    last = published_figures("prakash2012/one-to-n")["classes"]
    assert (last["6-hop"]["flows"], last["2-hop"]["goodput_bps_mean"]) == (12, 13e6)


@pytest.mark.parametrize("name", experiment_names())
def test_published_figures_say_where_they_were_read(name: str) -> None:
    experiment = published_figures(name)
    if experiment is not None:  # for some experiments only the shape is known
        assert experiment["id"] == name
        assert experiment["source"]
        assert experiment["read"]


def test_what_decides_phases_is_told() -> None:
    shown = phase_parameters(load("outcast"))
    assert shown["host"].startswith("times measured on Linux")
    assert shown["host"].endswith("and 30us + U(0, 20us) each way")
    assert "25us" in shown["switch"]
    assert "round-robin" in shown["switch"]
    assert "50ppm" in shown["link"]
    assert "16KiB" in shown["queue"]
    assert "U(0, 10ms)" in shown["start"]


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ({"kind": "step-marking"}, "K = 20 packets"),
        ({"kind": "shared-buffer", "mark_above": "65 packets"}, "alpha = 1; K = 65 packets"),
    ],
)
def test_the_threshold_at_which_a_queue_marks_is_told(queue: dict[str, Any], said: str) -> None:
    assert said in phase_parameters(load("outcast").patch({"queue": queue}))["queue"]


def test_the_rates_of_links_are_those_that_they_have_themselves() -> None:
    def shown(**fields: Any) -> str:
        return phase_parameters(load("outcast").patch(fields))["link"]

    links = [
        {"ends": ["h0", "s"], "rate": "10Gbps"},
        {"ends": ["h1", "s"], "rate": "40Gbps", "delay": "2us"},
        {"ends": ["h2", "s"], "rate": "25Gbps"},
    ]
    graph = {"kind": "graph", "hosts": ["h0", "h1", "h2"], "switches": ["s"], "links": links}
    assert shown(topology=graph, traffic=[{"from": "h1", "to": "h0"}]).startswith(
        "10Gbps to 40Gbps, 0s to 2us, clocks"
    )
    assert "1Gbps, 0s (between switches 10Gbps)" in shown(topology={"kind": "vl2"})
    assert "1Gbps, 0s (between switches 40Gbps, 3us)" in shown(
        topology={"kind": "vl2"}, fabric={"rate": "40Gbps", "delay": "3us"}
    )
    assert "1Gbps, 0s (between switches 250Mbps)" in shown(**{"topology.oversubscription": 4})
    assert "between" not in shown()


def test_the_package_is_the_loader(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(fp.scenario("outcast").to_toml(), encoding="utf-8")
    for source in ("outcast", file, str(file), fp.scenario("outcast").document()):
        assert isinstance(fp.scenario(source), Scenario)
        assert fp.scenario(source) == load("outcast")


def test_a_patch_changes_a_copy() -> None:
    scenario = load("outcast")
    patched = scenario.patch({"queue.limit": "32KiB", "traffic.0.start": "1ms"})
    assert patched.queue.limit == 32 * 1024
    assert patched.traffic[0].start == 10**9
    assert scenario.queue.limit == 16 * 1024


def test_a_patch_leaves_the_values_that_it_was_given_alone() -> None:
    queue = {"kind": "drop-tail", "limit": "32KiB"}
    patched = load("outcast").patch({"queue": queue, "queue.limit": "64KiB"})
    assert patched.queue.limit == 64 * 1024
    assert queue["limit"] == "32KiB"


def test_a_patch_makes_the_tables_that_it_needs() -> None:
    assert load(MINIMAL).patch({"measure.from": "1s"}).measure.start == 10**12


def test_an_error_of_a_patch_names_the_path() -> None:
    with pytest.raises(ScenarioError) as error:
        load("outcast").patch({"traffic.1.start": "1ms"})
    assert error.value.field == "traffic.1.start"
    assert error.value.remedy == "use 0"
    with pytest.raises(ScenarioError) as error:
        load("outcast").patch({"traffic.start": "1ms"})
    assert error.value.remedy == "put an index before it: `0.start`"


def test_an_override_may_replace_a_value_that_the_file_should_not_have() -> None:
    wrong = MINIMAL | {"queue": {"limit": "16 K"}, "duration": "5"}
    right = load(wrong, {"queue.limit": "16KiB", "duration": "5s"}, by="command line")
    assert right == load(MINIMAL | {"queue": {"limit": "16KiB"}, "duration": "5s"})
    with pytest.raises(ScenarioError) as raised:
        load(wrong, {"queue.limit": "16KiB"}, by="command line")
    assert str(raised.value) == 'duration: "5" has no unit'
    assert raised.value.others == ()
