"""`fairport validate`: what is compared, what the simulation is given, and which runs count."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport.backends.progress import Tally
from fairport.cli.app import app
from fairport.scenario import host_profile
from typer.testing import CliRunner

if sys.platform != "linux":
    pytest.skip("validate needs Linux", allow_module_level=True)

from fairport.errors import ScenarioError
from fairport.study import validate as study
from fairport.study import validation

SCENARIO: dict[str, Any] = {
    "name": "validate-test",
    "duration": "500ms",
    "topology": {"kind": "two-switch", "peers": 2},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "11 packets"},
    "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "2ms"},
    "traffic": [{"from": "all", "to": "h0", "start_jitter": "1ms"}],
}
HEALTH = {"lag_p50_s": 1e-6, "lag_p99_s": 2e-5}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The simulation plays Linux; the list says of each of its runs whether it is valid."""
    valid: list[bool] = []
    simulate = study.run_many

    def run_many(scenario: Any, seeds: Any, **options: Any) -> Iterator[Any]:
        if options.pop("backend", "simulation") != "linux":
            yield from simulate(scenario, seeds, **options)
            return
        retries = options.pop("retries")
        tally = Tally(len(seeds), options.pop("progress"))
        for seed in seeds:
            options["progress"] = tally.of_part(seed)
            for result in simulate(scenario, [seed], **options):
                is_valid = valid.pop(0) if valid else True
                faults = [] if is_valid else ["too slow"]
                result.summary.update(valid=is_valid, faults=faults, health=HEALTH)
                yield result
                if not is_valid and retries:
                    retries -= 1
                    tally.add(seed, 0.0, 0)
                    again = next(iter(simulate(scenario, [seed], **options)))
                    again.summary["health"] = HEALTH
                    yield again

    monkeypatch.setattr(study, "run_many", run_many)
    profile = host_profile.find("linux-6-vm")
    monkeypatch.setattr(study, "_profile", lambda *_: profile)
    return valid


def test_two_sides_that_do_the_same_agree(played: list[bool]) -> None:
    found = study.validate(SCENARIO, repeat=3)
    assert found.runs.group_by("side").len()["len"].to_list() == [3, 3]
    document = found.document()
    for side in ("simulation", "linux"):
        keys = {"throughput_ratio_median", "throughput_ratio_iqr", "peers_goodput_bps_median"}
        assert keys | {"jain_median", "timeouts_median", "valid_runs"} <= document[side].keys()
        # three runs have no quartiles
        assert document[side]["peers_goodput_bps_iqr"] is None
    total = found.runs["lone_goodput_bps_mean"] + 2 * found.runs["peers_goodput_bps_mean"]
    assert (total < 47.2e6).all()
    assert repr(found) == f"<fairport.Validation {found.scenario.name}: {found.conclusion}>"
    # a notebook shows each measure of the two sides
    assert found._repr_html_().count("<tr>") == 1 + len(validation.COMPARED)
    # drop runs come from the same runs
    assert set(found.drop_runs["side"]) == {"simulation", "linux"}


def test_one_run_cannot_say_whether_the_sides_agree(played: list[bool]) -> None:
    found = study.validate(SCENARIO, repeat=1)
    assert found.document()["agree"] is None
    assert found.conclusion.startswith("Simulation and Linux: ")
    assert found.conclusion.endswith("One run cannot say whether they agree; 5 can.")


def test_invalid_runs_are_listed_and_never_counted(played: list[bool]) -> None:
    played[:] = [False]
    found = study.validate(SCENARIO, repeat=2)
    assert found.document()["invalid_runs"] == [{"seed": 1, "faults": ["too slow"]}]
    assert found.side("linux")["valid_runs"] == 2


def test_how_far_it_is_counts_the_runs_of_both_sides(played: list[bool]) -> None:
    played[:] = [False]
    seen: list[fp.Done] = []
    study.validate(SCENARIO, repeat=2, progress=seen.append)
    # the first run is repeated
    assert [done.runs for done in seen] == [1, 0, 1, 2, 3, 4]
    assert {done.of for done in seen} == {4}
    assert seen[-1].packet_hops > seen[2].packet_hops > 0


def test_the_kernels_queues_have_no_comparison() -> None:
    tc = SCENARIO | {"queue": {"implementation": "tc", "limit": "11 packets"}}
    with pytest.raises(ScenarioError, match="measured by Fairport's own switch") as raised:
        study.validate(tc)
    assert raised.value.field == "queue.implementation"


def test_without_a_valid_run_the_status_is_3(
    played: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played[:] = [False] * 2
    file = tmp_path / "mine.toml"
    file.write_text(fp.scenario(SCENARIO).to_toml())
    run = study.run_many
    monkeypatch.setattr(study, "run_many", lambda *a, **o: iter([next(iter(run(*a, **o)))]))
    answer = CliRunner().invoke(app, ["validate", str(file), "--repeat", "1", "--no-output"])
    assert answer.exit_code == 3
    assert "no valid run" in answer.output


def test_the_folder_holds_what_was_found(played: list[bool], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(fp.scenario(SCENARIO).to_toml())
    out = tmp_path / "out"
    answer = CliRunner().invoke(
        app, ["validate", str(file), "--repeat", "2", "--out", str(out), "--json"]
    )
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["repeat"] == 2
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {"summary.json", "host-profile.toml", "figures/validate.png", "report.html"} <= names
    page = html.unescape((out / "report.html").read_text(encoding="utf-8"))
    found = json.loads(answer.stdout)
    assert found["conclusion"] in page
    for side in ("linux", "simulation"):
        assert f"<td>{found[side]['throughput_ratio_median']:.2f} <small>" in page
    assert host_profile.read(out / "host-profile.toml") == host_profile.find("linux-6-vm")
    assert pl.read_parquet(out / "tables" / "runs.parquet").height == 4
    drawn = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    shutil.rmtree(out / "figures")
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == drawn
    svg = out / "again.svg"
    assert CliRunner().invoke(app, ["plot", str(out), "--out", str(svg)]).exit_code == 0
    assert svg.read_bytes() == (out / "figures" / "validate.svg").read_bytes()


def test_the_simulation_gets_the_hosts_the_ticks_and_the_adapters_of_the_machine(
    played: list[bool],
) -> None:
    found = study.validate(SCENARIO, repeat=1)
    assert found.simulated.host.profile == found.profile
    hz = found.profile.machine.hz
    assert hz is not None
    assert found.simulated.tcp.clock_tick == 10**12 // hz
    # 2 ms are less than two ticks of 4 ms
    assert found.simulated.tcp.rto_min == 8 * 10**9
    # veth pairs keep no frame
    assert found.simulated.tcp.small_queue is False
    # delays that the switch adds at the hosts are not part of the measured times
    adapters = {"host.delay": "30us", "host.jitter": "20us"}
    with_adapters = fp.scenario(SCENARIO).patch(adapters)
    beside = study.simulated(with_adapters, found.profile).host.beside_measured()
    assert beside == with_adapters.host.beside_measured()


@pytest.mark.parametrize(
    ("ratios", "peers", "agree"),
    [
        ((0.20, 0.39), (10e6, 10e6), True),
        ((0.20, 0.41), (10e6, 10e6), False),
        ((0.01, 0.05), (10e6, 10e6), True),
        ((0.20, 0.20), (8.6e6, 10e6), True),
        ((0.20, 0.20), (8.4e6, 10e6), False),
    ],
)
def test_when_two_sides_agree(
    ratios: tuple[float, float], peers: tuple[float, float], agree: bool
) -> None:
    assert validation.agrees(ratios, peers) == agree


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces")
def test_real_linux_is_one_of_the_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairport.backends.linux import gate, host_times

    # other tests run at the same time, so here every run is valid and few answers are required
    monkeypatch.setattr(gate, "faults", lambda *_: [])
    monkeypatch.setattr(host_times, "_FEWEST", 20)
    found = study.validate(SCENARIO | {"duration": "2s"}, repeat=1)
    assert found.side("linux")["valid_runs"] == 1
    assert found.profile.machine.kernel == os.uname().release
    assert 1e6 < found.profile.ack.loads[0].times[5] < 1e9


def test_without_a_lone_class_the_conclusion_is_about_all_flows(played: list[bool]) -> None:
    traffic = [{"from": ["h2", "h3"], "to": "h0"}]
    found = study.validate(SCENARIO | {"traffic": traffic}, repeat=2)
    assert found.groups.lone == ""
    said = (
        r"Simulation and Linux agree: the flows get \S+ and \S+ Mbit/s \(medians of 2 and 2 runs\)."
    )
    assert re.fullmatch(said, found.conclusion)


def test_transfers_are_refused_because_their_goodputs_always_agree() -> None:
    traffic = [{"kind": "periodic", "from": "h2", "to": "h0", "size": "9kB", "period": "1s"}]
    with pytest.raises(ScenarioError) as error:
        study.validate(SCENARIO | {"traffic": traffic})
    assert "has no long-lived flows" in str(error.value)
    assert error.value.field == "traffic"
