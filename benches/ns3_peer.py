"""ns-3 on the same machine, in the same run: our `peers/ns3-outcast.cc`, built on its wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parent / "target" / "peers"
VERSION = "3.44"
SIMULATED_S = 2
REPEATS = 3
_MODULES = (
    *("applications", "internet", "traffic-control", "bridge"),
    *("point-to-point", "network", "stats", "core"),
)
# the job of `outcast`, as far as ns-3 has it: an ACK for every segment, no timestamps
_JOB = (
    *("--qbytes=16384", "--cc=TcpBic", "--seed=1", "--jitter=0.01"),
    *("--hostDelay=80", "--linkDelay=25", "--dj=20", "--delack=1"),
)


class UnavailableError(Exception):
    """ns-3 cannot be had here; says why."""


def build() -> Path:
    """The program, built where it is not there yet. Raises UnavailableError."""
    program = HOME / "ns3-outcast"
    source = HERE / "peers" / "ns3-outcast.cc"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    compiler = shutil.which("g++")
    if compiler is None:
        raise UnavailableError("there is no g++")
    python = HOME / "venv" / "bin" / "python"
    _do("make a virtual environment", sys.executable, "-m", "venv", HOME / "venv")
    _do("install ns-3", python, "-m", "pip", "install", "--quiet", f"ns3=={VERSION}.*")
    where = _do("find ns-3", python, "-c", "import ns3; print(*ns3.__path__)").split()[0]
    libraries = [f"-lns{VERSION}-{module}" for module in _MODULES]
    _do(
        "build the program",
        *(compiler, "-O3", "-DNDEBUG", "-march=native", "-std=c++23"),
        *("-DNS3_BUILD_PROFILE_RELEASE", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"),
        *("-isystem", f"{where}/include", source, "-o", program),
        *(f"-L{where}/lib64", f"-Wl,-rpath,{where}/lib64", "-Wl,--allow-shlib-undefined"),
        *libraries,
    )
    return program


def hops_per_s(program: Path, k: int) -> float:
    """Packet-hops per second of the many-to-one job on a k-ary fat-tree, once."""
    printed = _do("run the program", program, f"--k={k}", f"--time={SIMULATED_S}", *_JOB)
    speed = re.search(r"hops_per_s=(\d+)", printed)
    if speed is None:
        raise UnavailableError("the program does not say its speed")
    return float(speed[1])


def _do(what: str, *command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise UnavailableError(f"could not {what}: {last}")
    return done.stdout
