"""Input that nobody writes by mistake: endless numbers and brackets, names that are patterns."""

from __future__ import annotations

from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from test_bad_input import SCENARIO, refused


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 3000])
def test_a_number_or_brackets_without_end_are_refused_as_text(
    fairport: Command, tmp_path: Path, value: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    refused(fairport, file, "--set", f"seed={value}")
    file.write_text(f"seed = {value}\n{SCENARIO}", encoding="utf-8")
    assert "is not TOML: " in refused(fairport, file)[0]


def test_a_rate_that_a_slow_clock_makes_too_slow_is_refused(
    fairport: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    text = SCENARIO.replace('rate = "1Gbps"', 'rate = "2kbps"\nclock_error = "100000ppm"')
    file.write_text(text, encoding="utf-8")
    assert "is too slow for a link" in refused(fairport, file)[0]


def test_of_several_rates_the_one_that_is_too_slow_is_named(
    fairport: Command, tmp_path: Path
) -> None:
    links = '[{ ends = ["a", "s"] }, { ends = ["b", "s"], rate = "1 kbit/s" }]'
    file = tmp_path / "mine.toml"
    file.write_text(
        f"""name = "mine"
[topology]
kind = "graph"
hosts = ["a", "b"]
switches = ["s"]
links = {links}
[[traffic]]
from = "a"
to = "b"
""",
        encoding="utf-8",
    )
    assert 'topology.links.1.rate: "1 kbit/s" is too slow' in refused(fairport, file)[0]
    slow = ("--set", "topology.links.1.rate=1Gbps", "--set", "link.rate=1kbps")
    assert 'link.rate: "1kbps" is too slow' in refused(fairport, file, *slow)[0]


@pytest.mark.parametrize("field", ["three-tier.edges_per_agg", "two-switch.peers", "star.hosts"])
def test_a_topology_of_more_than_32_bits_is_refused_as_too_large(
    fairport: Command, field: str
) -> None:
    kind, count = field.split(".")
    asked = f'topology={{kind="{kind}",{count}=4294967296}}'
    outcome = fairport("run", "outcast", "--duration", "1us", "--no-output", "--set", asked)
    assert outcome.status == 2
    assert f"topology.{count}: 4294967296 is too large" in outcome.err
    assert "fault of fairport" not in outcome.err


def test_results_may_lie_in_a_folder_with_brackets(fairport: Command, tmp_path: Path) -> None:
    folder = "a[b]c"
    arguments = ("run", "outcast", "--duration", "1ms", "--out", folder, "--no-figures")
    assert fairport(*arguments).status == 0
    assert len(fp.load_run(tmp_path / folder).flows) == 15


def test_an_output_that_takes_ascii_only_gets_every_line(
    fairport_process: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    outcome = fairport_process("run", "outcast", "--duration", "1ms", "--no-output")
    assert (outcome.status, outcome.err) == (0, "")
    assert "2-hop" in outcome.out


@pytest.mark.parametrize("key", ["\u00b2", "9" * 5000])
def test_a_key_of_strange_digits_is_no_index(fairport: Command, tmp_path: Path, key: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'{SCENARIO}"{key}" = 1\n', encoding="utf-8")
    assert f"mine.toml:14: traffic.0.{key}: is not a field" in refused(fairport, file)[0]
    file.write_text(SCENARIO, encoding="utf-8")
    assert "is not an index of" in refused(fairport, file, "--set", f"traffic.{key}.to=h1")[0]


@pytest.mark.parametrize("change", [{"description": "Gr\udcf6sse"}, {"queue.kind": ["\udcf6"]}])
def test_a_byte_that_is_no_character_is_refused_before_the_run(change: dict[str, object]) -> None:
    with pytest.raises(fp.ScenarioError, match="is not UTF-8 text"):
        fp.scenario("outcast").patch(change)


def test_a_number_that_the_engine_cannot_hold_is_the_scenarios_fault() -> None:
    web = {"kind": "web", "servers": "h1", "clients": "h0"}
    poisson = {"kind": "poisson", "load": 0.5}
    sizes = {"points": [[1.0, 0.0], [2.0, 1.0]], "unit": 1 << 64}
    for name, change in (
        ("routing.core", {"routing": {"kind": "equal-length", "core": 1 << 64}}),
        ("traffic.0.objects", {"traffic": [web | {"objects": [1, 1 << 64]}]}),
        ("traffic.0.object_packets", {"traffic": [web | {"object_packets": [1, 1 << 64]}]}),
        ("traffic.0.flows", {"traffic": [poisson | {"flows": 1 << 64}]}),
        ("traffic.0.sizes.unit", {"traffic": [poisson | {"sizes": sizes}]}),
    ):
        with pytest.raises(fp.ScenarioError) as raised:
            fp.scenario("outcast").patch(change)
        assert raised.value.field == name


@pytest.mark.parametrize("field", ["sizes", "file"])
def test_a_name_that_no_file_can_have_is_refused(fairport: Command, field: str) -> None:
    kind = "trace" if field == "file" else "poisson"
    traffic = f'traffic=[{{kind="{kind}",{field}="{300 * "a"}.csv"'
    load = ",load=0.5}]" if field == "sizes" else "}]"
    outcome = fairport("paths", "outcast", "--set", traffic + load)
    assert outcome.status == 2
    assert f"traffic.0.{field}: " in outcome.err


def test_a_seed_beyond_the_last_is_refused_before_the_first_run() -> None:
    seeds = (2**63 - 1, 2**63)
    with pytest.raises(fp.ScenarioError, match="seed: 9223372036854775808 is too large"):
        fp.run_many("outcast", seeds)
