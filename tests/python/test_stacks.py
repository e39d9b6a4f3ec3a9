"""The stack presets, as `fairport stack` shows them and as scenarios name them."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from conftest import Command
from fairport import _core
from fairport.backends.jobs import job_of
from fairport.errors import ScenarioError
from fairport.scenario import load as scenario_of
from fairport.scenario.stacks import stack, stack_names
from fairport.scenario.tcp import CONGESTION_CONTROLS, ENGINE_NAMES, TcpSettings, engine_value
from fairport.toml import parser


@pytest.mark.parametrize("name", stack_names())
def test_what_is_shown_is_a_tcp_section_that_gives_the_preset_again(
    fairport: Command, name: str
) -> None:
    outcome = fairport("stack", "show", name)
    assert outcome.status == 0
    scenario = scenario_of("outcast").patch({"tcp": parser.loads(outcome.out)["tcp"]})
    values = {
        engine_name: engine_value(getattr(scenario.tcp, field))
        for field, engine_name in ENGINE_NAMES.items()
    }
    assert values == _core.preset(name)


@pytest.mark.parametrize("name", stack_names())
def test_every_setting_has_a_meaning_and_a_source(name: str) -> None:
    for setting in stack(name).settings:
        assert setting.meaning.endswith("."), setting.name
        assert setting.source, setting.name


def test_values_are_in_units(fairport: Command) -> None:
    document = json.loads(fairport("stack", "show", "linux-6", "--json").out)
    assert document["stack"] == "linux-6"
    settings = {setting["name"]: setting for setting in document["settings"]}
    assert settings["rto_min"]["value"] == "200ms"
    assert settings["receive_buffer"]["value"] == "6MiB"
    assert "TCP_RTO_MIN" in settings["rto_min"]["source"]


def test_the_presets_are_listed(fairport: Command) -> None:
    rows = json.loads(fairport("stack", "list", "--json").out)
    assert [row["stack"] for row in rows] == stack_names()
    assert "Linux 6" in fairport("stack", "list").out


def test_a_scenario_knows_the_names_that_the_engine_has() -> None:
    presets, _ = get_args(TcpSettings.model_fields["stack"].annotation)
    assert list(get_args(presets)) == stack_names()
    document = job_of(scenario_of("outcast")).document
    document["stacks"][0]["overrides"]["congestion_control"] = "unknown"
    with pytest.raises(_core.JobError) as raised:
        _core.Simulation(json.dumps(document))
    known = raised.value.problem.partition("is none of ")[2].removesuffix(" and custom:NAME")
    assert known.split(", ") == list(CONGESTION_CONTROLS)


def test_a_wrong_stack_hides_no_wrong_congestion_control() -> None:
    tcp = {"stack": "linux-9", "congestion_control": "cubik"}
    with pytest.raises(ScenarioError) as raised:
        scenario_of("outcast").patch({"tcp": tcp})
    (other,) = raised.value.others
    assert [raised.value.field, other.field] == ["tcp.stack", "tcp.congestion_control"]


def test_an_unknown_stack_is_refused_with_the_nearest(fairport: Command) -> None:
    outcome = fairport("stack", "show", "linux6")
    assert outcome.status == 2
    assert outcome.err == ('error: "linux6" is not a stack preset\nhint: did you mean `linux-6`?\n')
