"""Several outputs of one switch, captured together: each has the same results as in the run."""

from __future__ import annotations

import json
from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from captures import Captured, as_tcpdump_writes, by_run, captured, delayed
from conftest import Command
from fairport.backends.captures import CaptureError, Role, Source, analyse
from fairport.metrics import fairness
from fairport.metrics.drop_runs import blackouts, drop_runs

OUTPUTS = ("s0:0", "s0:1")
# h1 and eleven peers behind s1 send to h0; h14, h15, h16 send to h13
SCENARIO = {
    "name": "two-outputs",
    "duration": "300ms",
    "topology": {
        "kind": "graph",
        "hosts": [f"h{n}" for n in range(17)],
        "switches": ["s0", "s1"],
        "links": [
            *({"ends": [f"h{n}", "s0"]} for n in (0, 13, 1, 14, 15, 16)),
            {"ends": ["s1", "s0"]},
            *({"ends": [f"h{n}", "s1"]} for n in range(2, 13)),
        ],
    },
    "link": {"rate": "1Gbps", "clock_error": "50ppm"},
    "switch": {"processing_delay": "25us"},
    "host": {"delay": "30us", "delay_spread": "20us"},
    "queue": {"kind": "drop-tail", "limit": "16KiB"},
    "tcp": {"stack": "linux-2.6", "congestion_control": "bic", "rto_min": "2ms"},
    "traffic": [
        {
            "kind": "bulk",
            "from": [f"h{n}" for n in range(1, 13)],
            "to": "h0",
            "start_jitter": "10ms",
        },
        {"kind": "bulk", "from": ["h14", "h15", "h16"], "to": "h13", "start_jitter": "10ms"},
    ],
}
COUNTS = ["port_arrival", "ingress_arrival", "flow_arrival", "port_accepted"]
KINDS = ["is_backward", "is_pure_ack"]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    ports = [f"s0:{number}" for number in range(7)]
    folder = tmp_path_factory.mktemp("two") / "run"
    return captured(fp.scenario(SCENARIO), ports, folder)


@pytest.fixture(scope="module")
def found(two: Captured) -> fp.Result:
    return analyse(two.files)


def settled(two: Captured, found: fp.Result, port: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drops at an output: found, and in the run until the captures' ends leave some open."""
    (output,) = (one for one in found.summary["captures"]["outputs"] if one["port"] == port)
    end_s = two.run.summary["simulated_s"] - 2 * output["completeness"]["delay_max_s"]
    theirs = two.run.drops.filter(pl.col("port") == port, pl.col("time_s") < end_s)
    ours = by_run(found, found.drops).filter(port=port).head(theirs.height)
    return ours, theirs.drop("run_id")


@pytest.mark.parametrize("port", OUTPUTS)
def test_each_output_has_its_own_drops_runs_and_blackouts(
    two: Captured, found: fp.Result, port: str
) -> None:
    ours, theirs = settled(two, found, port)
    assert theirs.height > 50
    same = ["port", "ingress_port", "flow", "seq", "size_bytes", "reason", *COUNTS, *KINDS]
    assert ours.select(same).equals(theirs.select(same))
    for by in ("ingress", "flow", "port"):
        mine, truth = drop_runs(ours, by), drop_runs(theirs, by)
        assert mine.drop("first_s", "last_s").equals(truth.drop("first_s", "last_s")), by
    keys = ["ingress_port", "length", "others_accepted"]
    assert blackouts(ours).select(keys).equals(blackouts(theirs).select(keys))


def test_no_drop_is_found_elsewhere_and_drops_are_in_order(two: Captured, found: fp.Result) -> None:
    assert set(found.drops["port"]) == set(OUTPUTS)
    assert found.drops["time_s"].is_sorted()
    (one, other) = found.summary["captures"]["outputs"]
    for output in (one, other):
        complete = output["completeness"]
        assert complete["missed_at_ingress"] == complete["without_ingress"] == 0
        in_run = two.run.tables["ports"].filter(port=output["port"])
        open_at_end = complete["open"]
        assert in_run["drops"][0] - open_at_end <= output["drops"] <= in_run["drops"][0]
        assert in_run["packets"][0] - open_at_end <= complete["joined"] <= in_run["packets"][0]
        most = in_run["queue_max_bytes"][0]
        # a packet in service counts in captures, and is at most one
        assert most <= output["queue_max_bytes"] <= most + 1518


def test_the_verdict_is_on_the_worst_output(two: Captured, found: fp.Result) -> None:
    summary = found.summary
    assessed = {one["port"]: one["verdict"] for one in summary["captures"]["outputs"]}
    ratios = {port: one["ratio"] for port, one in assessed.items() if one["outcast"]}
    assert ratios, "one lone sender beside eleven is an outcast"
    worst = min(ratios, key=lambda port: ratios[port])
    assert summary["bottleneck"]["port"] == worst
    assert summary["verdict"]["ratio"] == ratios[worst]
    assert summary["verdict"]["sentence"].startswith(f"Of 2 outputs, {worst} is the worst: ")
    # only its flows are compared, and only its blackouts are traced
    receivers = {"s0:0": "10.0.0.1", "s0:1": "10.0.0.14"}
    assert set(fairness.compared(found.flows)["dst"]) == {receivers[worst]}
    assert set(found.tables["trace"]["port"]) == {worst}
    assert found.flows.height == two.run.flows.height
    ways = found.tables["conversations"].join(found.flows, on="flow")
    pairs = set(ways.select("egress_port", "dst").iter_rows())
    assert pairs == set(receivers.items())


def test_sides_as_tcpdump_writes_them(two: Captured, found: fp.Result, tmp_path: Path) -> None:
    """Captures without directions show the same drops, with roles found by order or named."""
    sources = []
    for port in OUTPUTS:
        for side in ("ingress", "egress"):
            file = tmp_path / f"{side}{port[-1]}.pcap"
            as_tcpdump_writes(two.file(side, port), file)
            sources.append(Source(str(file), "ingress" if side == "ingress" else "egress", None))
    given = analyse(sources)
    alone = analyse([one.file for one in sources])
    for result in (given, alone):
        assert sorted(result.summary["captures"]["egress"]) == ["egress0", "egress1"]
        seen = by_run(result, result.drops).select("flow", "seq", "size_bytes", "port_arrival")
        truth = by_run(found, found.drops).select("flow", "seq", "size_bytes", "port_arrival")
        assert seen.equals(truth)


def test_an_output_captured_in_both_directions_hides_no_drop_run(
    two: Captured, found: fp.Result, tmp_path: Path
) -> None:
    """ACKs that come in by the output are no packets that an ingress capture missed."""
    out = tmp_path / "out.pcap"
    as_tcpdump_writes(two.file("egress"), out, back=two.file("ingress", "s0:6"))
    sources = [Source(str(out), "egress", "s0:0")]
    for interface, port in ((2, "s0:2"), (6, "s0:6")):
        file = tmp_path / f"in{interface}.pcap"
        as_tcpdump_writes(two.file("ingress"), file, interface=interface)
        sources.append(Source(str(file), "ingress", port))
    given = analyse(sources)
    for by in ("ingress", "flow"):
        runs, truth = (
            drop_runs(by_run(one, one.drops).filter(port="s0:0"), by)["length"]
            for one in (given, found)
        )
        assert runs.max() > 3
        assert runs.sort().equals(truth.sort()), by
    assert "at its ingress port" in given.summary["verdict"]["sentence"]


def test_who_came_in_by_one_capture_of_several_ports_is_not_told_by_port(
    two: Captured, tmp_path: Path
) -> None:
    """As from a mirror: its blackouts are those of no port, so the verdict is silent on them."""
    files = [tmp_path / f"{side}.pcap" for side in ("ingress", "egress")]
    for file in files:
        as_tcpdump_writes(two.file(file.stem), file)
    summary = analyse(list(map(str, files))).summary
    assert summary["verdict"]["outcast"]
    assert "at its ingress port" not in summary["verdict"]["sentence"]
    assert "All flows came in by one capture, ingress." in " ".join(summary["caveats"])


def test_clocks_of_outputs_that_differ_are_aligned(
    two: Captured, found: fp.Result, tmp_path: Path
) -> None:
    late = tmp_path / "late.pcapng"
    delayed(two.file("egress", "s0:1"), late, by_ns=2_000_000_000)
    # one ingress capture holds packets for both outputs, as that of a mirrored port does
    both = tmp_path / "in.pcap"
    as_tcpdump_writes(two.file("ingress", "s0:0"), both, back=two.file("ingress", "s0:1"))
    straight = tmp_path / "out.pcap"
    as_tcpdump_writes(two.file("egress", "s0:0"), straight)
    far = tmp_path / "far.pcap"
    as_tcpdump_writes(late, far)
    sources = [
        Source(str(both), "ingress", "A"),
        Source(str(straight), "egress", "X"),
        Source(str(far), "egress", "Y"),
    ]
    result = analyse(sources)
    clocks = {
        Path(one["file"]).name: one["clock_offset_s"] for one in result.summary["captures"]["files"]
    }
    assert clocks["far.pcap"] - clocks["out.pcap"] == pytest.approx(-2, abs=1e-4)
    names = {"X": "s0:0", "Y": "s0:1"}
    for name, port in names.items():
        mine = by_run(result, result.drops).filter(port=name)
        theirs, _ = settled(two, found, port)
        missing = theirs.join(mine, on=["flow", "seq"], how="anti")
        assert missing.height <= 3, "but for those of the first and last moments"


def test_every_packet_has_a_row_with_its_fate(two: Captured) -> None:
    found = analyse(two.files, packets=True)
    for output in found.summary["captures"]["outputs"]:
        complete = output["completeness"]
        fates = dict(
            found.tables["packets"].filter(port=output["port"])["fate"].value_counts().iter_rows()
        )
        assert fates == {
            "forwarded": complete["joined"],
            "dropped": output["drops"],
            "waiting": complete["open"],
        }
        assert complete["arrived"] == sum(fates.values())
        assert complete["open"] > 0, "the run ends with packets in the queue"


def test_a_table_of_outputs(fairport: Command, two: Captured) -> None:
    outcome = fairport("analyze", *two.files)
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert any(line.startswith("output") for line in lines)
    assert sum(line.split()[:1] in (["s0:0"], ["s0:1"]) for line in lines) == 2
    assert "the worst output:" in outcome.out
    assert lines[-1].startswith("Of 2 outputs, ")
    summary = json.loads(fairport("analyze", "--json", *two.files).out)
    assert [one["port"] for one in summary["captures"]["outputs"]] == summary["captures"]["egress"]


def test_a_folder_of_two_outputs_can_be_reported(
    fairport: Command, two: Captured, tmp_path: Path
) -> None:
    scenario = tmp_path / "mine.toml"
    done = fairport(
        *("analyze", *two.files, "--packets", "--no-figures", "--out", "found"),
        *("--to-scenario", str(scenario)),
    )
    assert done.status == 0, done.err
    made = fp.scenario(scenario)
    receivers = {one["to"] for one in made.document()["traffic"]}
    assert len(receivers) == 1, "what passes the worst output"
    assert fairport("microscope", "found", "--quiet").status == 0


def test_exchanged_sides_that_say_their_direction_are_an_error(two: Captured) -> None:
    ingress, egress = str(two.file("ingress")), str(two.file("egress"))
    with pytest.raises(CaptureError, match="says that its packets all went out") as refused:
        analyse([Source(egress, "ingress"), Source(ingress, "egress")])
    assert "exchange --ingress and --egress" in refused.value.remedy


def test_one_file_on_both_sides_must_say_which_way_packets_went(
    two: Captured, tmp_path: Path
) -> None:
    both = tmp_path / "port.pcap"
    as_tcpdump_writes(two.file("egress"), both, back=two.file("ingress", "s0:2"))
    with pytest.raises(CaptureError, match="is given as --ingress and as --egress") as refused:
        analyse([Source(str(both), "ingress", "A"), Source(str(both), "egress", "X")])
    assert "tcpdump -Q in" in refused.value.remedy


@pytest.mark.parametrize("roles", [("ingress", "egress"), ("auto", "auto")])
def test_a_copy_of_a_capture_is_not_the_other_side(
    two: Captured, tmp_path: Path, roles: tuple[Role, Role]
) -> None:
    one, copy = tmp_path / "one.pcap", tmp_path / "copy.pcap"
    as_tcpdump_writes(two.file("egress"), one)
    copy.write_bytes(one.read_bytes())
    with pytest.raises(CaptureError, match="at the same times: they are one capture"):
        analyse([Source(str(one), roles[0]), Source(str(copy), roles[1])])
