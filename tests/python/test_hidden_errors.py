"""A wrong or missing `kind` does not hide the other mistakes of its table."""

from __future__ import annotations

from pathlib import Path

import fairport as fp
import pytest
from conftest import Command

SCENARIO = """\
name = "mine"
[topology]
kind = "KIND"
k = 4
duration = "1ms"
[queue.decay]
[link]
rate = "1Gbps"
[[traffic]]
from = "all"
to = "h0"
"""


@pytest.mark.parametrize("kind", ['kind = "fattree"', 'kind = "moebius"', "# no kind"])
def test_a_wrong_kind_hides_no_other_mistake_of_its_section(
    fairport: Command, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO.replace('kind = "KIND"', kind), encoding="utf-8")
    outcome = fairport("run", file.name)
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    line_of_kind = 3 if "=" in kind else 2  # without such a line, the line of the heading
    assert [error.split(" ")[1:3] for error in errors] == [
        [f"mine.toml:{line_of_kind}:", "topology.kind:"],
        ["mine.toml:5:", "topology.duration:"],
        ["mine.toml:6:", "queue.decay:"],
    ]
    if "=" not in kind:
        assert "hint: add `kind = ...`: one of fat-tree, " in outcome.err
    assert (
        "hint: put `duration` above the first [section]: it belongs to the whole file"
        in outcome.err
    )


def test_the_hint_for_a_table_of_no_known_kind_names_no_fields_of_some_kind() -> None:
    document = {
        "name": "mine",
        "topology": {"kind": "moebius", "colour": "red"},
        "traffic": [{"from": "all", "to": "h0"}],
    }
    with pytest.raises(fp.ScenarioError) as raised:
        fp.scenario(document)
    (other,) = raised.value.others
    assert other.field == "topology.colour"
    assert other.problem == "is not a field of a scenario"
    assert other.remedy == "leave it out: no kind of this table has such a field"


def test_what_only_some_kinds_refuse_is_not_wrong_in_a_table_of_no_known_kind() -> None:
    document = {
        "name": "mine",
        "topology": {"kind": "moebius", "k": 3, "spines": 2},
        "traffic": [{"from": "all", "to": "h0"}],
    }
    with pytest.raises(fp.ScenarioError) as raised:
        fp.scenario(document)
    assert [one.field for one in (raised.value, *raised.value.others)] == ["topology.kind"]


def test_a_field_left_from_the_overridden_kind_has_a_hint() -> None:
    marking = {"kind": "step-marking", "limit": "16KiB", "mark_above": "8KiB"}
    scenario = fp.scenario("two-switch").patch({"queue": marking})
    with pytest.raises(fp.ScenarioError) as raised:
        scenario.patch({"queue.kind": "drop-tail"})
    assert raised.value.field == "queue.mark_above"
    assert raised.value.problem == 'is not a field of kind "drop-tail"'
    assert "`queue={kind=..}` replaces them all" in raised.value.remedy
    replaced = scenario.patch({"queue": {"kind": "drop-tail"}})
    assert replaced.queue.kind == "drop-tail"


def test_a_path_that_does_not_exist_hides_no_other_mistake(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO.replace("KIND", "fat-tree"), encoding="utf-8")
    outcome = fairport("run", file.name, "--set", "traffic.5.load=1", "--set", "link.rate=x")
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert [error.split(": ")[2] for error in errors] == [
        "traffic.5.load",
        "topology.duration",
        "queue.decay",
        "link.rate",
    ]
