"""ns-3 as a peer, on the same machine and at the same time: our programs, built on its wheel.

If $NS3_BUILD names the build folder of an ns-3 3.44 that was configured with
`--build-profile=optimized`, the programs are built on that instead.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from validation.peers import UnavailableError, do

HERE = Path(__file__).parent
HOME = HERE.parents[2] / "target" / "peers"
VERSION = "3.44"
# measured on one machine, in turns: 0.514 million packet-hops/s against the wheel's 0.314
WHEEL_TO_OPTIMISED = 1.64
# In the picosecond in which a packet leaves a port and another arrives, ns-3 handles the arrival
# first: events of one instant run in the order in which they were scheduled, and an arrival is
# scheduled a propagation delay earlier than the end of the transmission then under way.
TIES = {"departure_first": False}
SIMULATED_S = 2
REPEATS = 3
_MODULES = (
    *("applications", "internet", "traffic-control", "bridge"),
    *("point-to-point", "network", "stats", "core"),
)


@dataclass(frozen=True)
class Peer:
    """Our program on an ns-3, and what that ns-3 is."""

    program: Path
    what: str
    # how much faster the same job is on ns-3 built from source with full optimisation
    optimised: float


def program(name: str) -> Path:
    """The program `NAME.cc`, for a case that is nothing without ns-3.

    If ns-3 is not available, it says why and ends with status 0: a measurement is never a test.
    """
    try:
        return build(name).program
    except UnavailableError as error:
        print(f"ns-3 is not available: {error}", file=sys.stderr)
        sys.exit(0)


def build(name: str = "outcast") -> Peer:
    """The program `NAME.cc` on the ns-3 built in $NS3_BUILD, else on the wheel of ns-3.

    Raises UnavailableError.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise UnavailableError("there is no g++")
    own = os.environ.get("NS3_BUILD")
    if own is not None:
        return Peer(_on_own_build(compiler, name, Path(own)), "built from source", 1.0)
    return Peer(_on_wheel(compiler, name), "its wheel", WHEEL_TO_OPTIMISED)


def _on_wheel(compiler: str, name: str) -> Path:
    program = HOME / name
    source = _source(name)
    changed = max(file.stat().st_mtime for file in [source, *source.parent.glob("*.h")])
    if program.exists() and program.stat().st_mtime > changed:
        return program
    python = HOME / "venv" / "bin" / "python"
    do("make a virtual environment", sys.executable, "-m", "venv", HOME / "venv")
    do("install ns-3", python, "-m", "pip", "install", "--quiet", f"ns3=={VERSION}.*")
    where = Path(do("find ns-3", python, "-c", "import ns3; print(*ns3.__path__)").split()[0])
    # the wheel is a release build with logging and assertions, which its headers must know
    how = ["-DNS3_BUILD_PROFILE_RELEASE", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"]
    libraries = [f"-lns{VERSION}-{module}" for module in _MODULES]
    how = [str(source), *how, *libraries]
    _compile(compiler, program, where / "include", where / "lib64", how)
    return program


def _on_own_build(compiler: str, name: str, build: Path) -> Path:
    program = HOME / f"{name}-own"
    program.parent.mkdir(parents=True, exist_ok=True)
    libraries = [f"-lns{VERSION}-{module}-optimized" for module in _MODULES]
    how = [str(_source(name)), "-DNS3_BUILD_PROFILE_OPTIMIZED", *libraries]
    _compile(compiler, program, build / "include", build / "lib", how)
    return program


def _compile(compiler: str, program: Path, headers: Path, libraries: Path, how: list[str]) -> None:
    do(
        "build the program",
        *(compiler, "-O3", "-DNDEBUG", "-march=native", "-std=c++23"),
        *("-isystem", headers, "-o", program),
        *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined", *how),
    )


def _source(name: str) -> Path:
    return HERE / f"{name}.cc"


def run(program: Path, *options: str) -> str:
    """What one of the programs prints."""
    done = subprocess.run([program, *options], capture_output=True, text=True, check=True)
    return done.stdout


def hops_per_s(peer: Peer, k: int) -> float:
    """Packet-hops per second of the job `outcast` on a k-ary fat-tree, once.

    As far as ns-3 can run it: an ACK for every segment, no timestamps.
    """
    printed = do("run the program", peer.program, f"--k={k}", f"--time={SIMULATED_S}")
    speed = re.search(r"hops_per_s=(\d+)", printed)
    if speed is None:
        raise UnavailableError("the program did not print its speed")
    return float(speed[1])
