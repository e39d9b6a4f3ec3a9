"""`fairport analyze`: what it prints and writes, and how it refuses bad input."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from pathlib import Path

import polars as pl
import pytest
from captures import Captured, captured
from conftest import Command
from fairport.backends.captures import analyse, groups
from fairport.errors import InputError
from fairport.scenario import load
from fairport.storage import load_run


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    scenario = load("two-switch").patch({"duration": "60ms"})
    return captured(scenario, ["s0:0", "s0:1", "s0:2"], tmp_path_factory.mktemp("small") / "run")


def test_it_prints_the_table_how_complete_it_is_and_the_verdict(
    fairport: Command, small: Captured
) -> None:
    outcome = fairport("analyze", *small.files)
    assert (outcome.status, outcome.err) == (0, "")
    assert "2-hop" in outcome.out
    assert "100 % of these were seen on both sides" in outcome.out
    assert "10.0.0.2" in outcome.out.splitlines()[-1]


@pytest.mark.usefixtures("narrow_terminal")
def test_a_narrow_terminal_shows_the_ports_of_the_slowest_flows(
    fairport: Command,
    small: Captured,
) -> None:
    assert "…" not in fairport("analyze", *small.files).out


def test_json_has_the_keys_of_a_summary(fairport: Command, small: Captured) -> None:
    outcome = fairport("analyze", "--json", *small.files)
    summary = json.loads(outcome.out)
    # the spread is over several seeds, which captures do not have
    missing = small.run.summary.keys() - summary.keys() - {"spread"}
    assert missing == set()
    assert summary["backend"] == "captures"
    assert summary["captures"]["egress"] == ["s0:0"]


def test_a_folder_like_that_of_a_run(fairport: Command, small: Captured, tmp_path: Path) -> None:
    scenario = tmp_path / "mine.toml"
    outcome = fairport("analyze", *small.files, "--out", "found", "--to-scenario", str(scenario))
    assert outcome.status == 0, outcome.err
    assert f"fairport compare {scenario}" in outcome.out
    folder = Path("found").absolute()
    assert (folder / "report.html").exists()
    assert {file.name for file in (folder / "figures").glob("*.png")} >= {"goodput.png"}
    # captures have no seed
    assert "<title>mine, seed" not in (folder / "report.html").read_text(encoding="utf-8")
    loaded = load_run(folder)
    assert loaded.title == "mine"
    assert loaded.scenario == load(scenario)
    assert 'stack = "linux-6"' in scenario.read_text(encoding="utf-8")
    found = analyse(small.files)
    assert loaded.drops.drop("run_id").equals(found.drops.drop("run_id"))
    assert loaded.drops.height > 0
    assert fairport("report", str(folder)).status == 0
    again = fairport("rerun", str(folder))
    assert again.status == 2
    assert again.err.startswith("error: mine-captured: comes from captures")


def test_given_sides_a_map_and_packed_files(
    fairport: Command, small: Captured, tmp_path: Path
) -> None:
    packed = tmp_path / "in.pcapng.gz"
    packed.write_bytes(gzip.compress(small.file("ingress").read_bytes()))
    hosts = tmp_path / "hosts.csv"
    hosts.write_text("address,name,hops\n10.0.0.2,alone,4\n10.0.0.1,server,\n", encoding="utf-8")
    out = fairport(
        "analyze",
        "--ingress",
        str(packed),
        "--egress",
        f"out={small.file('egress')}",
        "--map",
        str(hosts),
    ).out
    assert "to out:" in out
    assert "alone (1 flow, 4 hops" in out
    assert "at server" in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_a_pipe_with_a_name_is_read_once(
    fairport: Command, small: Captured, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = small.file("egress").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    piped = json.loads(fairport("analyze", str(pipe), "--json").out)
    writer.join()
    read = json.loads(fairport("analyze", str(small.file("egress")), "--json").out)
    assert piped["fingerprint"] == read["fingerprint"]
    outcome = fairport("analyze", "--ingress", str(pipe), "--egress", str(small.file("egress")))
    assert outcome.status == 2
    assert "pipe: cannot be joined with other captures" in outcome.err


def test_a_damaged_file_is_read_as_far_as_it_goes(
    fairport: Command, small: Captured, tmp_path: Path
) -> None:
    content = small.file("egress").read_bytes()
    broken = tmp_path / "broken.pcapng"
    middle = len(content) // 2
    broken.write_bytes(content[:middle] + b"\xff" * 1000 + content[middle + 1000 : -7])
    outcome = fairport("analyze", str(broken))
    assert outcome.status == 0
    assert "warning:" in outcome.err
    assert "could not be read" in outcome.err


BAD = {
    "not a capture": ("text.pcap", b"no capture at all, only words", "is not a packet capture"),
    "empty": ("empty.pcap", b"", "is empty"),
    "no packet": (
        "none.pcap",
        bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"),
        "holds no packet",
    ),
    "unknown link": (
        "usb.pcap",
        bytes.fromhex("d4c3b2a1020004000000000000000000ffff0000dc000000")
        + bytes.fromhex("0100000000000000040000000400000001020304"),
        "link of type 220",
    ),
    "no TCP": (
        "arp.pcap",
        bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
        + bytes.fromhex("01000000000000000e0000000e000000")
        + bytes.fromhex("ffffffffffff0200000000010806"),
        "holds no TCP or UDP",
    ),
    "packed badly": ("bad.pcap.gz", b"\x1f\x8b\x08\x00" + b"\x55" * 40, "cannot be unpacked"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_one_clear_error(fairport: Command, tmp_path: Path, case: str) -> None:
    name, content, problem = BAD[case]
    file = tmp_path / name
    file.write_bytes(content)
    outcome = fairport("analyze", str(file))
    assert outcome.status == 2
    assert problem in outcome.err
    assert outcome.err.count("error:") == 1
    assert "hint:" in outcome.err
    assert "Traceback" not in outcome.err


def test_what_is_measured_ends_with_the_captures(fairport: Command, small: Captured) -> None:
    egress = str(small.file("egress"))
    summary = json.loads(fairport("analyze", egress, "--from", "0.03", "--json").out)
    assert summary["measure"]["from_s"] == 0.03
    assert summary["measure"]["to_s"] == pytest.approx(summary["simulated_s"])
    assert 0.5e9 < summary["goodput_bps_total"] < 1e9


def test_other_bad_input(fairport: Command, small: Captured, tmp_path: Path) -> None:
    ingress, egress = str(small.file("ingress")), str(small.file("egress"))
    other = str(small.file("egress", "s0:1"))
    cases = {
        (str(tmp_path),): "is a directory",
        ("missing.pcap",): "cannot be read",
        (): "CAPTURE: is missing",
        ("--ingress", ingress): "without --egress",
        ("--egress", egress): "without --ingress",
        ("--ingress", ingress, "--ingress", f"B={ingress}", "--egress", egress): "is given twice",
        (egress, f"{small.folder}/./captures/{Path(egress).name}"): "is given twice",
        ("--ingress", ingress, "--egress", other): "shares no packet",
        (egress, "--from", "2", "--to", "1"): "is not before --to",
        (egress, "--from", "2"): "is not before the end of the captures, which last 0.060 s",
        (egress, "--csv"): "--csv: needs a folder for the tables",
        (egress, "--packets"): "--packets: needs a folder for the table",
        (egress, "--map", "nowhere.csv"): "nowhere.csv: does not exist",
        (egress, "--map", str(tmp_path)): "cannot be read: is a directory",
        (egress, "--map", egress): "is not UTF-8 text",
    }
    for arguments, problem in cases.items():
        outcome = fairport("analyze", *arguments)
        assert outcome.status == 2, arguments
        assert problem in outcome.err, arguments
    unjoined = fairport("analyze", "--ingress", ingress, "--egress", other)
    assert "hint: give captures of the two sides" in unjoined.err
    assert "gro off" in unjoined.err


def test_the_name_of_a_scenario_is_made_from_any_name_of_a_file(
    fairport: Command, small: Captured, tmp_path: Path
) -> None:
    file = tmp_path / f"rack 7 {'x' * 100}.toml"
    outcome = fairport("analyze", str(small.file("egress")), "--to-scenario", str(file))
    assert outcome.status == 0
    assert load(file).name == f"rack-7-{'x' * 93}"


def test_a_scenario_that_cannot_be_written_is_refused_before_the_captures_are_read(
    fairport: Command,
) -> None:
    outcome = fairport("analyze", "absent.pcap", "--to-scenario", "missing/mine.toml")
    assert outcome.status == 2
    assert outcome.err.startswith('error: --to-scenario: "missing/mine.toml" cannot be written')


def flows_between(*ends: tuple[str, str]) -> dict[str, pl.DataFrame]:
    """Tables of flows about which routers, ports and a map say nothing."""
    numbers = pl.Series("flow", range(len(ends)), pl.UInt32)
    flows = pl.DataFrame({"flow": numbers, "workload": ["bulk"] * len(ends)}).with_columns(
        src=pl.Series([src for src, _ in ends]), dst=pl.Series([dst for _, dst in ends])
    )
    ttl = pl.DataFrame({"flow": numbers}).with_columns(
        ttl=pl.lit(64, pl.UInt32), ingress_port=pl.lit(None, pl.Utf8)
    )
    return {"flows": flows, "conversations": ttl}


def test_senders_of_other_subnets_are_far() -> None:
    rack = [("10.1.1.2", "10.1.1.9"), ("10.1.2.2", "10.1.1.9"), ("10.1.3.2", "10.1.1.9")]
    tables = flows_between(*rack)
    found = groups.with_hops(tables, {}, is_joined=False)
    assert found["hops"].to_list() == [2, 3, 3]
    alike = flows_between(*rack[1:])
    assert "hops" not in groups.with_hops(alike, {}, is_joined=False).columns
    long = flows_between(("fd00:1::2", "fd00:1::9"), ("fd00:2::2", "fd00:1::9"))
    assert groups.with_hops(long, {}, is_joined=False)["hops"].to_list() == [2, 3]


def test_a_map_may_name_networks(tmp_path: Path) -> None:
    file = tmp_path / "racks.csv"
    file.write_text("address,name,hops\n10.1.0.0/16,,6\n10.1.2.0/24,rack,4\n10.1.2.7,alone,2\n")
    known = groups.read_map(file)
    ends = [(f"10.1.{rack}", "10.1.1.9") for rack in ("3.1", "2.1", "2.7")]
    tables = flows_between(*ends)
    assert groups.with_hops(tables, known, is_joined=True)["hops"].to_list() == [6, 4, 2]
    assert groups.named(tables, known)["flows"]["src"].to_list() == [
        "10.1.3.1",
        "10.1.2.1",
        "alone",
    ]
    file.write_text("address,hops\n10.1.2.7/16,4\n")
    with pytest.raises(InputError, match="has host bits set"):
        groups.read_map(file)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "has no column `address`"),
        ("host,hops\n10.0.0.1,2\n", "has no column `address`"),
        ("address,hops\n10.0.0.1,-3\n", "line 2: is not understood: -3 is no number of hops"),
        ("address,hops\n10.0.0.1,99999999999\n", "99999999999 is no number of hops"),
        ("address,hops\n10.0.0.1,2\n10.0.0.1,3\n", "line 3: is not understood: 10.0.0.1 has"),
    ],
)
def test_a_map_that_cannot_be_says_where(tmp_path: Path, lines: str, problem: str) -> None:
    file = tmp_path / "map.csv"
    file.write_text(lines)
    with pytest.raises(InputError, match=re.escape(problem)):
        groups.read_map(file)


def test_a_map_of_a_spreadsheet(tmp_path: Path) -> None:
    file = tmp_path / "map.csv"
    file.write_text("address,name,hops\n10.0.0.1,alpha,2\n", encoding="utf-8-sig")
    assert [one.name for one in groups.read_map(file).values()] == ["alpha"]
