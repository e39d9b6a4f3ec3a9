"""Captures of a simulated switch are analysed, and compared with the simulation's own tables."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from captures import (
    Captured,
    as_tcpdump_writes,
    by_run,
    captured,
    delayed,
    doubled,
    merged,
    thinned,
)
from fairport.backends.captures import CaptureError, Source, analyse
from fairport.metrics.drop_runs import blackouts, drop_runs

STAR = {
    "name": "star",
    "duration": "400ms",
    "topology": {"kind": "star", "hosts": 9},
    "link": {"rate": "1Gbps"},
    "switch": {"processing_delay": "25us"},
    "host": {
        "delay": "30us",
        "delay_spread": "20us",
        "processing": {"kind": "uniform", "min": "0s", "max": "5us"},
    },
    "tcp": {"stack": "linux-2.6", "congestion_control": "bic", "rto_min": "2ms"},
    "traffic": [{"kind": "bulk", "from": "all", "to": "h0", "start_jitter": "10ms"}],
}
QUEUES = {
    "drop-tail": {"kind": "drop-tail", "limit": "16KiB"},
    "red": {"kind": "red", "limit": "40 packets"},
    "sfq": {"kind": "sfq", "limit": "20 packets"},
}


@pytest.fixture(scope="module", params=QUEUES)
def star(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Eight senders at one switch: packets are lost only at the captured port."""
    scenario = fp.scenario(STAR | {"queue": QUEUES[request.param]})
    ports = [f"s0:{port}" for port in range(9)]
    return captured(scenario, ports, tmp_path_factory.mktemp("captures") / request.param)


@pytest.fixture(scope="module")
def outcast(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """The lone sender at one port and twelve others by another: blackouts."""
    scenario = fp.scenario("two-switch").patch({"duration": "500ms"})
    folder = tmp_path_factory.mktemp("captures") / "two-switch"
    return captured(scenario, ["s0:0", "s0:1", "s0:2"], folder)


def decided(found: fp.Result, truth: Captured) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drops as found, and those of the run until the captures' ends leave packets open."""
    ours = by_run(found, found.drops)
    end_s = truth.run.summary["simulated_s"]
    open_s = end_s - found.summary["captures"]["completeness"]["delay_max_s"] * 2
    return ours, truth.table("drops").filter(pl.col("time_s") < open_s)


def test_every_drop_is_found_and_none_invented(star: Captured) -> None:
    found = analyse(star.files)
    ours, drops = decided(found, star)
    assert drops.height > 100
    same = ["port", "ingress_port", "flow", "seq", "size_bytes", "reason"]
    same += ["is_backward", "is_pure_ack"]
    counts = ["port_arrival", "ingress_arrival", "flow_arrival", "port_accepted"]
    assert ours.head(drops.height).select(same + counts).equals(drops.select(same + counts))
    late = ours.height - drops.height
    assert 0 <= late <= star.table("drops").height - drops.height
    differences = ours.head(drops.height)["time_s"] - drops["time_s"]
    assert float(differences.abs().max() or 0) < 2e-9, "stamps are in nanoseconds"


def test_runs_and_blackouts_are_those_of_the_run(star: Captured, outcast: Captured) -> None:
    for truth in (star, outcast):
        found = analyse(truth.files)
        ours, drops = decided(found, truth)
        ours = ours.head(drops.height)
        for by in ("ingress", "flow", "port"):
            mine, theirs = drop_runs(ours, by), drop_runs(drops, by)
            assert mine.drop("first_s", "last_s").equals(theirs.drop("first_s", "last_s")), by
        keys = ["ingress_port", "length", "others_accepted"]
        mine, theirs = blackouts(ours), blackouts(drops)
        assert mine.select(keys).equals(theirs.select(keys))
    assert theirs.height > 20, "outcast without blackouts is none"


def test_timeouts_are_those_of_the_run(star: Captured) -> None:
    found = analyse(star.files)
    keys = ["flow", "is_backward", "seq"]
    ours = by_run(found, found.timeouts).sort("end_s")
    theirs = star.run.timeouts.sort("end_s")
    # after a timeout shortly before the end, the retransmission comes after the end
    theirs = theirs.filter(pl.col("end_s") < star.run.summary["simulated_s"] - 1e-3)
    assert theirs.height > 10
    counts = ours.select(keys).group_by(keys).len().sort(keys)
    expected = theirs.select(keys).group_by(keys).len().sort(keys)
    missing = expected.join(counts, on=[*keys, "len"], how="anti")
    assert missing.is_empty()
    assert ours.height - theirs.height <= star.run.timeouts.height - theirs.height


def test_goodput_is_that_of_the_run_but_for_what_is_on_the_last_link(star: Captured) -> None:
    measure = star.run.summary["measure"]
    found = analyse(star.files, measure_s=(measure["from_s"], measure["to_s"]))
    ours = by_run(found, found.flows).sort("flow")
    theirs = star.run.flows.sort("flow")
    off = (ours["measured_bytes"].cast(pl.Int64) - theirs["measured_bytes"].cast(pl.Int64)).abs()
    # the receiver gets them up to 200 us after the port: 16 packets at the line's rate
    assert int(off.max()) <= 16 * 1448
    assert ours["segments_sent"].sum() <= theirs["segments_sent"].sum()
    rtt = ours["rtt_mean_s"] / theirs["rtt_mean_s"]
    assert rtt.is_between(0.8, 1.2).all()


def test_what_waits_in_the_queue_at_the_end_has_not_arrived(outcast: Captured) -> None:
    end_s = outcast.run.summary["simulated_s"]
    found = analyse(outcast.files, measure_s=(end_s - 10e-3, end_s)).summary
    assert found["captures"]["completeness"]["open"] > 3
    # of 1538 B on the wire 1448 B are payload; at most one packet more, by where it begins
    line_bps = 1e9 * (1 + 50e-6) * 1448 / 1538
    assert found["goodput_bps_total"] <= line_bps + 8 * 1448 / 10e-3


def test_the_verdict_names_the_starved_host(outcast: Captured) -> None:
    measure = outcast.run.summary["measure"]
    analysed = analyse(outcast.files, measure_s=(measure["from_s"], measure["to_s"]))
    found = analysed.summary["verdict"]
    truth = outcast.run.summary["verdict"]
    assert found["outcast"] == truth["outcast"] is True
    assert found["ratio"] == pytest.approx(truth["ratio"], rel=0.1)
    assert found["sentence"].startswith("10.0.0.2 (1 flow, 2 hops, by port s0:1) gets")
    assert "at its ingress port" in found["sentence"]


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05])
def test_an_ingress_capture_with_gaps_makes_no_drop_and_no_blackout(
    outcast: Captured, tmp_path: Path, share: float
) -> None:
    worse = tmp_path / "in.pcapng"
    gone = thinned(outcast.file("ingress"), share, worse)
    found = analyse([Source(str(worse), "ingress"), Source(str(outcast.file("egress")), "egress")])
    complete = found.summary["captures"]["completeness"]
    ours, drops = decided(found, outcast)
    true = set(outcast.table("drops").select("flow", "seq", "ingress_port").iter_rows())
    assert set(ours.select("flow", "seq", "ingress_port").iter_rows()) <= true
    assert complete["missed_at_ingress"] <= gone
    assert complete["missed_at_ingress"] + (drops.height - ours.height) >= gone * 0.99 - 5
    assert ours.height >= drops.height * (1 - 1.5 * share) - 5
    # each blackout found lies within one of the run
    theirs = blackouts(outcast.table("drops"))
    mine = blackouts(ours)
    for row in mine.iter_rows(named=True):
        within = theirs.filter(
            pl.col("ingress_port") == row["ingress_port"],
            pl.col("first_s") <= row["first_s"] + 1e-8,
            pl.col("last_s") >= row["last_s"] - 1e-8,
        )
        assert within.height == 1, row
    assert mine.height >= theirs.height * (1 - 12 * share) - 3, "most are still found"
    notes = " ".join(found.summary["captures"]["notes"])
    assert ("larger buffer (-B), at ports that do not merge" in notes) == (share == 0.05)


def test_an_egress_capture_with_gaps_makes_few_drops(outcast: Captured, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    shutil.copytree(outcast.folder / "captures", folder)
    gone = thinned(outcast.file("egress"), 0.01, folder / "s0-0.egress.pcapng")
    found = analyse(sorted(str(file) for file in folder.iterdir()))
    complete = found.summary["captures"]["completeness"]
    true = set(outcast.table("drops").select("flow", "seq").iter_rows())
    ours = by_run(found, found.drops)
    invented = len(set(ours.select("flow", "seq").iter_rows()) - true)
    assert complete["missed_at_egress"] >= 0.9 * gone
    assert invented <= 0.05 * gone


def test_interfaces_of_one_capture_are_sides_too(outcast: Captured, tmp_path: Path) -> None:
    sides = [outcast.file("ingress"), outcast.file("egress")]
    merged(sides, tmp_path / "all.pcapng")
    found, wanted = analyse([str(tmp_path / "all.pcapng")]), analyse(list(map(str, sides)))
    assert found.summary["captures"]["egress"] == ["s0:0"]
    assert found.summary["captures"]["ingress"] == ["s0:1", "s0:2"]
    columns = ["time_s", "flow", "seq", "ingress_arrival"]
    assert found.drops.select(columns).equals(wanted.drops.select(columns))
    assert found.flows.drop("run_id").equals(wanted.flows.drop("run_id"))


def test_packets_that_captures_hold_twice_count_once(outcast: Captured, tmp_path: Path) -> None:
    once = [Source(str(outcast.file(side)), side) for side in ("ingress", "egress")]
    twice = [Source(str(tmp_path / f"{one.role}.pcapng"), one.role) for one in once]
    packets = [
        doubled(Path(one.file), Path(other.file), later_ns=20_000)
        for one, other in zip(once, twice, strict=True)
    ]
    found, wanted = analyse(twice), analyse(once)
    for table in ("drops", "flows", "conversations", "timeouts"):
        ours, theirs = (result.tables[table].drop("run_id") for result in (found, wanted))
        assert ours.equals(theirs), table
    copies = [file["copies"] for file in found.summary["captures"]["files"]]
    # the first packet of a flow has the identification 0, which hosts also use if they set none
    flows = found.flows.height
    assert all(0 <= of - copy <= flows for of, copy in zip(packets, copies, strict=True))
    assert "packets twice. The copies do not count" in " ".join(found.summary["captures"]["notes"])
    alone, known = analyse([twice[1].file]), analyse([once[1].file])
    assert alone.flows["retransmits"].sum() <= known.flows["retransmits"].sum() + 20


def test_clocks_that_differ_are_aligned(outcast: Captured, tmp_path: Path) -> None:
    late = tmp_path / "in.pcapng"
    delayed(outcast.file("ingress"), late, by_ns=3_000_000_000, drift=1e-3)
    found = analyse([Source(str(late), "ingress"), Source(str(outcast.file("egress")), "egress")])
    clock = found.summary["captures"]["files"][0]
    assert clock["clock_offset_s"] == pytest.approx(-3, abs=2e-4)
    assert clock["clock_drift_ppm"] == pytest.approx(-1000, abs=100)
    ours, drops = decided(found, outcast)
    keys = ["flow", "seq", "ingress_port"]
    assert ours.head(drops.height).select(keys).equals(drops.select(keys))


def test_one_capture_says_what_cannot_be_known(outcast: Captured) -> None:
    found = analyse([str(outcast.file("egress"))])
    assert found.drops.is_empty()
    assert found.summary["verdict"]["outcast"]
    assert found.summary["verdict"]["blackout_timeout_share"] is None
    assert "drop" not in found.summary["verdict"]["sentence"]
    notes = " ".join(found.summary["captures"]["notes"])
    assert "cannot be known" in notes
    assert "no ACKs" in notes


def test_the_scenario_made_of_a_capture_is_one(outcast: Captured) -> None:
    made = analyse(outcast.files).scenario
    again = fp.scenario(made.document())
    assert len(again.traffic) == 13
    assert int(again.link.rate) == 10**9
    run = fp.run(again.patch({"duration": "50ms"}))
    assert run.flows.height == 13
    assert dict(run.flows["hops"].value_counts().iter_rows()) == {2: 1, 3: 12}


def test_stamps_that_are_months_apart_make_a_scenario_too(
    outcast: Captured, tmp_path: Path
) -> None:
    # a scenario's times end at 2^63 ps, which is 106 days
    delayed(outcast.file("egress"), tmp_path / "far.pcapng", 0, drift=3e7)
    found = analyse([str(tmp_path / "far.pcapng")])
    assert found.summary["simulated_s"] > 107 * 86_400
    assert 100 * 86_400 < found.scenario.duration.seconds < 107 * 86_400


@pytest.mark.parametrize("days", [212, 214, 10_000])
def test_a_stamp_that_does_not_fit_into_a_run_is_an_error_that_names_the_packet(
    undirected: tuple[str, str], tmp_path: Path, days: int
) -> None:
    # times of a run are 64 bits of ps, which hold 213 days
    damaged, at = bytearray(Path(undirected[1]).read_bytes()), 24
    for _ in range(4):
        at += 16 + int.from_bytes(damaged[at + 8 : at + 12], "little")
    second = int.from_bytes(damaged[at : at + 4], "little") + days * 86_400
    damaged[at : at + 4] = second.to_bytes(4, "little")
    files = [undirected[0], str(tmp_path / "damaged.pcap")]
    Path(files[1]).write_bytes(damaged)
    if days < 213:
        assert analyse(files[1:]).summary["simulated_s"] >= days * 86_400
        return
    for given in ([Source(files[0], "ingress"), Source(files[1], "egress")], files[1:]):
        with pytest.raises(CaptureError, match=f"packet 5 is {days} days") as refused:
            analyse(given)
        assert "damaged.pcap" in str(refused.value)
        assert "editcap" in refused.value.remedy


@pytest.fixture(scope="module")
def undirected(outcast: Captured, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What comes in, and the output in both directions, as tcpdump writes them."""
    folder = tmp_path_factory.mktemp("classic")
    ingress, egress = folder / "in.pcap", folder / "out.pcap"
    as_tcpdump_writes(outcast.file("ingress"), ingress)
    acks = folder / "acks.pcapng"
    acks.write_bytes(outcast.file("ingress", "s0:1").read_bytes())
    as_tcpdump_writes(outcast.file("egress"), egress, back=acks)
    return str(ingress), str(egress)


def test_sides_are_found_by_who_saw_a_packet_first(
    outcast: Captured, undirected: tuple[str, str]
) -> None:
    ingress, egress = undirected
    given = analyse([Source(ingress, "ingress"), Source(egress, "egress")])
    complete = given.summary["captures"]["completeness"]
    # ACKs that came in by the output's port do not count as packets of an unknown port
    assert complete["without_ingress"] == 0
    (output,) = given.summary["captures"]["outputs"]
    assert output["peak_bps"] <= 1.01e9
    drops = outcast.table("drops").height
    assert drops - complete["open"] <= given.drops.height <= drops
    found = analyse([egress, ingress])
    assert found.summary["captures"]["egress"] == ["out"]
    assert found.drops.drop("run_id").equals(given.drops.drop("run_id"))


@pytest.fixture
def both_ways(outcast: Captured, tmp_path: Path) -> tuple[Path, Path]:
    """An ingress port and the output, each captured in both directions by tcpdump."""
    far, near = tmp_path / "far.pcap", tmp_path / "near.pcap"
    as_tcpdump_writes(outcast.file("ingress"), far, back=outcast.file("egress", "s0:2"))
    as_tcpdump_writes(outcast.file("egress"), near, back=outcast.file("ingress", "s0:2"))
    return far, near


def shifted(file: Path, to: Path, by_ns: int) -> Path:
    """A copy of a classic pcap with the times of another clock."""
    content = bytearray(file.read_bytes())
    at = 24
    while at < len(content):
        second, part, kept = struct.unpack_from("<3I", content, at)
        struct.pack_into("<2I", content, at, *divmod(second * 10**9 + part + by_ns, 10**9))
        at += 16 + kept
    to.write_bytes(content)
    return to


def test_the_order_of_packets_shows_no_sides_if_clocks_differ(
    both_ways: tuple[Path, Path], tmp_path: Path
) -> None:
    """ACKs pass two ports in the opposite order, so one capture cannot be last for both."""
    far, near = both_ways
    given = analyse([Source(str(far), "ingress"), Source(str(near), "egress")])
    assert analyse([str(far), str(near)]).summary["captures"]["egress"] == ["near"]
    for by_ns in (3_000_000, -3_000_000):
        off = shifted(far, tmp_path / f"off{by_ns}.pcap", by_ns)
        with pytest.raises(CaptureError, match=r"their clocks differ") as refused:
            analyse([str(off), str(near)])
        assert "--ingress PORT=FILE" in refused.value.remedy
        named = analyse([Source(str(off), "ingress"), Source(str(near), "egress")])
        assert named.drops.height == given.drops.height
        (clock, _) = (one["clock_offset_s"] for one in named.summary["captures"]["files"])
        assert clock == pytest.approx(-by_ns / 1e9, abs=1e-4)
        # delays count from the shortest one; with the clocks as they are, 375 kB seem to wait
        mean_bytes = [one.tables["ports"]["queue_mean_bytes"].item() for one in (named, given)]
        assert mean_bytes[0] == pytest.approx(mean_bytes[1], rel=0.25)


def test_a_clock_that_may_be_another_one_is_said(
    undirected: tuple[str, str], tmp_path: Path
) -> None:
    """Without ACKs at the ingress port, a clock that is slow looks like a long queue."""
    ingress, egress = undirected
    slow = shifted(Path(ingress), tmp_path / "slow.pcap", -3_000_000)
    result = analyse([Source(str(slow), "ingress"), Source(egress, "egress")])
    assert "every packet left at least 3 ms after it came in" in " ".join(result.summary["caveats"])
    result = analyse([Source(ingress, "ingress"), Source(egress, "egress")])
    assert "every packet left" not in " ".join(result.summary["caveats"])


def test_nothing_is_measured_after_the_capture_of_the_output_ended(
    undirected: tuple[str, str], tmp_path: Path
) -> None:
    ingress, egress = undirected
    content = Path(egress).read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(content[: len(content) // 2])
    whole = analyse([Source(ingress, "ingress"), Source(egress, "egress")])
    half = analyse([Source(ingress, "ingress"), Source(str(cut), "egress")])
    (output,) = half.summary["captures"]["outputs"]
    to_s = half.summary["measure"]["to_s"]
    assert to_s <= output["completeness"]["ended_s"] < to_s + 0.01
    assert "came in for 0." in " ".join(half.summary["caveats"])
    total = half.summary["goodput_bps_total"]
    assert total == pytest.approx(whole.summary["goodput_bps_total"], rel=0.05)
    assert whole.summary["captures"]["outputs"][0]["completeness"]["ended_s"] is None


def test_one_side_may_lack_the_options_of_its_packets(
    undirected: tuple[str, str], tmp_path: Path
) -> None:
    """As with `tcpdump -s 54`: then it has no timestamps, which the other side has."""
    ingress, egress = undirected
    short = tmp_path / "short.pcap"
    content, at = Path(ingress).read_bytes(), 24
    records = [content[:at]]
    while at < len(content):
        kept = struct.unpack_from("<I", content, at + 8)[0]
        frame = content[at + 16 : at + 16 + min(kept, 54)]
        records += [content[at : at + 8], struct.pack("<I", len(frame)), content[at + 12 : at + 16]]
        records.append(frame)
        at += 16 + kept
    short.write_bytes(b"".join(records))
    whole = analyse([Source(ingress, "ingress"), Source(egress, "egress")])
    cut = analyse([Source(str(short), "ingress"), Source(egress, "egress")])
    same = ["time_s", "seq", "port_arrival", "ingress_arrival", "flow_arrival"]
    assert cut.drops.select(same).equals(whole.drops.select(same))


def test_sides_that_were_exchanged_are_an_error(undirected: tuple[str, str]) -> None:
    ingress, egress = undirected
    with pytest.raises(CaptureError, match="looks like the output") as refused:
        analyse([Source(egress, "ingress"), Source(ingress, "egress")])
    assert "exchange" in refused.value.remedy


def test_captures_of_which_neither_is_first_must_be_named(
    undirected: tuple[str, str], tmp_path: Path
) -> None:
    egress = Path(undirected[1]).read_bytes()
    # a clock that is first slow, then fast: the order cannot be restored
    both = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    both[0].write_bytes(egress)
    swung = bytearray(egress)
    at, number = 24, 0
    while at < len(swung):
        second = int.from_bytes(swung[at : at + 4], "little") + (1 if number % 2 else -1)
        swung[at : at + 4] = second.to_bytes(4, "little")
        at += 16 + int.from_bytes(swung[at + 8 : at + 12], "little")
        number += 1
    both[1].write_bytes(swung)
    with pytest.raises(CaptureError, match="neither says which way they went"):
        analyse([str(file) for file in both])
