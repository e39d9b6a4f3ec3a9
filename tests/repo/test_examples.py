"""The examples run, and print what they should."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_one_against_n_prints_its_table_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    program = [sys.executable, str(ROOT / "examples" / "one_against_n.py")]
    options = ["--seeds", "1", "--duration", "0.1s", "--picture", str(picture)]
    done = subprocess.run([*program, *options], check=True, capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("outcast")]
    assert [row.split()[1] for row in rows] == ["1:1", "1:2", "1:6", "1:12"] * 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_incast_collapses_with_a_minimum_rto_of_200_ms_and_not_with_1_ms(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "incast.py")]
    options = ["--seeds", "1", "--rounds", "4"]
    done = subprocess.run([*program, *options], check=True, capture_output=True, cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 16
    assert (tmp_path / "incast.pdf").read_bytes().startswith(b"%PDF")
    rows = [row.split(",") for row in (tmp_path / "incast.csv").read_text().splitlines()[1:]]
    goodput = {(int(servers), rto_min): float(mbps) for servers, rto_min, _, mbps, _ in rows}
    # from 1538 B on the wire to 1448 B of data, and a round trip: the line rate
    assert 900 < goodput[1, "200ms"] < 1000 * 1448 / 1538
    assert goodput[48, "1ms"] > 600 > 100 > goodput[48, "200ms"]


def test_mininet_shapers_prints_a_row_for_each_shaper_and_each_change() -> None:
    program = [sys.executable, str(ROOT / "examples" / "mininet_shapers.py")]
    options = ["--seeds", "1", "--duration", "1.1s"]
    done = subprocess.run([*program, *options], check=True, capture_output=True, text=True)
    observed, changed = done.stdout.split("changed\n")
    assert observed.count("timers late by up to 20us") == 3
    assert changed.count("RTO at least 200 ms") == 3


def test_custom_algorithms_prints_a_row_for_each() -> None:
    program = [sys.executable, str(ROOT / "examples" / "custom_algorithms.py")]
    options = ["--duration", "500ms"]
    done = subprocess.run([*program, *options], check=True, capture_output=True, text=True)
    ratios = {line[:12].strip(): float(line.split()[-1]) for line in done.stdout.splitlines()[1:]}
    assert list(ratios) == ["drop-tail", "per ingress", "round robin", "gentle"]
    # the lone flow is starved, and disciplines that look at ingress ports help it
    assert ratios["drop-tail"] < 0.5
    assert min(ratios["per ingress"], ratios["round robin"]) > 1


def test_shortest_first_halves_the_longest_times_of_small_flows() -> None:
    program = [sys.executable, str(ROOT / "examples" / "shortest_first.py")]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    longest = {line[:14].strip(): float(line.split()[-1]) for line in done.stdout.splitlines()}
    assert list(longest) == ["drop-tail", "shortest first"]
    assert longest["shortest first"] < 0.6 * longest["drop-tail"]


def test_the_job_of_the_example_in_rust_is_what_the_scenario_is_now() -> None:
    job = ROOT / "examples" / "custom-rust" / "outcast.json"
    command = "scenario show outcast --set duration=500ms --job"
    entry = [sys.executable, "-c", "from fairport.cli import main; main()"]
    done = subprocess.run(
        [*entry, *command.split()], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert job.read_text(encoding="utf-8") == done.stdout, f"`fairport {command}` renews it"
