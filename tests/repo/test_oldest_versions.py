"""The oldest Python and the oldest dependencies that pyproject.toml allows are enough."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parents[2]
UV = (sys.executable, "-m", "uv")
SWEEP = """
scenario = "two-switch"
seeds = 2
keep = ["throughput_ratio"]
set.duration = "50ms"
axes."topology.peers" = [2, 3]
"""
COMMANDS = [
    "run outcast --duration 0.1s --repeat 2 --csv --out seeds",
    "run outcast --duration 50ms --no-figures --pcap edge0.0:0 --out one",
    "run web-search --duration 5ms --no-figures --out web",
    "report web",
    "rerun web",
    "microscope seeds/seed-1 --out microscope",
    "analyze --ingress one/captures/edge0.0-0.ingress.pcapng"
    " --egress one/captures/edge0.0-0.egress.pcapng --out capture",
    "compare outcast --fix red,fq-codel --repeat 2 --duration 0.1s --out fixes",
    "reproduce prakash2012/fifteen-to-one --quick --out paper",
    "sweep sweep.toml --jobs 2 --out study",
    "query study 'select count(*) from runs'",
    "plot study --out study.png",
    "tune --help",
]
# the other command lines in one process, because each would import for longer than it works
THE_OTHERS = """
import shlex, sys
from fairport.cli.app import program
for line in sys.argv[1:]:
    words = shlex.split(line)
    try:
        program(words)(words, prog_name="fairport")
    except SystemExit as ended:
        assert not ended.code, f"{line}: exit status {ended.code}"
"""


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the oldest Python and dependencies."""
    home = tmp_path_factory.mktemp("oldest")
    of_pyenv = Path.home().glob(".pyenv/versions/3.10.*/bin/python")
    for found in ["python3.10", *map(str, of_pyenv)]:
        made = _uv("venv", "--quiet", "--python", found, "--no-python-downloads", home / "venv")
        if made.returncode == 0:
            break
    else:
        pytest.skip("Python 3.10 is not installed")
    python = home / "venv" / "bin" / "python"
    oldest = ["--resolution", "lowest-direct", "--requirement", str(ROOT / "pyproject.toml")]
    installed = _uv("pip", "install", "--quiet", "--python", python, *oldest)
    if "Failed to fetch" in installed.stderr:
        pytest.skip("the packages cannot be fetched")
    assert installed.returncode == 0, installed.stderr
    return python


def _uv(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*UV, *arguments], capture_output=True, text=True, check=False)


def test_the_lower_bounds_are_the_versions_that_are_tested(oldest: Path) -> None:
    """A dependency of ours may need a later one than we say, which is then the one that runs."""
    bounds = re.findall(r'^    "([\w-]+)>=([\d.]+)[,;"]', _dependencies(), flags=re.MULTILINE)
    frozen = _uv("pip", "freeze", "--python", oldest).stdout
    versions = dict(line.split("==") for line in frozen.splitlines())
    assert len(bounds) > 10
    assert [name for name, bound in bounds if Version(versions[name]) != Version(bound)] == []


def _dependencies() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return text.partition("\ndependencies = [")[2].partition("\n]")[0]


def test_every_kind_of_command_runs_with_the_oldest_versions(oldest: Path, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "python"),
        "FAIRPORT_STORE": str(tmp_path / "store"),
    }
    first, *others = COMMANDS
    for program in (["-m", "fairport", *shlex.split(first)], ["-c", THE_OTHERS, *others]):
        done = subprocess.run(
            [oldest, *program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
