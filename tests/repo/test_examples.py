"""The examples run, and say what they did."""

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


def test_mininet_shapers_prints_a_row_for_each_shaper_and_each_change() -> None:
    program = [sys.executable, str(ROOT / "examples" / "mininet_shapers.py")]
    options = ["--seeds", "1", "--duration", "1.1s"]
    done = subprocess.run([*program, *options], check=True, capture_output=True, text=True)
    observed, changed = done.stdout.split("changed\n")
    assert observed.count("timers late by up to 20us") == 3
    assert changed.count("RTO at least 200 ms") == 3
