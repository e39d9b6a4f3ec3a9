"""Host profiles: the fields of a file, their effect in a scenario, and profiles of real hosts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport.backends.jobs import job_of
from fairport.cli.app import app
from fairport.errors import BackendError, ScenarioError
from fairport.scenario import host_profile, load
from fairport.scenario.phase import phase_parameters
from fairport.scenario.units import Rate
from fairport.toml.parser import loads
from linux_runs import as_root
from typer.testing import CliRunner

SCENARIO: dict[str, Any] = {
    "name": "profile-test",
    "duration": "200ms",
    "topology": {"kind": "two-switch", "peers": 2},
    "link": {"rate": "100Mbps", "delay": "0s", "clock_error": "0ppm"},
    "switch": {"processing_delay": "1us"},
    "tcp": {"stack": "linux-6"},
    "traffic": [{"from": "h1", "to": "h0"}],
}


def constant(us: float, **changes: Any) -> dict[str, Any]:
    """A profile of hosts that always take the same time."""
    times = {
        "correlation": 0.0,
        "loads": [{"gap_min": "0s", "samples": 1, "times": [f"{us}us"] * 2}],
    }
    measurement = {
        "load": "none",
        "runs": 1,
        "switch_lag_p50": "0s",
        "switch_lag_p99": "0s",
        "delayed_ack_share": 0.0,
        "compressed_ack_share": 0.0,
    }
    machine = {"cpu": "paper", "processors": 1, "virtual": False, "kernel": "6.0"}
    parts = {"format": 1, "machine": machine, "measurement": measurement, "levels": [0.0, 1.0]}
    return parts | dict.fromkeys(("ack", "duplicate_ack", "data"), times) | changes


def test_stalls_of_hosts_leave_a_fast_line_full() -> None:
    # Alizadeh et al. 2010, section 3.5: with K = 65 packets DCTCP has full throughput at 10 Gbit/s
    dctcp = {
        "duration": "100ms",
        "topology": {"kind": "star", "hosts": 3},
        "link": {"rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "step-marking", "limit": "1000 packets", "mark_above": "65 packets"},
        "tcp": {"stack": "linux-6", "congestion_control": "dctcp"},
        "traffic": [{"kind": "bulk", "from": "h1..h2", "to": "h0"}],
    }
    assert fp.run(SCENARIO | dctcp).summary["utilisation"] > 0.975


def test_a_host_takes_the_times_of_its_profile() -> None:
    def shortest_rtt(us: float) -> float:
        result = fp.run(SCENARIO | {"host": {"profile": constant(us)}})
        return float(result.flows["rtt_min_s"].min())  # type: ignore[arg-type]

    # once at the sender and once at the receiver, and nothing else depends on it
    assert shortest_rtt(100) - shortest_rtt(40) == pytest.approx(120e-6, abs=1e-9)


def test_the_profiles_that_come_with_fairport_are_sound() -> None:
    assert host_profile.builtin_names()
    for name in host_profile.builtin_names():
        profile = host_profile.find(name)
        assert host_profile._parse(profile.to_toml(), name) == profile
        assert profile.machine.kernel
        # a host needs microseconds, so no answer takes as long as a timer
        for answer in (profile.ack, profile.duplicate_ack, profile.data):
            for one in answer.loads:
                assert 1e6 < one.times[profile.levels.index(0.5)] < 1e9


def test_a_name_and_a_file_mean_the_same(tmp_path: Path) -> None:
    name = host_profile.builtin_names()[0]
    file = tmp_path / "mine.toml"
    file.write_text(host_profile.find(name).to_toml())
    by_name = load(SCENARIO | {"host": {"profile": name}})
    by_file = load(SCENARIO | {"host": {"profile": str(file)}})
    assert fp.run(by_name).manifest["fingerprint"] == fp.run(by_file).manifest["fingerprint"]
    assert name in phase_parameters(by_name)["host"]
    # the scenario contains the file's content, so the file is no longer needed
    file.unlink()
    assert "mine.toml" not in by_file.to_toml()
    assert fp.run(by_file.patch({"seed": 2})).flows.height == 1


def test_a_profile_beside_the_time_of_a_segment_is_refused() -> None:
    processing = {"kind": "constant", "value": "1us"}
    with pytest.raises(ScenarioError, match=r"host.profile: is given as well as host.processing"):
        load(SCENARIO | {"host": {"profile": "linux-6-vm", "processing": processing}})
    assert load(SCENARIO | {"host": {"profile": "none", "processing": processing}})


def test_the_delay_of_an_adapter_comes_on_top_of_measured_times() -> None:
    def shortest_rtt(**host: Any) -> float:
        result = fp.run(SCENARIO | {"host": {"profile": constant(40)} | host})
        return float(result.flows["rtt_min_s"].min())  # type: ignore[arg-type]

    # each host once in and once out
    assert shortest_rtt(delay="10us") - shortest_rtt() == pytest.approx(40e-6, abs=1e-9)


@pytest.mark.parametrize("profile", ["none", "linux-6-vm"])
def test_jitter_comes_on_top_of_the_times_of_hosts(profile: str) -> None:
    def delays(jitter: str) -> dict[str, Any]:
        host = {"profile": profile, "jitter": jitter}
        datagrams = {"kind": "udp", "from": "h1", "to": "h0", "rate": "8Mbps", "payload": "1000B"}
        # a datagram per ms, 1.9 s long
        change = {"host": host, "traffic": [datagrams], "duration": "1.9s"}
        result = fp.run(SCENARIO | change)
        return dict(result.flows.row(0, named=True))

    without, with_jitter = delays("0s"), delays("0.8ms")
    # the sender draws the same times again; U(0, 0.8 ms) is 0.4 ms on average
    added_s = with_jitter["rtt_mean_s"] - without["rtt_mean_s"]
    assert added_s == pytest.approx(0.4e-3, abs=0.03e-3)
    assert with_jitter["rtt_max_s"] > without["rtt_min_s"] + 0.7e-3
    assert with_jitter["rtt_max_s"] <= without["rtt_max_s"] + 0.8e-3
    assert with_jitter["segments_sent"] == without["segments_sent"]


def test_jitter_is_among_what_decides_the_phase() -> None:
    host = phase_parameters(load(SCENARIO | {"host": {"jitter": "20us"}}))["host"]
    assert host.endswith(", packets arrive later by U(0, 20us)")
    assert "later" not in phase_parameters(load(SCENARIO))["host"]


def test_interrupts_are_among_what_decides_the_phase() -> None:
    host = phase_parameters(load(SCENARIO | {"host": {"interrupt_interval": "50us"}}))["host"]
    assert host.endswith(", interrupts at least 50us apart")
    assert "interrupts" not in phase_parameters(load(SCENARIO))["host"]


@pytest.mark.parametrize("times", [{"profile": constant(0)}, {"processing": "0s"}])
def test_packets_between_two_interrupts_reach_the_host_together(times: dict[str, Any]) -> None:
    def delays(interval: str) -> dict[str, Any]:
        host = {"delay": "5us", "delay_spread": "0s", "interrupt_interval": interval} | times
        datagrams = {"kind": "udp", "from": "h1", "to": "h0", "rate": "8Mbps", "payload": "1000B"}
        change = {"host": host, "traffic": [datagrams], "duration": "1.9s"}
        return dict(fp.run(SCENARIO | change).flows.row(0, named=True))

    without, moderated = delays("0s"), delays("2.5ms")
    # One datagram comes per ms. The first raises an interrupt, and the next interrupts are 2.5, 5
    # and 7.5 ms later. So datagrams wait for 0, 1.5, 0.5, 2, 1 and 0 ms, and so on.
    added_s = moderated["rtt_mean_s"] - without["rtt_mean_s"]
    assert added_s == pytest.approx(1e-3, abs=0.01e-3)
    assert moderated["rtt_min_s"] == pytest.approx(without["rtt_min_s"], abs=1e-9)
    assert moderated["rtt_max_s"] == pytest.approx(without["rtt_max_s"] + 2e-3, abs=1e-9)
    # a datagram that comes long after the last interrupt raises one at once
    assert delays("0.9ms")["rtt_max_s"] == pytest.approx(without["rtt_max_s"], abs=1e-9)


BCUBE = {"topology": {"kind": "bcube"}, "traffic": [{"from": "h5", "to": "h0"}]}
CONSTANT = {"processing": {"kind": "constant", "value": "1us"}}


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({}, True),
        ({"tcp": {}}, True),
        ({"tcp": {"stack": "linux-2.6"}}, True),
        ({"tcp": {"stack": "ns2"}}, False),
        ({"tcp": {"stack": "ns3"}}, False),
        ({"tcp": {"stack": "rfc"}}, False),
        ({"tcp": {"stack": "rfc"}, "host": {"profile": "linux-6-vm"}}, True),
        ({"host": {"profile": "none"}}, False),
        ({"host": {"delay": "30us"}}, True),
        ({"host": CONSTANT}, False),
        (BCUBE, False),
    ],
)
def test_hosts_of_a_linux_stack_take_measured_times(
    changes: dict[str, Any], measured: bool
) -> None:
    scenario = load(SCENARIO | changes)
    host = job_of(scenario).document["host"]
    assert host.get("profile") == (host_profile.find("linux-6-vm").job() if measured else None)
    assert ("linux-6-vm" in phase_parameters(scenario)["host"]) == measured
    if measured:
        # the stack's own latency is in the measured times
        expected = 30 * 10**6 if "delay" in changes.get("host", {}) else 0
        assert (host["delay_ps"], host["delay_spread_ps"]) == (expected, 0)
    else:
        assert (host["delay_ps"], host["delay_spread_ps"]) == (5 * 10**6, 10**6)


def test_a_scenario_reads_back_with_the_times_that_it_had() -> None:
    hosts = ({}, {"profile": "none"}, {"delay": "30us"}, {"profile": constant(40)}, CONSTANT)
    for host in hosts:
        scenario = load(SCENARIO | {"host": host})
        for document in (loads(scenario.to_toml()), scenario.resolved()):
            assert job_of(load(document)).document["host"] == job_of(scenario).document["host"]


def test_an_unknown_profile_names_those_that_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"host\.profile") as caught:
        load(SCENARIO | {"host": {"profile": "linux-6-wm"}})
    assert "linux-6-vm" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 2}, "format"),
        ({"levels": [0.0, 1.5]}, "levels.1"),
        ({"levels": [0.1, 1.0]}, "levels: do not rise"),
        ({"levels": [0.0, 0.5, 1.0]}, "ack.loads.0.times: holds 2 times for 3 levels"),
        ({"speed": 3}, "speed: is not a field of a host profile"),
        (
            {"data": {"correlation": 2.0, "loads": constant(1)["data"]["loads"]}},
            "data.correlation",
        ),
        (
            {
                "ack": {
                    "correlation": 0.0,
                    "loads": [{"gap_min": "0s", "samples": 1, "times": ["2us", "1us"]}],
                }
            },
            "ack.loads.0.times: decrease",
        ),
        (
            {
                "ack": {
                    "correlation": 0.0,
                    "loads": [{"gap_min": "1us", "samples": 1, "times": ["1us", "1us"]}],
                }
            },
            "ack.loads: do not begin",
        ),
    ],
)
def test_a_damaged_profile_is_refused(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    import tomli_w

    file = tmp_path / "damaged.toml"
    file.write_text(tomli_w.dumps(constant(1, **change)))
    with pytest.raises(ScenarioError, match=rf"host.profile.*damaged.toml(:\d+)?: {problem}"):
        load(SCENARIO | {"host": {"profile": str(file)}})


@pytest.mark.parametrize("content", [b"format = ", b"\xff\xfe\x00", None])
def test_a_file_that_is_no_profile_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "none.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ScenarioError, match=r"none.toml"):
        load(SCENARIO | {"host": {"profile": str(file)}})


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@linux_only
def test_quantiles_and_correlation_come_back_from_answers() -> None:
    """Answers drawn from known distributions, with a known correlation."""
    import numpy as np
    from fairport.backends.linux.host_times import profile

    random = np.random.default_rng(1)
    count = 20_000
    # the one before again with probability 0.4: a correlation of 0.4
    uniform = random.random(count)
    again = random.random(count) < 0.4
    for i in range(1, count):
        uniform[i] = uniform[i - 1] if again[i] else uniform[i]

    def answers(kind: str, delay_s: np.ndarray, frames: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "time_s": np.arange(count) * 1e-4,
                "host": ["h0"] * count,
                "answer": [kind] * count,
                "frames": pl.Series([frames] * count, dtype=pl.UInt32),
                "delay_s": delay_s,
                "idle_s": np.where(np.arange(count) % 2 == 0, 5e-6, 2e-3),
            }
        )

    timer = answers("ack", np.full(count, 2e-3), 1).head(1000)
    # if the program has not read yet, an ACK of two segments waits for the timer, too
    unread = answers("ack", np.full(count, 4e-3), 2).head(500)
    seen = pl.concat(
        [
            answers("ack", 10e-6 + 20e-6 * uniform, 2),
            timer,
            unread,
            answers("duplicate-ack", np.full(count, 5e-6), 1),
            answers("later-duplicate-ack", np.full(count, 130e-6), 1),
            answers("data", np.where(uniform < 0.999, 8e-6, 20e-3), 1),
        ]
    )
    lags = [{"lag_p50_s": 1e-6, "lag_p99_s": 20e-6}]
    found = profile(seen, lags, "made up", rate_max=Rate("1Gbps"))
    assert found.measurement.rate_max == 1e9
    busy, idle = found.ack.loads
    assert (int(busy.gap_min), int(idle.gap_min)) == (0, 20 * 10**6)
    for level, time in zip(found.levels, busy.times, strict=True):
        assert int(time) / 1e6 == pytest.approx(10 + 20 * level, abs=0.6)
    assert found.ack.correlation == pytest.approx(0.4, abs=0.03)
    assert found.measurement.delayed_ack_share == pytest.approx(1500 / 21_500, abs=1e-3)
    assert found.measurement.compressed_ack_share == 0.5
    assert {str(time) for time in found.duplicate_ack.loads[0].times} == {"5us"}
    # answers that waited for a timer are left out
    assert found.data.loads[0].times[-1] == 8 * 10**6
    # paced data waited for the pacer, not for the host
    paced = profile(seen, lags, "made up", rate_max=Rate("1Gbps"), is_paced=True)
    assert {str(time) for time in paced.data.loads[0].times} == {"5us"}
    assert paced.ack == found.ack


@linux_only
def test_too_few_answers_make_no_profile() -> None:
    from fairport import tables
    from fairport.backends.linux.host_times import profile

    lags = [{"lag_p50_s": 0.0, "lag_p99_s": 0.0}]
    with pytest.raises(BackendError, match="too few for a profile"):
        profile(tables.empty("answers"), lags, "nothing", rate_max=Rate("1Gbps"))


@pytest.mark.alone
@as_root
def test_real_hosts_answer_after_microseconds() -> None:
    real = SCENARIO | {
        "duration": "2s",
        "queue": {"limit": "11 packets"},
        "traffic": [{"from": "all", "to": "h0"}],
    }
    answers = fp.run(real, backend="linux").tables["answers"]
    assert {"ack", "duplicate-ack", "data"} <= set(answers["answer"])
    assert set(answers.filter(pl.col("answer") == "ack")["host"]) == {"h0"}
    assert set(answers.filter(pl.col("answer") == "data")["host"]) <= {"h1", "h2", "h3"}
    assert answers["delay_s"].min() > 0  # type: ignore[operator]
    data = answers.filter(pl.col("answer") == "data")["delay_s"]
    assert 1e-6 < data.median() < 200e-6  # type: ignore[operator]
    # Linux acknowledges every second segment of a bulk flow
    in_pairs = answers.filter(pl.col("answer") == "ack")["frames"] == 2
    assert in_pairs.mean() > 0.5  # type: ignore[operator]


@pytest.mark.parametrize("option", [["--out", "mine.toml"], ["--description", "mine"], ["--force"]])
def test_the_doctor_refuses_options_of_a_profile_that_it_does_not_write(option: list[str]) -> None:
    answer = CliRunner().invoke(app, ["doctor", *option])
    assert answer.exit_code == 2
    assert f"{option[0]}: is about the host profile" in answer.output
    assert "add --measure-hosts" in answer.output


def test_measure_hosts_replaces_no_file_by_itself(tmp_path: Path) -> None:
    out = tmp_path / "there.toml"
    out.write_text("mine")
    answer = CliRunner().invoke(app, ["doctor", "--measure-hosts", "--out", str(out)])
    assert answer.exit_code == 2
    assert 'there.toml" exists' in answer.output
    assert out.read_text() == "mine"


@linux_only
def test_measure_hosts_is_refused_at_once_where_its_file_cannot_be(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "mine.toml"
    answer = CliRunner().invoke(app, ["doctor", "--measure-hosts", "--out", str(out)])
    assert answer.exit_code == 2
    assert "cannot be written" in answer.output
    assert "measuring" not in answer.output


@linux_only
def test_measure_hosts_writes_what_a_scenario_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairport.backends.linux import measure_hosts

    measured = host_profile.find("linux-6-vm")
    monkeypatch.setattr(measure_hosts, "measure_hosts", lambda _: measured)
    out = tmp_path / "mine.toml"
    answer = CliRunner().invoke(app, ["doctor", "--measure-hosts", "--out", str(out), "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["format"] == 1
    assert host_profile.read(out) == measured
